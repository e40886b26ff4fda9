package operator

import (
	"container/heap"
	"context"
	"errors"
	"slices"

	"github.com/haricotq/haricot/internal/engine"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// Job is a job as it was at a moment.
type Job struct {
	queue.JobView
	Now queue.Instant
	// Body is the body, or as much of its beginning as was asked for.
	Body []byte
	// Unreadable is why the store cannot read the body.
	Unreadable error
}

// Truncated tells whether there is more of the body.
func (j *Job) Truncated() bool { return len(j.Body) < int(j.Size) }

// bodyStep is how much of a body is copied in a step.
const bodyStep = 64 << 10

// Job looks at a job, with at most limit bytes of its body. It returns
// queue.ErrNoJob if it is not there, or goes while its body is read.
func (o *Operator) Job(ctx context.Context, id protocol.JobID, limit int) (*Job, error) {
	var j *Job
	var load chan loaded
	err := o.inSteps(ctx, func(t *engine.Turn) bool {
		v, ok := t.Job(id)
		if !ok {
			j, load = nil, nil
			return false
		}
		if j == nil {
			j = &Job{JobView: v, Now: t.Now}
		}
		size := min(limit, int(v.Size))
		if len(j.Body) == size {
			return false
		}
		if v.Away {
			load = make(chan loaded, 1)
			t.Load(&v, func(body []byte, err error) { load <- loaded{body, err} })
			return false
		}
		if j.Body == nil {
			j.Body = make([]byte, 0, size)
		}
		from := len(j.Body)
		n := t.Body(id, from, j.Body[from:min(from+bodyStep, size)])
		j.Body = j.Body[:from+n]
		return true
	})
	if err == nil && j == nil {
		err = queue.ErrNoJob
	}
	if err != nil {
		return nil, err
	}
	if load != nil {
		select {
		case l := <-load:
			j.Unreadable = l.err
			j.Body = l.body[:min(limit, len(l.body))]
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return j, nil
}

// loaded is a body out of the store.
type loaded struct {
	body []byte
	err  error
}

// PageRequest says which jobs of one tube and state are wanted.
type PageRequest struct {
	Tube  string
	State queue.State
	// After is the rank of the last job of the page before; the zero value is
	// the start.
	After queue.Rank
	Limit int // at least 1
	// BodyLimit is how many bytes of each body are wanted.
	BodyLimit int
}

// Page is a page of a list of jobs.
type Page struct {
	Jobs []*Job
	// Next is where the next page begins, if there is More.
	Next queue.Rank
	More bool
}

// Page lists jobs of a tube in their order: ready ones as they will be given
// out, delayed ones by when they are due, reserved ones by when their time is up,
// buried ones by when they were buried. Jobs that go while it is made are left
// out. It returns queue.ErrNoTube if there is no such tube.
func (o *Operator) Page(ctx context.Context, r *PageRequest) (*Page, error) {
	if _, err := o.Tube(r.Tube); err != nil {
		return nil, err
	}
	first, err := o.first(ctx, r)
	if err != nil {
		return nil, err
	}
	p := &Page{}
	if p.More = len(first) > r.Limit; p.More {
		first = first[:r.Limit]
		p.Next = first[len(first)-1]
	}
	for _, rank := range first {
		j, err := o.Job(ctx, rank.ID, r.BodyLimit)
		switch {
		case errors.Is(err, queue.ErrNoJob):
		case err != nil:
			return nil, err
		case j.State == r.State && j.Tube == r.Tube:
			p.Jobs = append(p.Jobs, j)
		}
	}
	return p, nil
}

// first finds the first jobs after a rank, one more than the limit.
func (o *Operator) first(ctx context.Context, r *PageRequest) (ranks, error) {
	selection := queue.Selection{Tube: r.Tube, States: queue.StatesOf(r.State)}
	var found ranks // a heap whose top is the last
	at := queue.Position(0)
	err := o.inSteps(ctx, func(t *engine.Turn) bool {
		at = t.Walk(at, portion, &selection, func(_ queue.Position, rank queue.Rank) {
			switch {
			case !r.After.Before(rank):
			case len(found) <= r.Limit:
				heap.Push(&found, rank)
			case rank.Before(found[0]):
				found[0] = rank
				heap.Fix(&found, 0)
			}
		})
		return at != 0
	})
	slices.SortFunc(found, func(a, b queue.Rank) int {
		if a.Before(b) {
			return -1
		}
		return 1
	})
	return found, err
}

// ranks is a heap for package heap, the last in order on top.
type ranks []queue.Rank

func (r *ranks) Len() int           { return len(*r) }
func (r *ranks) Less(i, k int) bool { return (*r)[k].Before((*r)[i]) }
func (r *ranks) Swap(i, k int)      { (*r)[i], (*r)[k] = (*r)[k], (*r)[i] }

// Push adds a rank, for package heap.
func (r *ranks) Push(x any) {
	rank, _ := x.(queue.Rank) // only first pushes
	*r = append(*r, rank)
}

// Pop removes the last in order, for package heap.
func (r *ranks) Pop() any {
	last := len(*r) - 1
	x := (*r)[last]
	*r = (*r)[:last]
	return x
}
