package server

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// urgent sends bytes of which TCP takes the last for urgent.
func urgent(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var sent error
	err = raw.Control(func(fd uintptr) { sent = unix.Sendto(int(fd), []byte(text), unix.MSG_OOB, nil) })
	if err != nil || sent != nil {
		t.Fatal(err, sent)
	}
}

// TestUrgentData sends urgent bytes before, within and behind commands. They
// are no part of the stream, which goes on.
func TestUrgentData(t *testing.T) {
	everywhere(t, func(t *testing.T, w setting) {
		s := w.open(t, Config{})
		c := s.client()
		for range 50 {
			urgent(t, c.conn, "!")
			c.ask("list-tube-used\r\n", "USING default\r\n")
			urgent(t, c.conn, "list-tu!")
			c.ask("be-used\r\n", "USING default\r\n")
			// All of it may be there before the server looks.
			c.send("use a\r\nuse b\r\nlist-")
			urgent(t, c.conn, "tube!")
			c.ask("-used\r\n", "USING a\r\nUSING b\r\nUSING b\r\n")
			c.ask("use default\r\n", "USING default\r\n")
		}
		urgent(t, c.conn, "!")
		c.halfClose()
		c.expectEnd()
	}, byTCP)
}

// TestUrgentDataAllThere has the whole of a stream with an urgent byte in its
// middle arrive while the server is held up.
func TestUrgentDataAllThere(t *testing.T) {
	everywhere(t, func(t *testing.T, w setting) {
		s := w.open(t, Config{})
		c := s.client()
		c.ask("list-tube-used\r\n", "USING default\r\n")
		held, on := make(chan struct{}), make(chan struct{})
		s.server.loop.post(func() { close(held); <-on })
		<-held
		c.send("use a\r\nuse")
		urgent(t, c.conn, "!")
		c.send(" b\r\nuse c\r\n")
		close(on)
		c.expect("USING a\r\nUSING b\r\nUSING c\r\n")
	}, byTCP)
}

// TestUrgentDataIdle leaves an urgent byte lying about. Of the processor time
// of a second in which nothing happens, next to nothing is used.
func TestUrgentDataIdle(t *testing.T) {
	everywhere(t, func(t *testing.T, w setting) {
		s := w.open(t, Config{})
		bully, c := s.client(), s.client()
		bully.ask("list-tube-used\r\n", "USING default\r\n")
		urgent(t, bully.conn, "!")
		before := processorTime(t)
		c.ask("reserve-with-timeout 1\r\n", "TIMED_OUT\r\n")
		if used := processorTime(t) - before; used > 200*time.Millisecond {
			t.Errorf("an idle second took %v of processor time", used)
		}
	}, byTCP)
}

// processorTime is what this process has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
