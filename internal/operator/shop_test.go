package operator_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/haricotq/haricot/internal/engine"
	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
	"github.com/haricotq/haricot/internal/server"
	"github.com/haricotq/haricot/internal/store"
	"github.com/haricotq/haricot/internal/wire"
)

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shop is a server with an operator, on sockets.
type shop struct {
	*operator.Operator
	t       *testing.T
	server  *server.Server
	address string
	hand    *operator.Hand
	log     *journal
	steps   *atomic.Int64 // of the operator
	close   func()        // ends the server; harmless if called twice
}

// journal is a log that may be read while it is written.
type journal struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return j.text.Write(p)
}

// lines returns what was logged since it was last called, without the time.
func (j *journal) lines() (lines []string) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	for line := range strings.Lines(j.text.String()) {
		_, line, _ = strings.Cut(strings.TrimSpace(line), "level=")
		lines = append(lines, line)
	}
	j.text.Reset()
	return lines
}

// counted is a door that counts.
type counted struct {
	operator.Door
	steps atomic.Int64
	after func() // called between steps, if it is there
}

func (c *counted) Operate(step func(*engine.Turn)) error {
	if c.after != nil {
		c.after()
	}
	c.steps.Add(1)
	return c.Door.Operate(step)
}

func openShop(t *testing.T, config server.Config) *shop {
	t.Helper()
	config.Observed = true
	if config.MaxJobSize == 0 {
		config.MaxJobSize = 1 << 20
	}
	srv, err := server.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Serve(ln); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- srv.Run(ctx) }()
	s := &shop{t: t, server: srv, address: ln.Addr().String(), log: &journal{}}
	s.close = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(s.close)
	door := &counted{Door: srv}
	s.steps = &door.steps
	s.Operator = operator.New(door, slog.New(slog.NewTextHandler(s.log, nil)))
	s.hand = s.By("ann")
	return s
}

// between has something happen before each further step of the operator.
func (s *shop) between(do func()) *operator.Operator {
	return operator.New(&counted{Door: s.server, after: do}, slog.New(slog.DiscardHandler))
}

// openStore opens a store, to be closed after the server.
func openStore(t *testing.T, dir string) *store.Store {
	t.Helper()
	st, err := store.Open(store.Options{Dir: dir, Sync: store.SyncPolicy{Never: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

// fill puts n jobs into a tube, as many in a step as a turn bears. vary may
// change what is put.
func (s *shop) fill(tube string, n int, vary func(i int, in *queue.Insertion)) (ids []protocol.JobID) {
	s.t.Helper()
	const each = 1000
	for from := 0; from < n; from += each {
		err := s.server.Operate(func(t *engine.Turn) {
			for i := from; i < min(n, from+each); i++ {
				in := &queue.Insertion{Tube: tube, TTR: time.Minute}
				if vary != nil {
					vary(i, in)
				}
				id, err := t.Insert(t.Now, in)
				if err != nil {
					s.t.Error(err)
					return
				}
				ids = append(ids, id)
			}
		})
		if err != nil {
			s.t.Fatal(err)
		}
	}
	return ids
}

// client is a connection to the server.
func (s *shop) client() *wire.Conn {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	c := wire.New(conn)
	s.t.Cleanup(func() { c.Close() })
	return c
}

// ask sends a command whose reply begins with a word.
func (s *shop) ask(c *wire.Conn, word, format string, args ...any) wire.Reply {
	s.t.Helper()
	r, err := c.Ask(format, args...)
	if err != nil || r.Word != word {
		s.t.Fatalf("%s: %v, %v, want %s", format, r, err, word)
	}
	return r
}

func (s *shop) do(a operator.Action, id protocol.JobID, want error) {
	s.t.Helper()
	if err := s.hand.Do(a, id); !errors.Is(err, want) {
		s.t.Fatalf("%v of job %d: %v, want %v", a, id, err, want)
	}
}

// state is where a job is.
func (s *shop) state(id protocol.JobID) queue.State {
	s.t.Helper()
	j, err := s.Job(s.t.Context(), id, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	return j.State
}

// nothing is a step that does nothing.
func nothing(*engine.Turn) {}

// brimful is a store that may be said to be full.
type brimful struct {
	server.Store
	full atomic.Bool
}

func (b *brimful) Full() bool { return b.full.Load() }
