package queue

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
)

// scene is a machine with named clients who speak the protocol, and a clock
// that stands still unless it is moved. After each step the machine is checked.
type scene struct {
	t       *testing.T
	machine *Machine
	now     Instant
	actors  map[string]*actor
	names   map[ClientID]string
	words   map[protocol.Word]bool // that were said
	said    strings.Builder
}

// actor is a client and what the owner of its connection knows.
type actor struct {
	id      ClientID
	decoder protocol.Decoder
}

func newScene(t *testing.T, m *Machine) *scene {
	t.Cleanup(func() {
		if err := m.Release(); err != nil {
			t.Error(err)
		}
	})
	return &scene{t: t, machine: m, now: start, actors: make(map[string]*actor), names: make(map[ClientID]string), words: make(map[protocol.Word]bool)}
}

// actor finds a client, who comes in when first named.
func (s *scene) actor(name string) *actor {
	a := s.actors[name]
	if a == nil {
		a = &actor{id: s.machine.Open()}
		s.actors[name], s.names[a.id] = a, name
	}
	return a
}

// send sends bytes of a client.
func (s *scene) send(name, text string) {
	s.t.Helper()
	a := s.actor(name)
	for input := []byte(text); ; {
		n, event := a.decoder.Next(input)
		input = input[n:]
		switch event {
		case protocol.Incomplete:
			return
		case protocol.CommandLine:
			s.command(a)
		case protocol.BodyComplete:
			s.machine.EndPut(s.now, a.id, true)
		case protocol.BodyUnterminated, protocol.Discarded:
			s.machine.EndPut(s.now, a.id, false)
		case protocol.BadLine, protocol.UnknownLine:
			s.t.Fatalf("%s sends what is no command in %q", name, text)
		}
		s.gather()
	}
}

func (s *scene) command(a *actor) {
	s.t.Helper()
	if s.machine.Waiting(a.id) {
		s.t.Fatalf("%s waits and cannot say anything", s.names[a.id])
	}
	if a.decoder.Command.Verb != protocol.Put {
		s.machine.Apply(s.now, a.id, &a.decoder.Command)
		return
	}
	switch intake := s.machine.BeginPut(s.now, a.id, &a.decoder.Command); {
	case intake.None:
	case intake.Discard > 0:
		a.decoder.Discard(intake.Discard)
	default:
		a.decoder.Accept(intake.Body)
	}
}

// say sends a line and returns what was said to whom because of it.
func (s *scene) say(name, format string, args ...any) string {
	s.t.Helper()
	s.send(name, fmt.Sprintf(format, args...)+"\r\n")
	return s.heard()
}

// put puts a job.
func (s *scene) put(name string, pri, delay, ttr int, body string) string {
	s.t.Helper()
	return s.say(name, "put %d %d %d %d\r\n%s", pri, delay, ttr, len(body), body)
}

func (s *scene) leave(name string) {
	a := s.actor(name)
	s.machine.Close(s.now, a.id)
	delete(s.actors, name)
	delete(s.names, a.id)
	s.gather()
}

func (s *scene) halfClose(name string) {
	s.machine.HalfClose(s.actor(name).id)
	s.gather()
}

// pass lets time go by and does everything at its moment.
func (s *scene) pass(d time.Duration) {
	end := s.now.add(d)
	for {
		at, ok := s.machine.Next()
		if !ok || at > end {
			break
		}
		s.now = max(s.now, at)
		s.advance()
	}
	s.now = end
}

// stall lets time go by and only then does what is due.
func (s *scene) stall(d time.Duration) {
	s.now = s.now.add(d)
	s.advance()
}

func (s *scene) advance() {
	for s.machine.Advance(s.now, 1) {
		s.gather()
	}
	s.gather()
}

// gather notes what was said, a line for each line of a reply.
func (s *scene) gather() {
	s.t.Helper()
	for _, r := range s.machine.Replies() {
		s.words[r.Word] = true
		if r.Form == protocol.ServerDocument {
			r.Form, r.Data = protocol.Document, s.stats()
		}
		text := strings.TrimSuffix(string(protocol.AppendReply(nil, &r.Reply)), "\r\n")
		text = strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
		fmt.Fprintf(&s.said, "\t%s %s\n", s.names[r.To], strings.ReplaceAll(text, "\n", "\n\t  "))
	}
	s.machine.Clear()
	if err := s.machine.Check(); err != nil {
		s.t.Fatal(err)
	}
}

// stats is the document of stats without the process's part, and without what is 0.
func (s *scene) stats() (document []byte) {
	stats := s.machine.Stats()
	for line := range strings.Lines(string(protocol.AppendStats(nil, &stats, &protocol.ProcessStats{}))) {
		switch key, value, _ := strings.Cut(line, ": "); {
		case value == "0\n" || value == "0.000000\n" || value == "\"\"\n" || key == "version" || key == "binlog-max-size":
		default:
			document = append(document, line...)
		}
	}
	return document
}

// heard returns what was said since it was last called.
func (s *scene) heard() string {
	text := s.said.String()
	s.said.Reset()
	return text
}

// expect compares what was said.
func (s *scene) expect(got, want string) {
	s.t.Helper()
	if got = strings.ReplaceAll(strings.TrimSpace(got), "\n\t", "\n"); got != want {
		s.t.Fatalf("said:\n%s\nwant:\n%s", got, want)
	}
}
