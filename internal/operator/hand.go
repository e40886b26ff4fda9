package operator

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/haricotq/haricot/internal/engine"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// Hand changes what an operator finds. Every change is safe when a call
// returns, and has a line in the log that says whose hand it was.
type Hand struct {
	*Operator
	who string
}

// By is the hand of somebody, named for the log.
func (o *Operator) By(who string) *Hand { return &Hand{o, who} }

// log notes a change.
func (h *Hand) log(action string, attrs ...any) {
	h.logger.Info("operator: "+action, append(attrs, "by", h.who)...) //nolint:sloglint // one of a few constants
}

// Put puts a job and returns its id, or queue.ErrTooBig, ErrDraining,
// ErrBadTube or ErrNoRoom.
func (h *Hand) Put(in *queue.Insertion) (id protocol.JobID, err error) {
	if doorErr := h.door.Operate(func(t *engine.Turn) { id, err = t.Insert(t.Now, in) }); doorErr != nil {
		return 0, doorErr
	}
	if err == nil {
		h.log("put", "tube", in.Tube, "job", uint64(id), "bytes", len(in.Body))
	}
	return id, err
}

// Replace puts a job in place of another, which is deleted at the same moment,
// and returns the id of the new one. Besides Put's errors it returns
// queue.ErrNoJob and queue.ErrReserved.
func (h *Hand) Replace(old protocol.JobID, in *queue.Insertion, hold queue.Hold) (id protocol.JobID, err error) {
	doorErr := h.door.Operate(func(t *engine.Turn) {
		v, ok := t.Job(old)
		switch {
		case !ok:
			err = queue.ErrNoJob
			return
		case v.State == queue.Reserved && hold == queue.Respect:
			err = queue.ErrReserved
			return
		}
		if id, err = t.Insert(t.Now, in); err == nil {
			// The new job may have gone to a client, which cannot touch the old.
			err = t.Remove(old, hold)
		}
	})
	if doorErr != nil {
		return 0, doorErr
	}
	if err == nil {
		h.log("replace", "job", uint64(old), "by_job", uint64(id), "tube", in.Tube, "bytes", len(in.Body))
	}
	return id, err
}

// Action is what can be done to a job.
type Action struct {
	verb  string
	attrs []any
	do    func(*engine.Turn, protocol.JobID) error
}

// String returns the action's name.
func (a Action) String() string { return a.verb }

// Delete deletes jobs.
func Delete(hold queue.Hold) Action {
	return Action{"delete", nil, func(t *engine.Turn, id protocol.JobID) error { return t.Remove(id, hold) }}
}

// Kick makes buried and delayed jobs ready.
func Kick() Action {
	return Action{"kick", nil, func(t *engine.Turn, id protocol.JobID) error { return t.Kick(t.Now, id) }}
}

// Bury buries jobs.
func Bury(hold queue.Hold) Action {
	return Action{"bury", nil, func(t *engine.Turn, id protocol.JobID) error { return t.Bury(id, hold) }}
}

// Release takes jobs from the clients that hold them and makes them ready, or
// ready after a delay.
func Release(delay time.Duration) Action {
	return Action{"release", []any{"delay", delay}, func(t *engine.Turn, id protocol.JobID) error {
		return t.GiveBack(t.Now, id, delay)
	}}
}

// Move brings jobs into another tube; they keep their ids.
func Move(tube string, hold queue.Hold) Action {
	return Action{"move", []any{"to", tube}, func(t *engine.Turn, id protocol.JobID) error {
		return t.Move(t.Now, id, tube, hold)
	}}
}

// Alter changes jobs that nobody holds.
func Alter(a *queue.Alteration) Action {
	var attrs []any
	if a.Priority != nil {
		attrs = append(attrs, "pri", uint32(*a.Priority))
	}
	if a.Delay != nil {
		attrs = append(attrs, "delay", *a.Delay)
	}
	if a.TTR != nil {
		attrs = append(attrs, "ttr", *a.TTR)
	}
	return Action{"alter", attrs, func(t *engine.Turn, id protocol.JobID) error { return t.Alter(t.Now, id, a) }}
}

// Do does something to one job. It returns the queue's errors for operators.
func (h *Hand) Do(a Action, id protocol.JobID) (err error) {
	var tube string
	doorErr := h.door.Operate(func(t *engine.Turn) {
		v, _ := t.Job(id)
		tube = v.Tube
		err = a.do(t, id)
	})
	if doorErr != nil {
		return doorErr
	}
	if err == nil {
		h.log(a.verb, slices.Concat([]any{"job", uint64(id), "tube", tube}, a.attrs)...)
	}
	return err
}

// Outcome is what has come of an action on many jobs.
type Outcome struct {
	Matched int // jobs that were found
	Done    int // jobs to which it was done
	// Skipped are jobs that were found and had gone, or were no longer what was
	// looked for, or to which the action does not apply, when their turn came.
	Skipped int
}

// Count tells how many jobs a query finds.
func (o *Operator) Count(ctx context.Context, q *Query) (int, error) {
	n := 0
	s := searcher{Operator: o, query: q}
	err := s.each(ctx, func(protocol.JobID) (bool, error) { n++; return true, nil })
	return n, err
}

// Bulk does something to every job that a query finds when the call begins. If
// the context ends before that, the outcome is of what was done until then.
func (h *Hand) Bulk(ctx context.Context, q *Query, a Action) (Outcome, error) {
	ids, _, err := h.Matching(ctx, q, math.MaxInt)
	if err != nil {
		return Outcome{}, err
	}
	return h.each(ctx, ids, q, a)
}

// each does something to jobs that a query has found.
func (h *Hand) each(ctx context.Context, ids []protocol.JobID, q *Query, a Action) (Outcome, error) {
	out := Outcome{Matched: len(ids)}
	err := h.inSteps(ctx, func(t *engine.Turn) bool {
		selection := q.selection(t.Now)
		selection.Newest, selection.Oldest = 0, 0 // a job does not grow out of them
		n := min(len(ids), actPortion)
		for _, id := range ids[:n] {
			if t.Selects(id, &selection) && a.do(t, id) == nil {
				out.Done++
			} else {
				out.Skipped++
			}
		}
		ids = ids[n:]
		return len(ids) > 0
	})
	if out.Done > 0 || err == nil {
		attrs := slices.Concat([]any{"tube", q.Tube, "found", out.Matched, "done", out.Done}, a.attrs)
		if err != nil {
			attrs = append(attrs, "error", err)
		}
		h.log(a.verb+" in bulk", attrs...)
	}
	return out, err
}

// actPortion is how many jobs are changed between looks at the clock.
const actPortion = 8

// KickTube makes up to n jobs of a tube ready: the first buried ones if there
// are any, else the delayed ones that are due first.
func (h *Hand) KickTube(ctx context.Context, tube string, n int) (Outcome, error) {
	t, err := h.Tube(tube)
	if err != nil {
		return Outcome{}, err
	}
	state := queue.Delayed
	if t.Jobs.Buried > 0 {
		state = queue.Buried
	}
	first, err := h.first(ctx, &PageRequest{Tube: tube, State: state, Limit: n})
	if err != nil {
		return Outcome{}, err
	}
	ids := make([]protocol.JobID, 0, len(first))
	for _, rank := range first[:min(n, len(first))] {
		ids = append(ids, rank.ID)
	}
	return h.each(ctx, ids, &Query{Tube: tube, States: queue.StatesOf(state)}, Kick())
}

// Clear deletes all jobs of a tube in some states. Reserved ones are taken from
// the clients that hold them.
func (h *Hand) Clear(ctx context.Context, tube string, states queue.States) (Outcome, error) {
	if _, err := h.Tube(tube); err != nil {
		return Outcome{}, err
	}
	return h.Bulk(ctx, &Query{Tube: tube, States: states}, Delete(queue.Take))
}

// Pause has a tube give out no jobs for a time, in whole seconds; 0 ends a
// pause. It returns queue.ErrNoTube if there is no such tube.
func (h *Hand) Pause(tube string, length time.Duration) (err error) {
	if doorErr := h.door.Operate(func(t *engine.Turn) { err = t.Pause(t.Now, tube, length) }); doorErr != nil {
		return doorErr
	}
	switch {
	case err != nil:
	case length == 0:
		h.log("resume", "tube", tube)
	default:
		h.log("pause", "tube", tube, "seconds", int(length/time.Second))
	}
	return err
}
