package operator_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/queue"
	"github.com/haricotq/haricot/internal/server"
)

// slow is an operator whose looks at the clock take a quarter of a step each: so
// each step has four portions, whatever the machine. It returns the number of
// steps since the last call.
func (s *shop) slow() (o *operator.Operator, taken func() int) {
	now := time.Unix(0, 0)
	door := &counted{Door: s.server}
	o = operator.New(door, slog.New(slog.DiscardHandler))
	o.SetClock(func() time.Time {
		now = now.Add(operator.StepTime / 4)
		return now
	})
	return o, func() int { return int(door.steps.Swap(0)) }
}

// perStep is how many portions a step of a slow operator has.
const perStep = 4

// TestStepsAreShort counts the steps of everything that goes through much: so
// many records, so many steps.
func TestStepsAreShort(t *testing.T) {
	const jobs, tubes = 60_000, 3000
	s := openShop(t, server.Config{})
	s.fill("many", jobs, func(i int, in *queue.Insertion) { in.Delay = time.Hour })
	for i := range tubes {
		s.fill(fmt.Sprintf("t%d", i), 1, nil)
	}
	o, taken := s.slow()
	ctx := t.Context()
	expect := func(what string, err error, records, portion int) {
		t.Helper()
		steps, want := taken(), records/(perStep*portion)
		if err != nil || steps < want {
			t.Errorf("%s took %d steps, want at least %d: %v", what, steps, want, err)
		}
		if steps > 2*want+100 {
			t.Errorf("%s took %d steps, far more than %d", what, steps, want)
		}
	}
	_, err := o.Page(ctx, &operator.PageRequest{Tube: "many", State: queue.Delayed, Limit: 10})
	expect("a page", err, jobs, operator.Portion)
	n, err := o.Count(ctx, &operator.Query{Tube: "many"})
	if n != jobs {
		t.Errorf("%d jobs were counted, of %d", n, jobs)
	}
	expect("a count", err, jobs, operator.Portion)
	n, err = o.Count(ctx, &operator.Query{Tube: "many", Contains: "nothing"})
	if n != 0 {
		t.Errorf("%d empty bodies have something", n)
	}
	expect("a search", err, jobs, operator.Portion)
	n = 0
	err = o.Tubes(ctx, func(*operator.Tube) { n++ })
	if n != tubes+2 {
		t.Errorf("%d tubes were met, of %d", n, tubes+2)
	}
	expect("a pass over tubes", err, tubes, operator.Portion)
	out, err := o.By("ann").Bulk(ctx, &operator.Query{Tube: "many"}, operator.Delete(queue.Take))
	if out != (operator.Outcome{Matched: jobs, Done: jobs}) {
		t.Errorf("the outcome is %+v", out)
	}
	expect("a bulk call", err, jobs, operator.ActPortion)
}

// TestStepsOfBodies copies a large body in several steps, and the bodies of many
// jobs no more at a time than there is room for.
func TestStepsOfBodies(t *testing.T) {
	const size = 5 << 20
	s := openShop(t, server.Config{MaxJobSize: size})
	s.fill("large", 1, func(_ int, in *queue.Insertion) { in.Body = letters(size) })
	o, taken := s.slow()
	j, err := o.Job(t.Context(), 1, size)
	if steps, want := taken(), size/operator.BodyStep/perStep; err != nil || len(j.Body) != size || steps < want {
		t.Errorf("%d bytes were copied in %d steps, want at least %d: %v", len(j.Body), steps, want, err)
	}
	// Of 1500 bytes 43 bodies fit into a step.
	const jobs = 4300
	s.fill("small", jobs, func(_ int, in *queue.Insertion) { in.Body = letters(1500) })
	n, err := o.Count(t.Context(), &operator.Query{Tube: "small", Contains: "abc"})
	if steps := taken(); err != nil || n != jobs || steps < jobs/43 || steps > jobs/43+200 {
		t.Errorf("%d jobs were found in %d steps, want %d in about %d: %v", n, steps, jobs, jobs/43, err)
	}
}

// letters is a body of a size.
func letters(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(i%26)
	}
	return b
}

// TestCancelled ends everything between two steps.
func TestCancelled(t *testing.T) {
	const jobs = 20_000
	s := openShop(t, server.Config{})
	s.fill("many", jobs, nil)
	calls := map[string]func(ctx context.Context, o *operator.Operator) error{
		"page": func(ctx context.Context, o *operator.Operator) error {
			_, err := o.Page(ctx, &operator.PageRequest{Tube: "many", State: queue.Ready, Limit: 10})
			return err
		},
		"count": func(ctx context.Context, o *operator.Operator) error {
			_, err := o.Count(ctx, &operator.Query{})
			return err
		},
		"search": func(ctx context.Context, o *operator.Operator) error {
			_, err := o.Search(ctx, &operator.SearchRequest{Limit: jobs, Patience: time.Hour, Query: operator.Query{Contains: "x"}})
			return err
		},
		"tubes": func(ctx context.Context, o *operator.Operator) error { return o.Tubes(ctx, func(*operator.Tube) {}) },
		"connections": func(ctx context.Context, o *operator.Operator) error {
			return o.Connections(ctx, func(*operator.Connection) {})
		},
		"clear": func(ctx context.Context, o *operator.Operator) error {
			_, err := o.By("ann").Clear(ctx, "many", queue.StatesOf(queue.Buried))
			return err
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			steps := 0
			o := s.between(func() {
				if steps++; steps == 2 {
					cancel()
				}
			})
			o.SetClock(endless())
			if name == "tubes" || name == "connections" {
				cancel() // they have one step only
			}
			if err := call(ctx, o); !errors.Is(err, context.Canceled) {
				t.Errorf("it ends with %v", err)
			}
			cancel()
			if steps > 2 {
				t.Errorf("it took %d steps more", steps-2)
			}
		})
	}
}

// endless is a clock that has each step end after its first portion.
func endless() func() time.Time {
	now := time.Unix(0, 0)
	return func() time.Time {
		now = now.Add(operator.StepTime - 1)
		return now
	}
}

// TestStopped tells everybody that the server has stopped.
func TestStopped(t *testing.T) {
	s := openShop(t, server.Config{})
	s.fill("a", 1, nil)
	s.close()
	ctx, h := t.Context(), s.hand
	errs := map[string]error{}
	_, errs["totals"] = s.Totals()
	_, errs["tube"] = s.Tube("a")
	errs["tubes"] = s.Tubes(ctx, func(*operator.Tube) {})
	errs["connections"] = s.Connections(ctx, func(*operator.Connection) {})
	_, _, errs["connection"] = s.Connection(1)
	_, errs["job"] = s.Job(ctx, 1, 1)
	_, errs["page"] = s.Page(ctx, &operator.PageRequest{Tube: "a", State: queue.Ready, Limit: 1})
	_, errs["search"] = s.Search(ctx, &operator.SearchRequest{Limit: 1, Patience: time.Second})
	_, errs["search for one"] = s.Search(ctx, &operator.SearchRequest{Limit: 1, Query: operator.Query{Job: 1}})
	_, errs["count"] = s.Count(ctx, &operator.Query{})
	_, errs["put"] = h.Put(&queue.Insertion{Tube: "a"})
	_, errs["replace"] = h.Replace(1, &queue.Insertion{Tube: "a"}, queue.Take)
	errs["do"] = h.Do(operator.Delete(queue.Take), 1)
	_, errs["bulk"] = h.Bulk(ctx, &operator.Query{}, operator.Kick())
	_, errs["kick"] = h.KickTube(ctx, "a", 1)
	_, errs["clear"] = h.Clear(ctx, "a", 0)
	errs["pause"] = h.Pause("a", time.Second)
	for name, err := range errs {
		if !errors.Is(err, server.ErrStopped) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if lines := s.log.lines(); len(lines) > 0 {
		t.Errorf("nothing was done and %q is in the log", lines)
	}
}

// TestLateSteps: a thread can be left waiting between any two looks at the clock.
// Every step does something all the same, and nothing is passed over.
func TestLateSteps(t *testing.T) {
	s := openShop(t, server.Config{})
	s.fill("many", 1000, nil)
	o, now := operator.New(s.server, slog.New(slog.DiscardHandler)), time.Unix(0, 0)
	o.SetClock(func() time.Time {
		now = now.Add(2 * operator.StepTime)
		return now
	})
	for _, q := range []operator.Query{{}, {Tube: "many"}, {Tube: "many", MinTries: 1}} {
		want := 1000
		if q.MinTries > 0 {
			want = 0
		}
		if n, err := o.Count(t.Context(), &q); n != want || err != nil {
			t.Errorf("%+v finds %d jobs, want %d: %v", q, n, want, err)
		}
	}
	out, err := o.By("ann").Bulk(t.Context(), &operator.Query{Tube: "many"}, operator.Delete(queue.Respect))
	if out != (operator.Outcome{Matched: 1000, Done: 1000}) || err != nil {
		t.Errorf("%+v, %v", out, err)
	}
}
