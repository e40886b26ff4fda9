package server

import (
	"errors"
	"net"
	"testing"

	"go.uber.org/goleak"
)

// TestListenFails has one of three listeners be closed already.
func TestListenFails(t *testing.T) {
	everywhere(t, func(t *testing.T, w setting) {
		before := goleak.IgnoreCurrent()
		s := w.prepare(t, Config{})
		broken, last := w.listen(t), w.listen(t)
		broken.Close()
		for _, ln := range []net.Listener{broken, last} {
			if err := s.server.Serve(ln); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.server.Run(t.Context()); err == nil {
			t.Error("Run says nothing of a listener that is closed")
		}
		for _, ln := range []net.Listener{s.ln, last} {
			if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("a listener says %v, want that it is closed", err)
			}
		}
		goleak.VerifyNone(t, before)
	}, byLoop)
}

// TestStopSharedListener stops a server whose listener somebody else has too,
// as systemd has those that it passes. New clients must not keep it busy.
func TestStopSharedListener(t *testing.T) {
	everywhere(t, func(t *testing.T, w setting) {
		s := w.prepare(t, Config{})
		file, err := s.ln.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		s.run()
		c := s.client()
		c.ask("put 0 0 60 5\r\nxyz\r\n\r\n", "INSERTED 1\r\n")
		c.send("put 0 0 60 5\r\nxyz")
		c2 := s.client()
		c2.until("cmd-put", 2)
		s.cancel()
		c2.expectEnd()
		s.client()
		before := processorTime(t)
		s.stop()
		if used := processorTime(t) - before; used > stopGrace/2 {
			t.Errorf("waiting for the rest of a put took %v of processor time", used)
		}
	}, byTCP, byLoop)
}
