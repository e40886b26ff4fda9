package docs_test

import (
	"net"
	"syscall"
	"testing"
	"time"
)

// TestUrgentDataCostsNothing sends a byte of urgent data, of which a server that waits for such bytes and never reads them is told
// without end, as the reference server is. The second in which nothing happens is one that the server itself lets pass.
func TestUrgentDataCostsNothing(t *testing.T) {
	srv := startHaricot(t, 0)
	bully, worker := dialWire(t, srv), dialWire(t, srv)
	if lines, err := bully.ask("list-tube-used"); err != nil || lines[0] != "USING default" {
		t.Fatalf("got %q, %v", lines, err)
	}
	// Nothing may follow the urgent byte, for what is read behind it makes the system forget it.
	sendUrgent(t, bully.Conn)
	before := processorTime(t)
	if lines, err := worker.ask("reserve-with-timeout 1"); err != nil || lines[0] != "TIMED_OUT" {
		t.Fatalf("got %q, %v", lines, err)
	}
	// It takes about 1 ms here, and 70 ms and more if the loop spins, even on a machine that has other work for all its processors.
	if used := processorTime(t) - before; used > 40*time.Millisecond {
		t.Errorf("a second in which nothing was to be done took %v of processor time", used)
	}
}

func sendUrgent(t *testing.T, c net.Conn) {
	t.Helper()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var sent error
	if err := raw.Control(func(fd uintptr) {
		sent = syscall.Sendto(int(fd), []byte("!"), syscall.MSG_OOB, nil)
	}); err != nil {
		t.Fatal(err)
	}
	if sent != nil {
		t.Fatal(sent)
	}
}

// processorTime is what this process has used, with the server that runs in it.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
