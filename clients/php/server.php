<?php

// The server under test: its address, its process, which of the two servers it is, and a connection without a library.

namespace Haricot\Clients;

final class Server
{
    public readonly string $host;
    public readonly int $port;

    public function __construct()
    {
        $address = getenv('HARICOT_ADDR');
        if (!$address || !preg_match('/^(.+):(\d+)$/', $address, $parts)) {
            fwrite(STDERR, "HARICOT_ADDR is not set; it must name the server to test as host:port\n");
            exit(2);
        }
        [, $this->host, $port] = $parts;
        $this->port = (int) $port;
    }

    /** Returns a field of stats, without quotes, read over a connection of its own. */
    public function statistic(string $name): string
    {
        $socket = fsockopen($this->host, $this->port);
        fwrite($socket, "stats\r\nquit\r\n");
        $reply = stream_get_contents($socket);
        fclose($socket);
        if (!preg_match("/^$name: \"?(.*?)\"?$/m", $reply, $match)) {
            throw new \Exception("no $name in the statistics");
        }
        return $match[1];
    }

    public function isReference(): bool
    {
        return str_starts_with($this->statistic('version'), '1.');
    }

    public function drain(): void
    {
        posix_kill($this->pid(), SIGUSR1);
        $this->await('draining', 'true');
    }

    /** Ends drain mode; beanstalkd has no way back and would die from the signal. */
    public function undrain(): void
    {
        posix_kill($this->pid(), SIGUSR2);
        $this->await('draining', 'false');
    }

    /** Returns the pid that the server reports, which must be that of the process that was started. */
    private function pid(): int
    {
        $pid = $this->statistic('pid');
        $started = getenv('HARICOT_PID');
        if ($started && $started !== $pid) {
            throw new \Exception("the server reports pid $pid, but $started was started");
        }
        return (int) $pid;
    }

    private function await(string $field, string $want): void
    {
        for ($deadline = microtime(true) + 5; $this->statistic($field) !== $want; usleep(5000)) {
            if (microtime(true) > $deadline) {
                throw new \Exception("$field did not become $want");
            }
        }
    }
}
