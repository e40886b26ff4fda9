package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// notary is a store that notes what happens, in the order of events.
type notary struct {
	log   []string
	fault error
	loads []func([]byte, error)
}

func (n *notary) Recover(*queue.Restoration) (int, error) { return 0, nil }
func (n *notary) Full() bool                              { return false }

func (n *notary) Commit(c *queue.Changes) error {
	if n.fault != nil {
		return n.fault
	}
	n.log = append(n.log, fmt.Sprintf("commit %d saved %d deleted", len(c.Saved), len(c.Deleted)))
	return nil
}

func (n *notary) Load(_ protocol.JobID, _ uint32, done func([]byte, error)) {
	n.loads = append(n.loads, done)
}

// note makes a done of Operate.
func (n *notary) note(what string) func() {
	return func() { n.log = append(n.log, what) }
}

func (n *notary) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := strings.Join(n.log, "; "); got != strings.Join(want, "; ") {
		t.Fatalf("what happened: %s\nwant: %s", got, strings.Join(want, "; "))
	}
	n.log = nil
}

// insertion is a step that puts a job.
func insertion(t *testing.T, body string) func(*Turn) {
	return func(turn *Turn) {
		if _, err := turn.Insert(turn.Now, &queue.Insertion{Tube: "default", TTR: time.Minute, Body: []byte(body)}); err != nil {
			t.Error(err)
		}
	}
}

// TestOperateDone tells an operator only after the commit, and in the order of
// the steps.
func TestOperateDone(t *testing.T) {
	store := &notary{}
	s := newScene(t, Config{Limits: Limits{MaxJobSize: 100}, Store: store})
	s.turn(
		func() { s.engine.Operate(insertion(t, "a"), store.note("first done")) },
		func() { store.note("after the first")() },
		func() { s.engine.Operate(func(*Turn) {}, store.note("second done")) },
	)
	store.expect(t, "after the first", "commit 1 saved 0 deleted", "first done", "second done")
	s.turn()
	store.expect(t) // nobody is told twice
	// A look changes nothing: there is nothing to commit, and it is done.
	s.turn(func() { s.engine.Operate(func(*Turn) {}, store.note("look done")) })
	store.expect(t, "look done")
}

// TestOperateCommitFails tells nobody that anything is done.
func TestOperateCommitFails(t *testing.T) {
	store := &notary{fault: errors.New("the disk has gone")}
	s := newScene(t, Config{Limits: Limits{MaxJobSize: 100}, Store: store})
	a := s.connect()
	s.engine.Begin(s.now)
	s.engine.Operate(insertion(t, "a"), store.note("done"))
	s.engine.Operate(func(*Turn) {}, store.note("look done"))
	a.hears("reserve\r\n")()
	if err := s.engine.Finish(); !errors.Is(err, store.fault) {
		t.Fatalf("the turn ends with %v", err)
	}
	store.expect(t)
	a.expect()
}

// TestOperateServes sends in the same turn what a step has for clients that
// wait, and lets them go on with what they have sent in advance.
func TestOperateServes(t *testing.T) {
	s := newScene(t, Config{Limits: Limits{MaxJobSize: 100}})
	a, b := s.connect(), s.connect()
	s.turn(a.hears("reserve\r\nlist-tube-used\r\nreserve\r\n"), b.hears("reserve\r\n"))
	a.expect()
	told := false
	s.turn(func() { s.engine.Operate(insertion(t, "one"), func() { told = true }) })
	a.expect("RESERVED 1 3\r\none\r\n", "USING default\r\n")
	if !told {
		t.Error("the operator is not told")
	}
	s.turn(
		func() { s.engine.Operate(insertion(t, "two"), func() {}) },
		func() { s.engine.Operate(insertion(t, "three"), func() {}) },
	)
	b.expect("RESERVED 2 3\r\ntwo\r\n")
	a.expect("RESERVED 3 5\r\nthree\r\n")
	// What was taken is no longer the client's.
	s.turn(func() {
		s.engine.Operate(func(turn *Turn) {
			if err := turn.Bury(3, queue.Take); err != nil {
				t.Error(err)
			}
		}, func() {})
	}, a.hears("touch 3\r\nbury 3 0\r\n"))
	a.expect("NOT_FOUND\r\n", "NOT_FOUND\r\n")
}

// TestOperateServesLoaded hands a body that is in the store only to somebody who
// waited, once it is read, though the operator is done before.
func TestOperateServesLoaded(t *testing.T) {
	store := &notary{}
	var posted []func()
	s := newScene(t, Config{
		Limits: Limits{MaxJobSize: 100, Memory: 1}, Store: store, Post: func(f func()) { posted = append(posted, f) },
	})
	a := s.connect()
	s.turn(func() { s.engine.Operate(insertion(t, "away"), store.note("put")) })
	s.turn(func() {
		s.engine.Operate(func(turn *Turn) { _ = turn.Bury(1, queue.Respect) }, store.note("buried"))
	}, a.hears("reserve\r\n"))
	store.log = nil
	var view queue.JobView
	s.turn(func() {
		s.engine.Operate(func(turn *Turn) {
			view, _ = turn.Job(1)
			turn.Load(&view, func(body []byte, err error) { store.note(fmt.Sprintf("read %q, %v", body, err))() })
			_ = turn.Kick(turn.Now, 1)
		}, store.note("kicked"))
	})
	store.expect(t, "commit 1 saved 0 deleted", "kicked")
	if !view.Away || len(store.loads) != 2 {
		t.Fatalf("the body is away: %v, and was asked for %d times", view.Away, len(store.loads))
	}
	a.expect()
	store.loads[0]([]byte("away"), nil)
	store.expect(t, `read "away", <nil>`)
	store.loads[1]([]byte("away"), nil)
	s.turn(posted...)
	a.expect("RESERVED 1 4\r\naway\r\n")
}

// TestOperatePeer knows since when who is there, and nobody who is not.
func TestOperatePeer(t *testing.T) {
	s := newScene(t, Config{})
	s.now = 100
	var early, late *wire
	s.turn(func() { early = s.connect() })
	s.now = 200
	s.turn(func() { late = s.connect() })
	early.peer, late.peer = Peer{Address: "192.0.2.1:1"}, Peer{PID: 7}
	ids := []queue.ClientID{early.client, late.client}
	expect := func(id queue.ClientID, want Peer, since queue.Instant) {
		t.Helper()
		s.turn(func() {
			s.engine.Operate(func(turn *Turn) {
				if got, opened := turn.Peer(id); got != want || opened != since {
					t.Errorf("client %d is %+v since %d, want %+v since %d", id, got, opened, want, since)
				}
			}, func() {})
		})
	}
	expect(ids[0], early.peer, 100)
	expect(ids[1], late.peer, 200)
	s.turn(early.Drop)
	expect(ids[0], Peer{}, 0)
	expect(ids[1], late.peer, 200)
}

// TestWorkload counts turns, the time in them, and commits.
func TestWorkload(t *testing.T) {
	store := &notary{}
	s := newScene(t, Config{Limits: Limits{MaxJobSize: 10}, Store: store, Observed: true})
	a := s.connect()
	look := func() (w Workload) {
		turn := Turn{s.engine.machine, s.now, s.engine}
		return turn.Workload()
	}
	// turn is one that takes a while, after a wait that does not count.
	turn := func(took time.Duration, events ...func()) {
		s.turn(events...)
		s.now += queue.Instant(took)
		s.engine.Wait(s.now)
		s.now += queue.Instant(time.Second)
	}
	s.engine.Wait(s.now) // before the first turn
	if w := look(); w != (Workload{}) {
		t.Fatalf("before the start %+v", w)
	}
	turn(time.Millisecond, a.hears("list-tube-used\r\n"))
	turn(2*time.Millisecond, a.hears(put("1")))
	turn(0, a.hears(put("1")+put("2")+put("3")))
	turn(0, a.hears(strings.Repeat(put("1"), 5)))
	turn(0, a.hears("reserve\r\n"))                          // nobody waits for that to be safe
	turn(0, a.hears("pause-tube default 5\r\n"))             // one
	turn(0, a.hears("delete 1\r\npause-tube default 0\r\n")) // two
	turn(0, func() {                                         // more than the bound of the last bucket but one
		s.engine.Operate(func(turn *Turn) {
			for range 20_000 {
				insertion(t, "")(turn)
			}
		}, func() {})
	})
	turn(0, func() { s.engine.Operate(func(*Turn) {}, func() {}) })
	w := look()
	want := Workload{
		Turns: 9, Busy: 3*time.Millisecond - w.Commit.Sum, Changes: 1 + 3 + 5 + 1 + 1 + 2 + 20_000, Synced: 6,
		Batch: BatchSizes{0: 3, 1: 1, 2: 1, 3: 1, 15: 1}, Commit: w.Commit,
	}
	if w != want {
		t.Errorf("the workload is %+v\nwant %+v", w, want)
	}
	if w.Commit.Count != 7 {
		t.Errorf("%d commits were timed, want 7", w.Commit.Count)
	}
}

// TestWorkloadUnobserved leaves out what costs time.
func TestWorkloadUnobserved(t *testing.T) {
	s := newScene(t, Config{Limits: Limits{MaxJobSize: 10}, Store: &notary{}})
	s.turn(s.connect().hears(put("1")))
	turn := Turn{s.engine.machine, s.now, s.engine}
	if w := turn.Workload(); w.Commit.Count != 0 || w.Changes != 0 || w.Batch != (BatchSizes{}) {
		t.Errorf("nobody observes, and %+v", w)
	}
}

// TestBatchBounds has each size in the bucket that its bound says.
func TestBatchBounds(t *testing.T) {
	for n := 1; n < 1<<17; n = max(n+1, n*3/2) {
		var w Workload
		w.note(&queue.Changes{Deleted: make([]protocol.JobID, n)}, 0)
		for i, count := range w.Batch {
			last := i == len(w.Batch)-1
			if in := (n <= 1<<i || last) && (i == 0 || n > 1<<(i-1)); (count == 1) != in {
				t.Fatalf("a commit of %d counts in bucket %d: %d", n, i, count)
			}
		}
	}
}
