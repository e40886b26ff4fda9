package operator

import (
	"context"

	"github.com/haricotq/haricot/internal/engine"
	"github.com/haricotq/haricot/internal/queue"
)

// Spot is a place in a list of jobs, for who goes through it job by job.
type Spot struct {
	// Before and After are how many jobs are before the place and behind its job.
	Before, After int
	// At is the job at the place, or the first behind it if that has gone.
	At    queue.Rank
	Found bool // there is such a job
	// Previous and Next are its neighbours, the zero value if there is none.
	Previous, Next queue.Rank
}

// Spot looks at a place in the list that Page goes through, of one tube, or of
// all if the name is empty; ranks of buried jobs of all tubes are in one order.
// The zero value of at is the start.
func (o *Operator) Spot(ctx context.Context, tube string, state queue.State, at queue.Rank) (s Spot, err error) {
	selection := queue.Selection{Tube: tube, States: queue.StatesOf(state)}
	position, behind := queue.Position(0), 0
	err = o.inSteps(ctx, func(t *engine.Turn) bool {
		position = t.Walk(position, portion, &selection, func(_ queue.Position, rank queue.Rank) {
			if rank.Before(at) {
				if s.Before++; s.Previous.Before(rank) {
					s.Previous = rank
				}
				return
			}
			switch behind++; {
			case behind == 1:
				s.At = rank
			case rank.Before(s.At):
				s.At, s.Next = rank, s.At
			case s.Next.ID == 0 || rank.Before(s.Next):
				s.Next = rank
			}
		})
		return position != 0
	})
	s.Found, s.After = behind > 0, max(0, behind-1)
	return s, err
}
