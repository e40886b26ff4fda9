package operator_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
	"github.com/haricotq/haricot/internal/server"
)

// TestHandLogs has a line for each change, with who and what, and none for what
// was refused.
func TestHandLogs(t *testing.T) {
	s := openShop(t, server.Config{MaxJobSize: 10})
	ctx := t.Context()
	if who := operator.Who(operator.WithWho(ctx, "ann\nlee")); who != "ann\nlee" || operator.Who(ctx) != "unknown" {
		t.Errorf("at work is %q", who)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	tests := []struct {
		name string
		do   func(h *operator.Hand)
		want string
	}{
		{"put", func(h *operator.Hand) {
			_, err := h.Put(&queue.Insertion{Tube: "a", TTR: time.Minute, Body: []byte("body")})
			must(err)
		}, `msg="operator: put" tube=a job=1 bytes=4`},
		{"refused put", func(h *operator.Hand) {
			if _, err := h.Put(&queue.Insertion{Tube: "a", Body: letters(11)}); !errors.Is(err, queue.ErrTooBig) {
				t.Error(err)
			}
		}, ""},
		{"put into a bad tube", func(h *operator.Hand) {
			if _, err := h.Put(&queue.Insertion{Tube: "a\nlevel=INFO msg=forged"}); !errors.Is(err, queue.ErrBadTube) {
				t.Error(err)
			}
		}, ""},
		{"bury", func(h *operator.Hand) { must(h.Do(operator.Bury(queue.Respect), 1)) }, `msg="operator: bury" job=1 tube=a`},
		{"refused release", func(h *operator.Hand) {
			if err := h.Do(operator.Release(0), 1); !errors.Is(err, queue.ErrNotReserved) {
				t.Error(err)
			}
		}, ""},
		{"alter", func(h *operator.Hand) {
			must(h.Do(operator.Alter(&queue.Alteration{
				Priority: ptr(protocol.Priority(5)), Delay: ptr(time.Minute), TTR: ptr(time.Second),
			}), 1))
		}, `msg="operator: alter" job=1 tube=a pri=5 delay=1m0s ttr=1s`},
		{"kick", func(h *operator.Hand) { must(h.Do(operator.Kick(), 1)) }, `msg="operator: kick" job=1 tube=a`},
		{"move", func(h *operator.Hand) { must(h.Do(operator.Move("b", queue.Respect), 1)) }, `msg="operator: move" job=1 tube=a to=b`},
		{"replace", func(h *operator.Hand) {
			_, err := h.Replace(1, &queue.Insertion{Tube: "c", TTR: time.Minute, Body: []byte("new")}, queue.Respect)
			must(err)
		}, `msg="operator: replace" job=1 by_job=2 tube=c bytes=3`},
		{"pause", func(h *operator.Hand) { must(h.Pause("c", time.Minute)) }, `msg="operator: pause" tube=c seconds=60`},
		{"resume", func(h *operator.Hand) { must(h.Pause("c", 0)) }, `msg="operator: resume" tube=c`},
		{"pause of nothing", func(h *operator.Hand) {
			if err := h.Pause("none", 0); !errors.Is(err, queue.ErrNoTube) {
				t.Error(err)
			}
		}, ""},
		{"bulk", func(h *operator.Hand) {
			_, err := h.Bulk(ctx, &operator.Query{Tube: "c"}, operator.Move("d", queue.Respect))
			must(err)
		}, `msg="operator: move in bulk" tube=c found=1 done=1 to=d`},
		{"bulk of nothing", func(h *operator.Hand) {
			_, err := h.Bulk(ctx, &operator.Query{Tube: "none"}, operator.Kick())
			must(err)
		}, `msg="operator: kick in bulk" tube=none found=0 done=0`},
		{"clear", func(h *operator.Hand) {
			_, err := h.Clear(ctx, "d", queue.StatesOf(queue.Ready))
			must(err)
		}, `msg="operator: delete in bulk" tube=d found=1 done=1`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s.log.lines()
			test.do(s.By("ann\nlee"))
			want := []string{`INFO ` + test.want + ` by="ann\nlee"`}
			if test.want == "" {
				want = nil
			}
			if got := s.log.lines(); !slices.Equal(got, want) {
				t.Errorf("the log has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// TestReplace changes a job for another at one moment, or not at all.
func TestReplace(t *testing.T) {
	s := openShop(t, server.Config{MaxJobSize: 10, TubeMaxJobs: 3})
	s.fill("a", 2, nil)
	s.fill("full", 3, nil)
	in := &queue.Insertion{Tube: "a", TTR: time.Minute, Body: []byte("new")}
	replace := func(old protocol.JobID, in *queue.Insertion, hold queue.Hold, want error) protocol.JobID {
		t.Helper()
		id, err := s.hand.Replace(old, in, hold)
		if !errors.Is(err, want) {
			t.Fatalf("the replacement of job %d: %v, want %v", old, err, want)
		}
		return id
	}
	id := replace(1, in, queue.Respect, nil)
	j, err := s.Job(t.Context(), id, 10)
	if err != nil || string(j.Body) != "new" || j.Tube != "a" {
		t.Errorf("the new job is %+v, %v", j, err)
	}
	if _, err := s.Job(t.Context(), 1, 0); !errors.Is(err, queue.ErrNoJob) {
		t.Errorf("the old job is still there: %v", err)
	}
	replace(1, in, queue.Take, queue.ErrNoJob)
	replace(2, &queue.Insertion{Tube: "a", Body: letters(11)}, queue.Take, queue.ErrTooBig)
	replace(2, &queue.Insertion{Tube: "full"}, queue.Take, queue.ErrNoRoom)
	replace(2, &queue.Insertion{Tube: "-"}, queue.Take, queue.ErrBadTube)
	s.server.Drain(true)
	replace(2, in, queue.Take, queue.ErrDraining)
	s.server.Drain(false)
	// A worker gets the new one though it holds the old one.
	c := s.client()
	s.ask(c, "WATCHING", "watch a")
	s.ask(c, "RESERVED", "reserve-job 2")
	replace(2, in, queue.Respect, queue.ErrReserved)
	if got := s.state(2); got != queue.Reserved {
		t.Errorf("what was not replaced is %v", got)
	}
	s.ask(c, "RESERVED", "reserve-job %d", id)
	given := make(chan protocol.JobID, 1)
	go func() {
		r, _ := c.Ask("reserve")
		given <- r.ID()
	}()
	waitFor(t, s, 1)
	last := replace(2, in, queue.Take, nil)
	if got := <-given; got != last {
		t.Errorf("the worker gets job %d, want %d", got, last)
	}
	s.ask(c, "NOT_FOUND", "release 2 0 0")
}

// waitFor waits until so many clients wait for jobs.
func waitFor(t *testing.T, s *shop, n uint64) {
	t.Helper()
	for {
		totals, err := s.Totals()
		if err != nil {
			t.Fatal(err)
		}
		if totals.Waiting == n {
			return
		}
	}
}

// TestReplaceOnAFullDisk keeps the old job.
func TestReplaceOnAFullDisk(t *testing.T) {
	full := &brimful{Store: openStore(t, t.TempDir())}
	s := openShop(t, server.Config{Store: full})
	s.fill("a", 1, func(_ int, in *queue.Insertion) { in.Body = []byte("old") })
	if err := s.server.Operate(nothing); err != nil {
		t.Fatal(err)
	}
	full.full.Store(true)
	if _, err := s.hand.Replace(1, &queue.Insertion{Tube: "a"}, queue.Take); !errors.Is(err, queue.ErrNoRoom) {
		t.Errorf("the replacement: %v", err)
	}
	if j, err := s.Job(t.Context(), 1, 10); err != nil || string(j.Body) != "old" || j.State != queue.Ready {
		t.Errorf("the old job is %+v, %v", j, err)
	}
	if totals, err := s.Totals(); err != nil || !totals.Full {
		t.Errorf("the store is full: %v, %v", totals.Full, err)
	}
	// What needs no room for a job goes on.
	s.do(operator.Move("b", queue.Respect), 1, nil)
	s.do(operator.Alter(&queue.Alteration{Priority: ptr(protocol.Priority(1))}), 1, nil)
	s.do(operator.Delete(queue.Respect), 1, nil)
}

// TestBulk does each action to what matches, and counts what it was not done to.
func TestBulk(t *testing.T) {
	const jobs = 1000
	s := openShop(t, server.Config{})
	all := s.fill("a", jobs, func(i int, in *queue.Insertion) {
		if in.Body = []byte("even"); i%2 == 1 {
			in.Body = []byte("odd")
		}
	})
	c := s.client()
	for i := range 10 {
		s.ask(c, "RESERVED", "reserve-job %d", all[i])
	}
	bulk := func(q operator.Query, a operator.Action, want operator.Outcome) {
		t.Helper()
		got, err := s.hand.Bulk(t.Context(), &q, a)
		if got != want || err != nil {
			t.Fatalf("%v: the outcome is %+v, %v, want %+v", a, got, err, want)
		}
	}
	even := operator.Query{Tube: "a", Contains: "even"}
	bulk(even, operator.Bury(queue.Respect), operator.Outcome{Matched: 500, Done: 495, Skipped: 5})
	bulk(even, operator.Kick(), operator.Outcome{Matched: 500, Done: 495, Skipped: 5})
	bulk(operator.Query{Tube: "a"}, operator.Release(time.Hour), operator.Outcome{Matched: 1000, Done: 10, Skipped: 990})
	bulk(operator.Query{States: queue.StatesOf(queue.Delayed)}, operator.Alter(&queue.Alteration{Delay: ptr(time.Duration(0))}), operator.Outcome{Matched: 10, Done: 10})
	bulk(operator.Query{Contains: "odd"}, operator.Move("b", queue.Take), operator.Outcome{Matched: 500, Done: 500})
	bulk(operator.Query{Contains: "odd"}, operator.Move("b", queue.Take), operator.Outcome{Matched: 500, Done: 500}) // they are there
	bulk(operator.Query{Tube: "none"}, operator.Kick(), operator.Outcome{})
	s.ask(c, "NOT_FOUND", "touch %d", all[0])
	// An age is of when the jobs were looked for: they do not grow out of it.
	bulk(operator.Query{Tube: "b", YoungerThan: time.Hour}, operator.Delete(queue.Take), operator.Outcome{Matched: 500, Done: 500})
	bulk(operator.Query{}, operator.Delete(queue.Take), operator.Outcome{Matched: 500, Done: 500})
}

// TestBulkWhileOthersWork skips jobs that are no longer what was looked for.
func TestBulkWhileOthersWork(t *testing.T) {
	const jobs, taken = 1000, 20
	s := openShop(t, server.Config{})
	all := s.fill("a", jobs, nil)
	c := s.client()
	steps, next := 0, jobs
	o := s.between(func() {
		if steps++; steps > 20 && next > jobs-taken {
			next--
			s.ask(c, "RESERVED", "reserve-job %d", all[next])
			if next%2 == 0 {
				s.ask(c, "DELETED", "delete %d", all[next])
			}
		}
	})
	o.SetClock(endless())
	out, err := o.By("ann").Bulk(t.Context(), &operator.Query{Tube: "a", States: queue.StatesOf(queue.Ready)}, operator.Delete(queue.Take))
	if want := (operator.Outcome{Matched: jobs, Done: jobs - taken, Skipped: taken}); out != want || err != nil {
		t.Errorf("the outcome is %+v, %v, want %+v", out, err, want)
	}
	tube, err := s.Tube("a")
	if err != nil || tube.Jobs.Reserved != taken/2 || tube.Jobs.Ready != 0 {
		t.Errorf("left are %+v, %v", tube.Jobs, err)
	}
}

// TestBulkCancelled tells, and logs, what was done until then.
func TestBulkCancelled(t *testing.T) {
	const jobs = 1000
	s := openShop(t, server.Config{})
	s.fill("a", jobs, nil)
	ctx, cancel := context.WithCancel(t.Context())
	o := s.Operator
	o.SetClock(endless())
	go func() {
		for { // ends it once some jobs have gone
			tube, err := s.between(func() {}).Tube("a")
			if err != nil || tube.Jobs.Ready < jobs {
				cancel()
				return
			}
		}
	}()
	out, err := o.By("ann").Bulk(ctx, &operator.Query{Tube: "a"}, operator.Delete(queue.Take))
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	left := uint64(0)
	if tube, err := s.Tube("a"); err == nil {
		left = tube.Jobs.Ready
	}
	if out.Matched != jobs || out.Done == 0 || uint64(jobs-out.Done) != left {
		t.Errorf("the outcome is %+v, and %d jobs are left", out, left)
	}
	lines := s.log.lines()
	if len(lines) != 1 || !strings.Contains(lines[0], "by=ann") || strings.Contains(lines[0], "error") != (err != nil) {
		t.Errorf("the log has %q, and the error is %v", lines, err)
	}
	cancel()
}

// TestKickTube kicks the first ones in their order: buried ones, then delayed ones.
func TestKickTube(t *testing.T) {
	s := openShop(t, server.Config{})
	s.fill("a", 6, func(i int, in *queue.Insertion) {
		if i >= 3 {
			in.Delay = time.Duration(100-i) * time.Hour
		}
	})
	for _, id := range []protocol.JobID{2, 3, 1} {
		s.do(operator.Bury(queue.Respect), id, nil)
	}
	c := s.client()
	s.ask(c, "WATCHING", "watch a")
	expect := func(n int, want ...protocol.JobID) {
		t.Helper()
		out, err := s.hand.KickTube(t.Context(), "a", n)
		if err != nil || out != (operator.Outcome{Matched: len(want), Done: len(want)}) {
			t.Fatalf("the outcome is %+v, %v", out, err)
		}
		var got []protocol.JobID
		for range want {
			r := s.ask(c, "RESERVED", "reserve-with-timeout 0")
			got = append(got, r.ID())
		}
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Fatalf("kicked were %v, want %v", got, want)
		}
	}
	expect(0)
	expect(2, 2, 3)
	expect(9, 1) // not the delayed ones too
	expect(2, 5, 6)
	expect(2, 4)
	expect(2)
	if _, err := s.hand.KickTube(t.Context(), "none", 1); !errors.Is(err, queue.ErrNoTube) {
		t.Errorf("a kick of no tube: %v", err)
	}
	if out, err := s.hand.Clear(t.Context(), "a", queue.StatesOf(queue.Reserved)); err != nil || out.Done != 6 {
		t.Errorf("cleared: %+v, %v", out, err)
	}
	s.ask(c, "NOT_FOUND", "delete 1")
}

// TestClear deletes what is in some states, and in no other tube.
func TestClear(t *testing.T) {
	s := openShop(t, server.Config{})
	c := s.client()
	s.ask(c, "USING", "use a") // so that the tube stays
	fill := func() {
		ids := s.fill("a", 40, func(i int, in *queue.Insertion) {
			if i < 10 {
				in.Delay = time.Hour
			}
		})
		for i := range 10 {
			s.ask(c, "RESERVED", "reserve-job %d", ids[10+i])
			s.do(operator.Bury(queue.Respect), ids[20+i], nil)
		}
	}
	s.fill("other", 5, nil)
	for _, states := range [][]queue.State{{queue.Delayed}, {queue.Reserved}, {queue.Buried}, {queue.Ready}, {queue.Ready, queue.Buried}, {}} {
		if _, err := s.hand.Clear(t.Context(), "a", 0); err != nil {
			t.Fatal(err)
		}
		fill()
		want := 10 * len(states)
		if len(states) == 0 {
			want = 40
		}
		out, err := s.hand.Clear(t.Context(), "a", queue.StatesOf(states...))
		if err != nil || out != (operator.Outcome{Matched: want, Done: want}) {
			t.Errorf("clearing %v: %+v, %v", states, out, err)
		}
		if n, err := s.Count(t.Context(), &operator.Query{Tube: "a"}); n != 40-want || err != nil {
			t.Errorf("after clearing %v there are %d jobs, want %d: %v", states, n, 40-want, err)
		}
	}
	if n, err := s.Count(t.Context(), &operator.Query{}); n != 5 || err != nil {
		t.Errorf("in other tubes there are %d jobs, want 5: %v", n, err)
	}
	if _, err := s.hand.Clear(t.Context(), "none", 0); !errors.Is(err, queue.ErrNoTube) {
		t.Errorf("clearing no tube: %v", err)
	}
}

// TestMoveToAFullTube moves as many as there is room for.
func TestMoveToAFullTube(t *testing.T) {
	s := openShop(t, server.Config{TubeMaxJobs: 10})
	s.fill("a", 10, nil)
	s.fill("b", 4, nil)
	out, err := s.hand.Bulk(t.Context(), &operator.Query{Tube: "a"}, operator.Move("b", queue.Respect))
	if out != (operator.Outcome{Matched: 10, Done: 6, Skipped: 4}) || err != nil {
		t.Errorf("the outcome is %+v, %v", out, err)
	}
	s.do(operator.Move("b", queue.Respect), 10, queue.ErrNoRoom)
	s.do(operator.Move("a", queue.Respect), 10, nil) // where it is
	s.do(operator.Move("-", queue.Respect), 10, queue.ErrBadTube)
}
