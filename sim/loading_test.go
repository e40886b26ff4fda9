package sim

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/engine"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

const start = queue.Instant(1_700_000_000 * int64(time.Second))

// slowStore has jobs whose bodies are read when the test says so.
type slowStore struct {
	jobs  int
	loads []load
}

type load struct {
	id   protocol.JobID
	done func([]byte, error)
}

func (s *slowStore) Recover(into *queue.Restoration) (int, error) {
	for id := range s.jobs {
		err := into.Job(&queue.Record{
			ID: protocol.JobID(id + 1), Tube: "default", State: queue.Ready, Size: uint32(len(body(id + 1))), TTR: 10 * time.Second, Created: start,
		})
		if err != nil {
			return id, err
		}
	}
	into.End(protocol.JobID(s.jobs + 1))
	return s.jobs, nil
}

func (s *slowStore) Commit(*queue.Changes) error { return nil }
func (s *slowStore) Full() bool                  { return false }

func (s *slowStore) Load(id protocol.JobID, _ uint32, done func([]byte, error)) {
	s.loads = append(s.loads, load{id, done})
}

func body(id int) string { return fmt.Sprintf("body %d", id) }

// stage is an engine with a slow store and connections.
type stage struct {
	t      *testing.T
	engine *engine.Engine
	store  *slowStore
	now    queue.Instant
	posted []func()
}

// person is a connection.
type person struct {
	stage   *stage
	session *engine.Session
	got     strings.Builder
	closed  bool
}

func (p *person) Send(b []byte) (int, error) { return p.got.Write(b) }
func (p *person) Resume()                    {}
func (p *person) Peer() engine.Peer          { return engine.Peer{} }
func (p *person) Close()                     { p.closed = true }

func newStage(t *testing.T, jobs int) *stage {
	t.Helper()
	s := &stage{t: t, store: &slowStore{jobs: jobs}, now: start}
	s.engine = engine.New(engine.Config{
		Limits:     engine.Limits{MaxJobSize: 1000},
		Store:      s.store,
		Post:       func(f func()) { s.posted = append(s.posted, f) },
		Unreadable: func(protocol.JobID, error) {},
		Process:    func() protocol.ProcessStats { return protocol.ProcessStats{} },
	})
	t.Cleanup(func() { s.engine.Release() })
	if n, err := s.engine.Recover(start); n != jobs || err != nil {
		t.Fatal(n, err)
	}
	return s
}

func (s *stage) person() *person {
	p := &person{stage: s}
	p.session = s.engine.Open(p)
	return p
}

func (s *stage) turn(do ...func()) {
	s.t.Helper()
	s.engine.Begin(s.now)
	for _, f := range do {
		f()
	}
	if err := s.engine.Finish(); err != nil {
		s.t.Fatal(err)
	}
}

// finish lets the load of a job end.
func (s *stage) finish(id int, err error) {
	s.t.Helper()
	for i, l := range s.store.loads {
		if l.id != protocol.JobID(id) {
			continue
		}
		s.store.loads = append(s.store.loads[:i:i], s.store.loads[i+1:]...)
		if l.done([]byte(body(id)), err); len(s.posted) != 1 {
			s.t.Fatalf("%d functions were posted", len(s.posted))
		}
		f := s.posted[0]
		s.posted = nil
		s.turn(f)
		return
	}
	s.t.Fatalf("nobody has asked for the body of job %d", id)
}

func (p *person) says(lines ...string) {
	p.stage.t.Helper()
	p.stage.turn(func() { p.session.Receive([]byte(strings.Join(lines, "\r\n") + "\r\n")) })
}

// hears compares what was received since the last time.
func (p *person) hears(why string, lines ...string) {
	p.stage.t.Helper()
	want := ""
	if len(lines) > 0 {
		want = strings.Join(lines, "\r\n") + "\r\n"
	}
	if got := p.got.String(); got != want {
		p.stage.t.Errorf("%s: received %q, want %q", why, got, want)
	}
	p.got.Reset()
}

func TestLoadKeepsOrder(t *testing.T) {
	s := newStage(t, 3)
	a, b := s.person(), s.person()
	a.says("use mail", "reserve", "list-tube-used", "peek 2", "list-tubes-watched")
	a.hears("before the body is read", "USING mail")
	b.says("list-tube-used", "put 0 0 1 3", "new", "reserve-job 4", "delete 4")
	b.hears("another connection", "USING default", "INSERTED 4", "RESERVED 4 3", "new", "DELETED")
	s.finish(1, nil)
	a.hears("after the first body", "RESERVED 1 6", "body 1", "USING mail")
	a.says("use other")
	a.hears("before the second")
	s.finish(2, nil)
	a.hears("after the second body", "FOUND 2 6", "body 2", "OK 14", "---\n- default\n", "USING other")
}

// TestLoadsOvertake has loads end in another order than they began.
func TestLoadsOvertake(t *testing.T) {
	s := newStage(t, 2)
	a, b := s.person(), s.person()
	a.says("reserve")
	b.says("reserve")
	s.finish(2, nil)
	a.hears("still waiting")
	b.hears("its body", "RESERVED 2 6", "body 2")
	s.finish(1, nil)
	a.hears("its body", "RESERVED 1 6", "body 1")
}

func TestLoadForOneWhoWaited(t *testing.T) {
	s := newStage(t, 1)
	a, b := s.person(), s.person()
	a.says("reserve")
	b.says("reserve-with-timeout 100", "list-tube-used")
	s.turn(a.session.Drop)
	if !a.closed {
		t.Error("the first is not closed")
	}
	b.hears("the job is his, but must be read")
	s.now += queue.Instant(time.Second)
	s.turn()
	for _, l := range s.store.loads[:1] {
		l.done([]byte("body 1"), nil) // of the one who left
	}
	s.store.loads = s.store.loads[1:]
	f := s.posted[0]
	s.posted = nil
	s.turn(f)
	a.hears("he is gone")
	b.hears("the body was read for another")
	s.finish(1, nil)
	b.hears("his body", "RESERVED 1 6", "body 1", "USING default")
}

func TestCloseWhileLoading(t *testing.T) {
	for name, leave := range map[string]func(*person){
		"dropped": func(p *person) { p.session.Drop() },
		"ended":   func(p *person) { p.session.End() },
		"stopped": func(p *person) { p.session.Stop() },
		"quits":   func(p *person) { p.session.Receive([]byte("quit\r\n")) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, 1)
			a := s.person()
			a.says("reserve")
			s.turn(func() { leave(a) })
			if gone := name == "dropped"; a.closed != gone {
				t.Errorf("closed: %v", a.closed)
			}
			s.finish(1, nil)
			if name == "dropped" {
				a.hears("nothing reaches him")
			} else {
				a.hears("the command under way is answered", "RESERVED 1 6", "body 1")
			}
			s.turn()
			if !a.closed || s.engine.Sessions() != 0 {
				t.Errorf("closed: %v, and %d sessions are open", a.closed, s.engine.Sessions())
			}
			b := s.person()
			b.says("reserve-with-timeout 0")
			s.finish(1, nil)
			b.hears("the job is ready again", "RESERVED 1 6", "body 1")
		})
	}
}

// TestTimeUpWhileLoading has the time to run end before the body is there. The
// client is told of the job all the same, and is too late.
func TestTimeUpWhileLoading(t *testing.T) {
	s := newStage(t, 1)
	a, b := s.person(), s.person()
	a.says("reserve", "delete 1")
	s.now += queue.Instant(11 * time.Second)
	s.turn()
	b.says("reserve")
	s.finish(1, nil)
	a.hears("too late", "RESERVED 1 6", "body 1", "NOT_FOUND")
	s.finish(1, nil)
	b.hears("the job went on", "RESERVED 1 6", "body 1")
}

func TestDeletedWhileLoading(t *testing.T) {
	s := newStage(t, 1)
	a, b := s.person(), s.person()
	a.says("peek 1", "peek 1")
	b.says("delete 1")
	b.hears("no wait", "DELETED")
	s.finish(1, nil)
	a.hears("as it was when he asked", "FOUND 1 6", "body 1", "NOT_FOUND")
}

func TestUnreadable(t *testing.T) {
	s := newStage(t, 2)
	a, b := s.person(), s.person()
	a.says("reserve", "peek-buried", "reserve")
	b.says("peek 1", "list-tube-used")
	s.finish(1, errors.New("damaged"))
	s.finish(1, errors.New("damaged"))
	b.hears("peek", "INTERNAL_ERROR", "USING default")
	a.hears("reserve", "INTERNAL_ERROR")
	s.finish(1, errors.New("damaged"))
	a.hears("it is buried now", "INTERNAL_ERROR")
	s.finish(2, nil)
	a.hears("the next one", "RESERVED 2 6", "body 2")
	b.says("kick 10")
	b.hears("it was buried", "KICKED 1")
}

// TestUnreadableAfterTimeUp must not bury the job of another.
func TestUnreadableAfterTimeUp(t *testing.T) {
	s := newStage(t, 1)
	a, b := s.person(), s.person()
	a.says("reserve")
	s.now += queue.Instant(11 * time.Second)
	s.turn()
	b.says("reserve")
	s.finish(1, errors.New("hiccup"))
	a.hears("his read failed", "INTERNAL_ERROR")
	s.finish(1, nil)
	b.hears("the job is his", "RESERVED 1 6", "body 1")
	b.says("delete 1")
	b.hears("still his", "DELETED")
}
