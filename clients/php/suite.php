<?php

// A test runner of one page: named tests in order, a count at the end, and the methods that were called.

namespace Haricot\Clients;

final class Skipped extends \Exception
{
}

final class Suite
{
    private int $passed = 0;
    private int $failed = 0;
    private int $skipped = 0;

    public function __construct()
    {
        // Notices about the library's own code would hide a wrong reply: every one is an error.
        set_error_handler(function (int $level, string $message, string $file, int $line): bool {
            if (!(error_reporting() & $level) || $level === E_DEPRECATED || $level === E_USER_DEPRECATED) {
                return false;
            }
            throw new \ErrorException($message, 0, $level, $file, $line);
        });
    }

    public function test(string $name, callable $body): void
    {
        try {
            $body();
            $this->passed++;
            echo "ok   $name\n";
        } catch (Skipped $e) {
            $this->skipped++;
            echo "skip $name: {$e->getMessage()}\n";
        } catch (\Throwable $e) {
            $this->failed++;
            echo "FAIL $name: ", get_class($e), ": {$e->getMessage()}\n{$e->getTraceAsString()}\n";
        }
    }

    /** Prints the count and ends the process, with 1 when a test failed. */
    public function finish(): never
    {
        echo "{$this->passed} passed, {$this->failed} failed, {$this->skipped} skipped\n";
        exit($this->failed > 0 ? 1 : 0);
    }
}

function same(mixed $want, mixed $got, string $what = ''): void
{
    if ($want !== $got) {
        throw new \Exception("$what: got " . var_export($got, true) . ', want ' . var_export($want, true));
    }
}

function within(int $least, int $most, mixed $got, string $what): void
{
    if (!preg_match('/^\d+$/', (string) $got) || $got < $least || $got > $most) {
        throw new \Exception("$what: got " . var_export($got, true) . ", want $least to $most");
    }
}

/** Expects exactly this class of exception, with the text in its message. */
function throws(string $class, string $text, callable $body): void
{
    try {
        $body();
    } catch (\Throwable $e) {
        same($class, get_class($e), 'class of exception');
        if (!str_contains($e->getMessage(), $text)) {
            throw new \Exception("message: got '{$e->getMessage()}', want '$text' in it");
        }
        return;
    }
    throw new \Exception("no $class was thrown");
}

/** Stands in for an object of a library and notes the methods called through it. */
final class Covered
{
    /** @var array<string, array<string, true>> class => method => true */
    private static array $called = [];

    public function __construct(public readonly object $target)
    {
    }

    public function __call(string $method, array $arguments): mixed
    {
        self::$called[get_class($this->target)][strtolower($method)] = true;
        $result = $this->target->$method(...$arguments);
        // Fluent methods hand back the object itself; what is called on it counts too.
        return $result === $this->target ? $this : $result;
    }

    /** Fails when a public method of the class was never called through a Covered; constructors do not count. */
    public static function complete(string $class): void
    {
        $missing = [];
        foreach ((new \ReflectionClass($class))->getMethods(\ReflectionMethod::IS_PUBLIC) as $method) {
            $name = $method->getName();
            if (!$method->isStatic() && $name !== '__construct' && !isset(self::$called[$class][strtolower($name)])) {
                $missing[] = $name;
            }
        }
        same([], $missing, "methods of $class that no test uses");
    }
}
