package store

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/engine"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// morning is when the tests begin.
const morning = queue.Instant(1_700_000_000 * int64(time.Second))

// link is a connection that keeps what it is sent.
type link struct {
	received []byte
	closed   bool
}

func (l *link) Send(p []byte) (int, error) {
	l.received = append(l.received, p...)
	return len(p), nil
}

func (l *link) Resume()           {}
func (l *link) Peer() engine.Peer { return engine.Peer{} }
func (l *link) Close()            { l.closed = true }

// rig is an engine with clients, driven turn by turn.
type rig struct {
	engine  *engine.Engine
	now     queue.Instant
	clients map[string]*client
	inbox   chan func()
	// loads are the jobs whose bodies were asked for in the last turn, loading
	// is how many are under way.
	loads   []protocol.JobID
	loading int
	// unreadable are the jobs whose bodies could not be read.
	unreadable []protocol.JobID
}

// observed is a store whose loads a rig takes note of.
type observed struct {
	engine.Store
	rig *rig
}

func (o observed) Load(id protocol.JobID, size uint32, done func([]byte, error)) {
	o.rig.loads = append(o.rig.loads, id)
	o.rig.loading++
	o.Store.Load(id, size, done)
}

type client struct {
	session *engine.Session
	link    *link
}

func newRig(s engine.Store, now queue.Instant, limits engine.Limits) *rig {
	if limits.MaxJobSize == 0 {
		limits.MaxJobSize = 1 << 20
	}
	r := &rig{now: now, clients: make(map[string]*client), inbox: make(chan func(), 1000)}
	r.engine = engine.New(engine.Config{
		Limits:     limits,
		Store:      observed{s, r},
		Post:       func(f func()) { r.inbox <- f },
		Unreadable: func(id protocol.JobID, _ error) { r.unreadable = append(r.unreadable, id) },
		Process:    func() protocol.ProcessStats { return protocol.ProcessStats{} },
	})
	return r
}

func (r *rig) client(name string) *client {
	c := r.clients[name]
	if c == nil {
		c = &client{link: &link{}}
		c.session = r.engine.Open(c.link)
		r.clients[name] = c
	}
	return c
}

// turn lets clients say something, all in one turn.
func (r *rig) turn(say ...func()) error {
	r.loads = r.loads[:0]
	r.engine.Begin(r.now)
	for _, s := range say {
		s()
	}
	return r.engine.Finish()
}

// next waits for a body that is asked for, and returns what takes it in.
func (r *rig) next() func() {
	f := <-r.inbox
	r.loading--
	return f
}

// says makes a client's part in a turn.
func (r *rig) says(name, text string) func() {
	return func() { r.client(name).session.Receive([]byte(text)) }
}

// ask has a client say something in a turn of its own, and returns the answer,
// for which it waits if a body must be read.
func (r *rig) ask(t testing.TB, name, text string) string {
	t.Helper()
	c := r.client(name)
	c.link.received = nil
	if err := r.turn(r.says(name, text)); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	for len(c.link.received) == 0 && r.loading > 0 {
		if err := r.turn(r.next()); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	}
	return string(c.link.received)
}

func put(priority, delay, ttr int, body string) string {
	return fmt.Sprintf("put %d %d %d %d\r\n%s\r\n", priority, delay, ttr, len(body), body)
}

// takeReply takes the first reply off what a client has received.
func (l *link) takeReply() (words []string, body string, ok bool) {
	line, rest, found := bytes.Cut(l.received, []byte("\r\n"))
	if !found {
		return nil, "", false
	}
	words = strings.Fields(string(line))
	size := 0
	switch words[0] {
	case "RESERVED", "FOUND":
		fmt.Sscan(words[2], &size)
	case "OK":
		fmt.Sscan(words[1], &size)
	}
	if words[0] == "RESERVED" || words[0] == "FOUND" || words[0] == "OK" {
		body, rest = string(rest[:size]), rest[size+2:]
	}
	l.received = rest
	return words, body, true
}
