package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// scene is an engine whose turns and time are the test's.
type scene struct {
	t      *testing.T
	engine *Engine
	now    queue.Instant
	// hasty leaves out the check of the whole queue after every turn.
	hasty bool
}

func newScene(t *testing.T, config Config) *scene {
	t.Helper()
	if config.Process == nil {
		config.Process = func() protocol.ProcessStats { return protocol.ProcessStats{} }
	}
	s := &scene{t: t, engine: New(config), now: 1}
	t.Cleanup(func() {
		if err := s.engine.Release(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// connect opens a session on a connection that takes everything.
func (s *scene) connect() *wire {
	w := &wire{t: s.t, room: endless}
	w.Session = s.engine.Open(w)
	return w
}

// turn carries out one turn in which the given things happen.
func (s *scene) turn(events ...func()) {
	s.t.Helper()
	s.engine.Begin(s.now)
	for _, f := range events {
		f()
	}
	if err := s.engine.Finish(); err != nil {
		s.t.Fatal(err)
	}
	if !s.hasty {
		if err := s.engine.machine.Check(); err != nil {
			s.t.Fatal(err)
		}
	}
}

// settle carries out turns until nothing is left to do at this moment, and
// returns how many.
func (s *scene) settle() (turns int) {
	s.t.Helper()
	for {
		if d, ok := s.engine.Wait(s.now); !ok || d > 0 {
			return turns
		}
		if turns++; turns > 10000 {
			s.t.Fatal("the engine is never content")
		}
		s.turn()
	}
}

// pass lets time go by and does what is due then.
func (s *scene) pass(d time.Duration) {
	s.t.Helper()
	s.now += queue.Instant(d)
	s.turn()
	s.settle()
}

// endless is the room of a wire that takes everything.
const endless = -1

// wire is a connection of a session. It counts what the engine asks of it.
type wire struct {
	*Session
	t *testing.T

	room  int // bytes that it takes before it is full, or endless
	fault error
	peer  Peer

	got     []byte
	sends   int
	resumes int
	closes  int
}

func (w *wire) Send(p []byte) (int, error) {
	if len(p) == 0 {
		w.t.Error("Send of nothing")
	}
	if w.closes > 0 {
		w.t.Error("Send after Close")
	}
	w.sends++
	if w.fault != nil {
		return 0, w.fault
	}
	n := len(p)
	if w.room != endless {
		n = min(n, w.room)
		w.room -= n
	}
	w.got = append(w.got, p[:n]...)
	return n, nil
}

func (w *wire) Resume() { w.resumes++ }

func (w *wire) Peer() Peer { return w.peer }

func (w *wire) Close() {
	if w.closes++; w.closes > 1 {
		w.t.Error("Close twice")
	}
}

// hears makes an event of a turn: input that arrives.
func (w *wire) hears(input string) func() {
	return func() {
		p := []byte(input)
		w.Receive(p)
		clear(p) // it belongs to the caller again
	}
}

// takes gives the connection room and tells the session so.
func (w *wire) takes(room int) func() {
	return func() {
		w.room = room
		w.Writable()
	}
}

// expect compares what the session has sent since the last time.
func (w *wire) expect(want ...string) {
	w.t.Helper()
	if got, want := string(w.got), strings.Join(want, ""); got != want {
		w.t.Fatalf("sent %s\nwant %s", shorten(got), shorten(want))
	}
	w.got = w.got[:0]
}

func (w *wire) expectClosed(want bool) {
	w.t.Helper()
	if got := w.closes > 0; got != want {
		w.t.Fatalf("closed is %t, want %t", got, want)
	}
}

func shorten(s string) string {
	const most = 400
	if len(s) <= most {
		return strings.ReplaceAll(s, "\r\n", "|")
	}
	return shorten(s[:most/2]) + " … " + shorten(s[len(s)-most/2:])
}

// put is the text of a put with a body.
func put(body string) string {
	return fmt.Sprintf("put 0 0 60 %d\r\n%s\r\n", len(body), body)
}
