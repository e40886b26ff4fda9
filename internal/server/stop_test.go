package server

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// ample is a grace that no machine is too slow for.
const ample = 20 * time.Second

// openAmply starts a server that takes its time to stop, if time is real.
func (w setting) openAmply(t *testing.T, config Config) *site {
	t.Helper()
	s := w.prepare(t, config)
	if !w.fakeTime() {
		s.server.loop.grace = ample
	}
	s.run()
	return s
}

// TestStopWaiting answers those that wait, and what they have sent in advance.
func TestStopWaiting(t *testing.T) {
	behind := []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"a command", "list-tube-used\r\n", "USING default\r\n"},
		{"a wait", "reserve\r\nreserve-with-timeout 9\r\nuse a\r\n", "TIMED_OUT\r\nTIMED_OUT\r\nUSING a\r\n"},
		{"many commands", manyCommands, strings.Repeat("NOT_FOUND\r\n", strings.Count(manyCommands, "\n"))},
	}
	everywhere(t, func(t *testing.T, w setting) {
		for _, b := range behind {
			if w.portable && len(b.text) > 64<<10 {
				b.want = "" // of so much only a part is read, see below
			}
			s := w.openAmply(t, Config{})
			idle, worker := s.client(), s.client()
			worker.send("reserve\r\n" + b.text)
			idle.until("current-waiting", 1)
			start := time.Now()
			s.cancel()
			worker.expect("TIMED_OUT\r\n" + b.want)
			if rest := worker.rest(); strings.Trim(rest, "NOT_FUD\r\n") != "" || rest != "" && b.want != "" {
				t.Errorf("%s: got %.300q at the end", b.name, rest)
			}
			idle.expectEnd()
			s.stop()
			if took := time.Since(start); w.fakeTime() && took > 2*lastCall {
				t.Errorf("%s: stopping took %v", b.name, took)
			}
		}
	})
}

// TestStopInFlight answers commands that have arrived when the server is told
// to stop.
func TestStopInFlight(t *testing.T) {
	const puts = 2000
	everywhere(t, func(t *testing.T, w setting) {
		s := w.openAmply(t, Config{})
		all := make([]*client, 5)
		for i := range all {
			all[i] = s.client()
			all[i].ask("list-tube-used\r\n", "USING default\r\n")
		}
		held, on := make(chan struct{}), make(chan struct{})
		s.server.loop.post(func() { close(held); <-on })
		<-held
		for _, c := range all {
			c.send(strings.Repeat("list-tube-used\r\n", puts))
		}
		s.cancel()
		close(on)
		for _, c := range all {
			c.expect(strings.Repeat("USING default\r\n", puts))
			c.expectEnd()
		}
		s.stop()
	})
}

// TestStopMidwayOfPut lets a put that has begun come to its end.
func TestStopMidwayOfPut(t *testing.T) {
	everywhere(t, func(t *testing.T, w setting) {
		s := w.openAmply(t, Config{})
		idle, c := s.client(), s.client()
		c.send("put 0 0 60 10\r\n01234")
		idle.until("cmd-put", 1)
		s.cancel()
		idle.expectEnd()
		if conn, err := s.dial(); err == nil {
			conn.Close()
			t.Error("a stopping server accepts connections")
		}
		c.ask("56789\r\n", "INSERTED 1\r\n")
		c.expectEnd()
		s.stop()
	})
}

// TestStopStuckPut does not wait for a put that never comes to its end.
func TestStopStuckPut(t *testing.T) {
	everywhere(t, func(t *testing.T, w setting) {
		s := w.open(t, Config{})
		idle, c := s.client(), s.client()
		c.send("put 0 0 60 10\r\n01234")
		idle.until("cmd-put", 1)
		start := time.Now()
		s.stop()
		c.expectEnd()
		if took := time.Since(start); took < stopGrace {
			t.Errorf("the put was cut off after %v", took)
		} else if w.fakeTime() && took != stopGrace {
			t.Errorf("stopping took %v, want %v", took, stopGrace)
		}
	})
}

// TestStopSlowReader cuts off who does not take replies, after the grace.
func TestStopSlowReader(t *testing.T) {
	const size = 60000
	everywhere(t, func(t *testing.T, w setting) {
		s := w.open(t, Config{})
		idle, slow := s.client(), s.client()
		slow.ask(put(strings.Repeat("b", size)), "INSERTED 1\r\n")
		slow.push(strings.Repeat("peek 1\r\n", 1000))
		idle.ask("list-tube-used\r\n", "USING default\r\n")
		start := time.Now()
		s.cancel()
		idle.expectEnd()
		s.stop()
		if took := time.Since(start); w.fakeTime() && (took < stopGrace || took > 2*stopGrace) {
			t.Errorf("stopping took %v, want one grace, or two", took)
		}
		if got := len(slow.rest()); got == 0 || got > 900*size {
			t.Errorf("a client that did not read got %d bytes in the end", got)
		}
	})
}

// TestStopLateReader gives a client that begins to read within the grace all
// that it asked for.
func TestStopLateReader(t *testing.T) {
	const size, questions = 60000, 200
	everywhere(t, func(t *testing.T, w setting) {
		s := w.openAmply(t, Config{})
		idle, slow := s.client(), s.client()
		body := strings.Repeat("b", size)
		slow.ask(put(body), "INSERTED 1\r\n")
		slow.send(strings.Repeat("peek 1\r\n", questions))
		idle.ask("list-tube-used\r\n", "USING default\r\n")
		s.cancel()
		idle.expectEnd()
		for range questions {
			slow.expect("FOUND 1 60000\r\n" + body + "\r\n")
		}
		slow.expectEnd()
		s.stop()
	})
}

// TestStopLeavesNothing looks for goroutines, the listener, and its file.
func TestStopLeavesNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, w setting) {
		before := goleak.IgnoreCurrent()
		s := w.prepare(t, Config{})
		s.server.loop.grace = 50 * time.Millisecond
		s.run()
		var all []*client
		for range 20 {
			c := s.client()
			c.ask("list-tube-used\r\n", "USING default\r\n")
			all = append(all, c)
		}
		all[0].send("reserve\r\n")
		all[1].send("put 0 0 60 5\r\n")
		all[2].conn.Close()
		s.stop()
		for _, c := range all {
			c.conn.Close()
		}
		if !w.fakeTime() { // else the bubble sees to it
			goleak.VerifyNone(t, before)
		}
		if _, err := s.ln.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the listener says %v, want that it is closed", err)
		}
		if conn, err := s.dial(); err == nil {
			conn.Close()
			t.Error("a server that has ended accepts connections")
		}
		if w.network == "unix" {
			if _, err := os.Stat(s.ln.Addr().String()); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the socket's file is left: %v", err)
			}
		}
		s.server.Drain(true) // harmless, however late
	})
}

// TestStopBeforeRun runs a server with a context that has ended.
func TestStopBeforeRun(t *testing.T) {
	everywhere(t, func(t *testing.T, w setting) {
		s := w.prepare(t, Config{})
		early := s.client()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.server.Run(ctx); err != nil {
			t.Error(err)
		}
		early.expectEnd()
		if err := s.server.Serve(w.listen(t)); err == nil {
			t.Error("a listener is taken after Run")
		}
	})
}

// TestManyComeAndGo opens and closes connections in every way while the server
// is stopped. It is for the race detector, and for goroutines that wait for
// each other.
func TestManyComeAndGo(t *testing.T) {
	const people = 8
	everywhere(t, func(t *testing.T, w setting) {
		for round := range 5 {
			s := w.prepare(t, Config{})
			s.server.loop.grace = 50 * time.Millisecond
			s.run()
			busy := make(chan struct{}, people)
			var wg sync.WaitGroup
			for i := range people {
				wg.Go(func() {
					for n := 0; ; n++ {
						conn, err := s.dial()
						if err != nil {
							return
						}
						if n == 10 {
							busy <- struct{}{}
						}
						visit(conn, i+n)
					}
				})
			}
			for range people {
				<-busy
			}
			for i := range 10 * round {
				s.server.Drain(i%2 == 0)
			}
			s.stop()
			wg.Wait()
		}
	})
}

// visit is a short connection, of one of several kinds.
func visit(conn net.Conn, kind int) {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	say := func(text string) { io.WriteString(conn, text) }
	switch kind % 7 {
	case 0: // comes and goes
	case 1:
		say(put("x") + "reserve\r\nquit\r\n")
		drain(conn)
	case 2:
		say("put 0 0 60 100\r\nx")
	case 3:
		say("reserve-with-timeout 0\r\nreserve\r\nlist-tu")
		(&client{conn: conn}).reset()
	case 4:
		say("reserve\r\n")
		_ = conn.(interface{ CloseWrite() error }).CloseWrite()
		drain(conn)
	case 5:
		say(put(strings.Repeat("x", 60000)) + strings.Repeat("peek-ready\r\n", 20))
	case 6:
		say("list-tubes\r\n")
		conn.Read(make([]byte, 5))
	}
}
