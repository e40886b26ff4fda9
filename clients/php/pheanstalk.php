<?php

// Pheanstalk 4: exceptions for errors, job ids as integers, statistics as an array of strings cut at the colon.

namespace Haricot\Clients;

use Pheanstalk\Command\AbstractCommand;
use Pheanstalk\Command\PutCommand;
use Pheanstalk\Connection;
use Pheanstalk\Contract\JobIdInterface;
use Pheanstalk\Contract\ResponseParserInterface;
use Pheanstalk\Exception;
use Pheanstalk\JobId;
use Pheanstalk\Pheanstalk;
use Pheanstalk\Response\ArrayResponse;
use Pheanstalk\SocketFactory;

require 'Pheanstalk/autoload.php';
require __DIR__ . '/suite.php';
require __DIR__ . '/server.php';

/** Uses every kind of character that a tube name may have. */
const ODD_TUBE = 'a-b+c/d;e.f$g_h(i)09Z';

const JOB_KEYS = ['id', 'tube', 'state', 'pri', 'age', 'delay', 'ttr', 'time-left', 'file', 'reserves', 'timeouts',
    'releases', 'buries', 'kicks'];

const TUBE_KEYS = ['name', 'current-jobs-urgent', 'current-jobs-ready', 'current-jobs-reserved', 'current-jobs-delayed',
    'current-jobs-buried', 'total-jobs', 'current-using', 'current-watching', 'current-waiting', 'cmd-delete',
    'cmd-pause-tube', 'pause', 'pause-time-left'];

const COUNTER_KEYS = ['cmd-put', 'cmd-peek', 'cmd-peek-ready', 'cmd-peek-delayed', 'cmd-peek-buried', 'cmd-reserve',
    'cmd-reserve-with-timeout', 'cmd-delete', 'cmd-release', 'cmd-use', 'cmd-watch', 'cmd-ignore', 'cmd-bury', 'cmd-kick',
    'cmd-touch', 'cmd-stats', 'cmd-stats-job', 'cmd-stats-tube', 'cmd-list-tubes', 'cmd-list-tube-used',
    'cmd-list-tubes-watched', 'cmd-pause-tube', 'job-timeouts', 'total-jobs'];

const SERVER_KEYS = ['current-jobs-urgent', 'current-jobs-ready', 'current-jobs-reserved', 'current-jobs-delayed',
    'current-jobs-buried', ...COUNTER_KEYS, 'max-job-size', 'current-tubes', 'current-connections', 'current-producers',
    'current-workers', 'current-waiting', 'total-connections', 'pid', 'version', 'rusage-utime', 'rusage-stime', 'uptime',
    'binlog-oldest-index', 'binlog-current-index', 'binlog-records-migrated', 'binlog-records-written', 'binlog-max-size',
    'draining', 'id', 'hostname', 'os', 'platform'];

/** Sends any line and hands back the reply line, which the library's own commands hide. */
final class LineCommand extends AbstractCommand implements ResponseParserInterface
{
    public function __construct(private string $line)
    {
    }

    public function getCommandLine(): string
    {
        return $this->line;
    }

    public function getResponseParser(): ResponseParserInterface
    {
        return $this;
    }

    public function parseResponse(string $responseLine, ?string $responseData): ArrayResponse
    {
        return $this->createResponse($responseLine);
    }
}

/** A put that announces one byte less than it sends. */
final class ShortPutCommand extends PutCommand
{
    public function getDataLength(): int
    {
        return parent::getDataLength() - 1;
    }
}

$server = new Server();
$reference = $server->isReference();
$suite = new Suite();

$connect = fn (): Covered => new Covered(Pheanstalk::create($server->host, $server->port));
$inTube = fn (string $tube): Covered => $connect()->useTube($tube)->watchOnly($tube);

/** Compares all fields; those not in $want are '0', [least, most] is a range. */
function fields(\ArrayObject $stats, array $keys, array $want): void
{
    same($keys, array_keys($stats->getArrayCopy()), 'fields');
    foreach ($keys as $key) {
        $expected = $want[$key] ?? '0';
        is_array($expected)
            ? within($expected[0], $expected[1], $stats[$key], $key)
            : same((string) $expected, $stats[$key], $key);
    }
}

function jobFields(Covered $c, JobIdInterface $job, array $want): void
{
    fields($c->statsJob($job), JOB_KEYS, ['id' => $job->getId(), 'age' => [0, 30]] + $want);
}

$suite->test('tubes', function () use ($connect) {
    $c = $connect();
    same('default', $c->listTubeUsed(true));
    $c->useTube(ODD_TUBE);
    same(ODD_TUBE, $c->listTubeUsed());
    same(ODD_TUBE, $c->listTubeUsed(true));
    same(['default', ODD_TUBE], $c->listTubes());
    $c->watch(ODD_TUBE);
    same(['default', ODD_TUBE], $c->listTubesWatched(true));
    $c->ignore('default');
    same([ODD_TUBE], $c->listTubesWatched(true));
    same([ODD_TUBE], $c->listTubesWatched());
    throws(Exception\ServerException::class, 'NOT_IGNORED', fn () => $c->ignore(ODD_TUBE));
    throws(Exception\ServerBadFormatException::class, 'BAD_FORMAT', fn () => $c->useTube('two words'));
    throws(Exception\ServerBadFormatException::class, 'BAD_FORMAT', fn () => $c->watch('-dash'));
    $c->watchOnly('ph-other');
    same(['ph-other'], $c->listTubesWatched(true));
    same('inside', $c->withUsedTube('ph-used', function ($inner) {
        same('ph-used', $inner->listTubeUsed(true));
        return 'inside';
    }));
    same(ODD_TUBE, $c->listTubeUsed(true));
    $c->withWatchedTube('ph-watched', fn ($inner) => same(['ph-watched'], $inner->listTubesWatched(true)));
    same(true, in_array('ph-other', $c->listTubesWatched(true), true));
});

$suite->test('the life of a job, with its statistics', function () use ($inTube) {
    $c = $inTube('ph-life');
    $job = $c->put('body', 7, 0, 60);
    $want = ['tube' => 'ph-life', 'pri' => 7, 'ttr' => 60];
    $has = function ($got) use ($job) {
        same([$job->getId(), 'body'], [$got->getId(), $got->getData()], 'job');
    };
    jobFields($c, $job, ['state' => 'ready'] + $want);
    $has($c->peek($job));
    $has($c->peekReady());
    $has($c->reserve());
    jobFields($c, $job, ['state' => 'reserved', 'time-left' => [55, 60], 'reserves' => 1] + $want);
    $c->touch($job);
    $c->release($job, 9, 100);
    $want = ['pri' => 9, 'delay' => 100, 'reserves' => 1, 'releases' => 1] + $want;
    jobFields($c, $job, ['state' => 'delayed', 'time-left' => [95, 100]] + $want);
    $has($c->peekDelayed());
    $c->kickJob($job);
    jobFields($c, $job, ['state' => 'ready', 'kicks' => 1] + $want);
    $has($c->reserveWithTimeout(0));
    $c->bury($job, 11);
    $want = ['pri' => 11, 'reserves' => 2, 'buries' => 1] + $want;
    jobFields($c, $job, ['state' => 'buried', 'kicks' => 1] + $want);
    $has($c->peekBuried());
    same(1, $c->kick(10));
    jobFields($c, $job, ['state' => 'ready', 'kicks' => 2] + $want);
    $c->delete($job);
    throws(Exception\ServerException::class, 'NOT_FOUND', fn () => $c->statsJob($job));
});

$suite->test('bodies, over each kind of socket the library has', function () use ($server) {
    $every = implode('', array_map('chr', range(0, 255)));
    foreach ([SocketFactory::SOCKET, SocketFactory::STREAM, SocketFactory::FSOCKOPEN] as $kind) {
        $factory = new SocketFactory($server->host, $server->port, 10, $kind);
        $c = new Covered(Pheanstalk::createWithFactory($factory));
        $c->useTube('ph-bodies')->watchOnly('ph-bodies');
        foreach (['', "\r\n", "\r\nRESERVED 1 1\r\nb\r\n", $every, str_repeat($every, 255), str_repeat("\xff", 65535)] as $body) {
            $job = $c->put($body);
            same($body, $c->peek($job)->getData());
            $got = $c->reserve();
            same([$job->getId(), $body], [$got->getId(), $got->getData()]);
            $c->delete($got);
        }
    }
});

$suite->test('statistics of tubes', function () use ($inTube) {
    $c = $inTube(ODD_TUBE);
    $c->put('urgent', 1);
    $c->put('urgent too', 1023);
    $c->put('later', 0, 60);
    $c->reserve();
    $want = ['name' => ODD_TUBE, 'current-jobs-reserved' => 1, 'current-jobs-delayed' => 1, 'total-jobs' => 3,
        'current-using' => 1, 'current-watching' => 1];
    $urgent = ['current-jobs-urgent' => 1, 'current-jobs-ready' => 1];
    fields($c->statsTube(ODD_TUBE), TUBE_KEYS, $urgent + $want);
    $c->pauseTube(ODD_TUBE, 30);
    fields($c->statsTube(ODD_TUBE), TUBE_KEYS,
        ['cmd-pause-tube' => 1, 'pause' => 30, 'pause-time-left' => [25, 30]] + $urgent + $want);
    same(null, $c->reserveWithTimeout(0));
    $c->resumeTube(ODD_TUBE);
    $c->delete($c->reserve());
    fields($c->statsTube(ODD_TUBE), TUBE_KEYS, ['cmd-pause-tube' => 2, 'cmd-delete' => 1] + $want);
});

$suite->test('statistics of the server', function () use ($inTube, $reference) {
    $c = $inTube('ph-stats');
    $before = $c->stats();
    same(SERVER_KEYS, array_keys($before->getArrayCopy()));
    foreach (array_slice(SERVER_KEYS, 0, array_search('version', SERVER_KEYS)) as $key) {
        within(0, PHP_INT_MAX, $before[$key], $key);
    }
    same('65535', $before['max-job-size']);
    same((string) getenv('HARICOT_PID') ?: $before['pid'], $before['pid']);
    same(1, preg_match('/^"\d+\.\d+"$/', $before['version']), 'version is quoted');
    foreach (['rusage-utime', 'rusage-stime'] as $key) {
        same(1, preg_match('/^\d+\.\d{6}$/', $before[$key]), $key);
    }
    within(0, 600, $before['uptime'], 'uptime');
    foreach (['oldest-index', 'current-index', 'records-migrated', 'records-written'] as $key) {
        same('0', $before["binlog-$key"], $key);
    }
    same('10485760', $before['binlog-max-size']);
    same('false', $before['draining']);
    same(1, preg_match('/^"?[0-9a-f]{16}"?$/', $before['id']), 'id');
    same(php_uname('n'), trim($before['hostname'], '"'));
    same(php_uname('m'), $before['platform']);
    same(php_uname('v'), trim($before['os'], '"'));

    $job = $c->put('a');
    $c->peek($job);
    $c->peekReady();
    $c->reserveWithTimeout(0);
    $c->touch($job);
    $c->bury($job);
    $c->kick(1);
    $c->pauseTube('ph-stats', 0);
    $c->listTubes();
    $c->listTubeUsed(true);
    $c->listTubesWatched(true);
    $c->delete($job);
    $after = $c->stats();
    $moved = ['cmd-put', 'cmd-peek', 'cmd-peek-ready', 'cmd-reserve-with-timeout', 'cmd-delete', 'cmd-bury', 'cmd-kick',
        'cmd-touch', 'cmd-stats', 'cmd-list-tubes', 'cmd-list-tube-used', 'cmd-list-tubes-watched', 'cmd-pause-tube',
        'total-jobs'];
    foreach (COUNTER_KEYS as $key) {
        same((int) in_array($key, $moved, true), $after[$key] - $before[$key], $key);
    }
});

$suite->test('errors', function () use ($inTube, $server) {
    $c = $inTube('ph-errors');
    $none = new JobId(PHP_INT_MAX);
    foreach (['delete', 'release', 'bury', 'touch', 'kickJob', 'peek'] as $command) {
        throws(Exception\JobNotFoundException::class, (string) PHP_INT_MAX, fn () => $c->$command($none));
    }
    throws(Exception\ServerException::class, 'NOT_FOUND', fn () => $c->statsJob($none));
    throws(Exception\ServerException::class, 'NOT_FOUND', fn () => $c->statsTube('ph-none'));
    throws(Exception\ServerException::class, 'NOT_FOUND', fn () => $c->pauseTube('ph-none', 1));
    same([null, null, null], [$c->peekReady(), $c->peekDelayed(), $c->peekBuried()]);
    same(null, $c->reserveWithTimeout(0));
    throws(Exception\JobTooBigException::class, 'JOB_TOO_BIG', fn () => $c->put(str_repeat('x', 65536)));
    $job = $c->put('short', 0, 0, 1);
    $c->reserve();
    throws(Exception\DeadlineSoonException::class, '', fn () => $c->reserve());
    throws(Exception\DeadlineSoonException::class, '', fn () => $c->reserveWithTimeout(5));
    $c->delete($job);

    $connection = new Connection(new SocketFactory($server->host, $server->port));
    $send = fn (string $line) => $connection->dispatchCommand(new LineCommand($line));
    throws(Exception\ServerUnknownCommandException::class, 'UNKNOWN_COMMAND', fn () => $send('nonsense'));
    throws(Exception\ServerBadFormatException::class, 'BAD_FORMAT', fn () => $send('kick many'));
    throws(Exception\ClientBadFormatException::class, 'EXPECTED_CRLF',
        fn () => $connection->dispatchCommand(new ShortPutCommand('two', 0, 0, 60)));
    $connection->disconnect();
});

$suite->test('a job comes back when its time is up, and when its connection closes', function () use ($inTube, $reference) {
    $first = $inTube('ph-back');
    $second = $inTube('ph-back');
    $job = $first->put('body', 0, 0, 1);
    $first->reserve();
    if ($reference) {
        // beanstalkd 1.12 now and then loses the timer of a connection when those of others run out at about the same
        // time, until that connection is heard of again.
        usleep(1200000);
        $first->listTubeUsed(true);
    }
    same($job->getId(), $second->reserveWithTimeout(5)->getId());
    throws(Exception\JobNotFoundException::class, 'NOT_FOUND', fn () => $first->release($job));
    same('1', $first->statsJob($job)['timeouts']);
    unset($second);
    same($job->getId(), $first->reserveWithTimeout(5)->getId());
    $first->delete($job);
});

// The last but one: beanstalkd cannot leave drain mode.
$suite->test('draining', function () use ($connect, $server, $reference) {
    $c = $connect();
    $server->drain();
    throws(Exception\ServerDrainingException::class, 'DRAINING', fn () => $c->put('refused'));
    if (!$reference) {
        $server->undrain();
        $c->delete($c->put('accepted'));
    }
});

$suite->test('every command of the library was used', fn () => Covered::complete(Pheanstalk::class));

$suite->finish();
