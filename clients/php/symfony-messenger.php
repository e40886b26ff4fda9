<?php

// Symfony Messenger's transport for beanstalkd, which talks through Pheanstalk.

namespace Haricot\Clients;

use Pheanstalk\Pheanstalk;
use Symfony\Component\Messenger\Bridge\Beanstalkd\Transport\BeanstalkdReceivedStamp;
use Symfony\Component\Messenger\Bridge\Beanstalkd\Transport\BeanstalkdReceiver;
use Symfony\Component\Messenger\Bridge\Beanstalkd\Transport\BeanstalkdSender;
use Symfony\Component\Messenger\Bridge\Beanstalkd\Transport\BeanstalkdTransport;
use Symfony\Component\Messenger\Bridge\Beanstalkd\Transport\BeanstalkdTransportFactory;
use Symfony\Component\Messenger\Bridge\Beanstalkd\Transport\Connection;
use Symfony\Component\Messenger\Envelope;
use Symfony\Component\Messenger\Exception\MessageDecodingFailedException;
use Symfony\Component\Messenger\Exception\TransportException;
use Symfony\Component\Messenger\Stamp\DelayStamp;
use Symfony\Component\Messenger\Transport\Serialization\PhpSerializer;

require 'Symfony/Component/Messenger/autoload.php';
require 'Symfony/Component/Messenger/Bridge/Beanstalkd/autoload.php';
require __DIR__ . '/suite.php';
require __DIR__ . '/server.php';

final class Message
{
    public function __construct(public string $text)
    {
    }
}

$server = new Server();
$reference = $server->isReference();
$suite = new Suite();

$dsn = fn (string $query) => "beanstalkd://{$server->host}:{$server->port}?$query";
$connection = fn (string $query) => Connection::fromDsn($dsn($query));
$observer = Pheanstalk::create($server->host, $server->port);

$suite->test('the connection and what it makes of a message', function () use ($connection, $observer) {
    $c = new Covered($connection('tube_name=sf-connection&ttr=5000'));
    same('sf-connection', $c->getTube());
    same(['tube_name' => 'sf-connection', 'timeout' => 0, 'ttr' => '5000'], $c->getConfiguration());
    $id = $c->send("body \u{1F600}", ['key' => 'value']);
    $stats = $observer->statsTube('sf-connection');
    same(['1', '1'], [$stats['current-jobs-ready'], $stats['total-jobs']]);
    same(1, $c->getMessageCount());
    same(['id' => $id, 'body' => "body \u{1F600}", 'headers' => ['key' => 'value']], $c->get());
    same(0, $c->getMessageCount());
    $job = $observer->statsJob(new \Pheanstalk\JobId((int) $id));
    same(['sf-connection', 'reserved', '1024', '5000'], [$job['tube'], $job['state'], $job['pri'], $job['ttr']]);
    $c->ack($id);
    same(null, $c->get());
    $second = $c->send('again', []);
    $c->get();
    $c->reject($second);
    same('2', $observer->statsTube('sf-connection')['cmd-delete']);
    $third = $c->send('delayed', [], 60000);
    same(null, $c->get());
    same(['delayed', '60'], (fn ($s) => [$s['state'], $s['delay']])($observer->statsJob(new \Pheanstalk\JobId((int) $third))));
});

$suite->test('the transport', function () use ($dsn) {
    $factory = new Covered(new BeanstalkdTransportFactory());
    same([true, false], [$factory->supports($dsn(''), []), $factory->supports('amqp://x', [])]);
    $transport = new Covered($factory->createTransport($dsn('tube_name=sf-transport'), [], new PhpSerializer()));
    foreach (['ack', 'reject'] as $end) {
        $transport->send(new Envelope(new Message($end)));
        same(1, $transport->getMessageCount());
        [$envelope] = $transport->get();
        same($end, $envelope->getMessage()->text);
        $stamp = new Covered($envelope->last(BeanstalkdReceivedStamp::class));
        same('sf-transport', $stamp->getTube());
        same(1, preg_match('/^[1-9]\d*$/', $stamp->getId()));
        $transport->$end($envelope);
        same([], $transport->get());
        same(0, $transport->getMessageCount());
    }
});

$suite->test('sender and receiver', function () use ($connection) {
    $sender = new Covered(new BeanstalkdSender($connection('tube_name=sf-pair')));
    $receiver = new Covered(new BeanstalkdReceiver($connection('tube_name=sf-pair&timeout=5')));
    $sender->send(new Envelope(new Message(str_repeat('x', 60000))));
    same(1, $receiver->getMessageCount());
    [$envelope] = $receiver->get();
    same(60000, strlen($envelope->getMessage()->text));
    $receiver->ack($envelope);

    // The receiver waits for the delayed one: its reserve has a timeout of 5 seconds.
    $sender->send(new Envelope(new Message('later'), [new DelayStamp(1000)]));
    same(0, $receiver->getMessageCount());
    [$envelope] = $receiver->get();
    same('later', $envelope->getMessage()->text);
    $receiver->reject($envelope);

    $connection('tube_name=sf-pair')->send('no message', []);
    throws(MessageDecodingFailedException::class, '', fn () => $receiver->get());
    same(0, $receiver->getMessageCount());
});

$suite->test('errors', function () use ($connection) {
    $c = $connection('tube_name=sf-errors&ttr=1');
    throws(TransportException::class, 'NOT_FOUND', fn () => $c->ack((string) PHP_INT_MAX));
    throws(TransportException::class, 'NOT_FOUND', fn () => $c->reject((string) PHP_INT_MAX));
    throws(TransportException::class, 'JOB_TOO_BIG', fn () => $c->send(str_repeat('x', 65536), []));
    throws(TransportException::class, 'BAD_FORMAT', fn () => $connection('tube_name=two%20words')->send('', []));
    throws(TransportException::class, 'BAD_FORMAT', fn () => $connection('tube_name=-dash')->get());
    $id = $c->send('short', []);
    $c->get();
    throws(TransportException::class, '', fn () => $c->get()); // DEADLINE_SOON, of which the library keeps no text.
    $c->ack($id);
});

// The last but one: beanstalkd cannot leave drain mode.
$suite->test('draining', function () use ($connection, $server, $reference) {
    $c = $connection('tube_name=sf-draining');
    $server->drain();
    throws(TransportException::class, 'DRAINING', fn () => $c->send('refused', []));
    if (!$reference) {
        $server->undrain();
        $c->ack($c->send('accepted', []));
    }
});

$suite->test('every method of the library was used', function () {
    foreach ([Connection::class, BeanstalkdTransport::class, BeanstalkdTransportFactory::class, BeanstalkdSender::class,
        BeanstalkdReceiver::class, BeanstalkdReceivedStamp::class] as $class) {
        Covered::complete($class);
    }
});

$suite->finish();
