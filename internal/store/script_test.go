package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/engine"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// script is a session of several clients, as testdata/session.txt tells it.
type script []turn

type turn struct {
	passes   time.Duration
	actions  []string // flush, compact, restart
	commands []command
}

// command is what a client says.
type command struct {
	client string
	words  []string
	body   string
}

func readScript(t testing.TB) script {
	t.Helper()
	text, err := os.ReadFile("testdata/session.txt")
	if err != nil {
		t.Fatal(err)
	}
	var s script
	for part := range strings.SplitSeq(string(text), "\n\n") {
		var one turn
		for line := range strings.Lines(part) {
			line = strings.TrimSpace(line)
			name, said, isCommand := strings.Cut(line, ": ")
			switch {
			case line == "" || line[0] == '#':
			case line[0] == '+':
				one.passes, err = time.ParseDuration(line[1:])
			case isCommand:
				one.commands = append(one.commands, readCommand(name, said))
			default:
				one.actions = append(one.actions, line)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		s = append(s, one)
	}
	return s
}

func readCommand(name, said string) command {
	c := command{client: name, words: strings.Fields(said)}
	if c.words[0] == "put" {
		c.body = strings.Join(c.words[4:], " ")
		c.words = c.words[:4]
		if n, err := strconv.Atoi(strings.TrimPrefix(c.body, "*")); err == nil {
			c.body = strings.Repeat(fmt.Sprintf("%d bytes. ", n), n)[:n]
		}
	}
	return c
}

func (c *command) wire() string {
	line := strings.Join(c.words, " ")
	if c.words[0] == "put" {
		return fmt.Sprintf("%s %d\r\n%s\r\n", line, len(c.body), c.body)
	}
	return line + "\r\n"
}

// session is a script under way, and what may and must be on the disk.
type session struct {
	options Options
	rig     *rig
	store   *Store
	now     queue.Instant

	tubes   map[string]string // that clients use
	pending map[string][]command
	ledger  *ledger
	// early are jobs that are reserved and on their way to the client.
	early      map[protocol.JobID]bool
	transcript []string
	wrong      error
	// alarm gets something when the database reports an error.
	alarm chan struct{}

	mutex sync.Mutex
	// turns are the ledgers before the first and after each turn. What the first
	// safe turns have changed must be there after the power is lost.
	turns  []*ledger
	safe   int
	begun  int
	unread bool // a body could not be read
}

// errorAlarm is a log that only tells of errors in the database.
type errorAlarm struct {
	slog.Handler
	alarm chan struct{}
}

func (a errorAlarm) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelError
}

func (a errorAlarm) Handle(_ context.Context, r slog.Record) error {
	if r.Message != "store" {
		return nil // not from the database
	}
	select {
	case a.alarm <- struct{}{}:
	default:
	}
	return nil
}

func newSession(options Options) *session {
	alarm := make(chan struct{}, 1)
	options.Logger = slog.New(errorAlarm{slog.DiscardHandler, alarm})
	return &session{
		options: options, alarm: alarm, now: morning, ledger: newLedger(), turns: []*ledger{newLedger()},
		tubes: make(map[string]string), pending: make(map[string][]command), early: make(map[protocol.JobID]bool),
	}
}

func (s *session) open() error {
	var store *Store
	var err error
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		store, err = Open(s.options)
	}()
	if err := s.await(opened); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	s.store = store
	s.rig = newRig(s.store, s.now, engine.Limits{})
	_, err = s.rig.engine.Recover(s.now)
	return err
}

// close stops as a server does: the store last.
func (s *session) close() error {
	clear(s.tubes)
	clear(s.pending)
	return s.store.Close()
}

// run plays a script. It ends early if the store fails.
func (s *session) run(script script) error {
	if err := s.open(); err != nil {
		return err
	}
	for i := range script {
		if err := s.play(&script[i]); err != nil {
			return fmt.Errorf("turn %d: %w", i, err)
		}
	}
	return s.close()
}

func (s *session) play(turn *turn) error {
	for _, action := range turn.actions {
		if err := s.act(action); err != nil {
			return fmt.Errorf("%s: %w", action, err)
		}
	}
	s.mutex.Lock()
	s.now += queue.Instant(turn.passes)
	s.mutex.Unlock()
	s.rig.now = s.now
	say := make([]func(), len(turn.commands))
	for i := range turn.commands {
		c := &turn.commands[i]
		s.pending[c.client] = append(s.pending[c.client], *c)
		say[i] = s.rig.says(c.client, c.wire())
	}
	if err := s.step(turn.commands, say...); err != nil {
		return err
	}
	for s.rig.loading > 0 {
		if err := s.step(nil, s.rig.next()); err != nil {
			return err
		}
	}
	return nil
}

// step is one turn of the engine.
func (s *session) step(commands []command, say ...func()) error {
	s.mutex.Lock()
	s.begun++
	s.mutex.Unlock()
	s.store.disk.full.Store(false) // see the test of a full disk
	if err := s.rig.turn(say...); err != nil {
		return err
	}
	s.ledger.pass(s.now)
	urgent := false
	for i := range commands {
		urgent = s.hear(commands[i].client) || urgent
	}
	for name := range s.pending {
		for len(s.rig.clients[name].link.received) > 0 {
			urgent = s.hear(name) || urgent
		}
	}
	// The replies to these come later, but the store knows already.
	for _, id := range s.rig.loads {
		s.ledger.told(s.now, "", nil, []string{"RESERVED", fmt.Sprint(id)}, "")
		s.early[id] = true
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.unread = s.unread || len(s.rig.unreadable) > 0
	s.turns = append(s.turns, s.ledger.clone())
	if urgent && s.options.Sync == (SyncPolicy{}) {
		s.safe = s.begun
	}
	return nil
}

// await waits for what the database does, which it tries for ever.
func (s *session) await(done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-s.alarm:
		return errors.New("the database reports an error")
	}
}

// hear enters what a client was told next, if there is anything. It tells
// whether that is something done.
func (s *session) hear(name string) (done bool) {
	reply, body, ok := s.rig.clients[name].link.takeReply()
	if !ok {
		return false
	}
	c := s.pending[name][0]
	s.pending[name] = s.pending[name][1:]
	tube := s.tubes[name]
	if tube == "" {
		tube = protocol.DefaultTube
	}
	switch reply[0] {
	case "USING":
		s.tubes[name] = c.words[1]
	case "RESERVED":
		var id protocol.JobID
		fmt.Sscan(reply[1], &id)
		if body != s.ledger.jobs[id].Body {
			s.wrong = fmt.Errorf("job %d was handed out with a wrong body", id)
		}
		if s.early[id] {
			delete(s.early, id)
			return false
		}
		body = ""
	default:
		body = c.body
	}
	s.transcript = append(s.transcript, fmt.Sprintf("%s: %s => %s", name, strings.Join(c.words, " "), strings.Join(reply, " ")))
	return s.ledger.told(s.now, tube, c.words, reply, body)
}

func (s *session) act(action string) error {
	switch action {
	case "flush":
		flushed, err := s.store.db.AsyncFlush()
		if err != nil {
			return err
		}
		return s.await(flushed)
	case "compact":
		compacted := make(chan struct{})
		go func() {
			defer close(compacted)
			if err := s.store.db.Compact(context.Background(), []byte{0}, []byte{0xff}, false); err != nil {
				s.alarm <- struct{}{}
			}
		}()
		return s.await(compacted)
	case "restart":
		if err := s.close(); err != nil {
			return err
		}
		s.ledger.drop()
		s.mutex.Lock()
		s.safe = s.begun
		s.mutex.Unlock()
		return s.open()
	}
	return fmt.Errorf("there is no %q", action)
}
