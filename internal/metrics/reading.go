package metrics

import (
	"context"
	"errors"
	"time"

	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/queue"
)

// reading is what a scrape has read off a server.
type reading struct {
	server server
	store  *Durability // nil if there is none
	tubes  []operator.Tube
}

// server is the server as a whole.
type server struct {
	operator.Totals
	// Started is when its clock began. It is the same in every scrape.
	Started time.Time
	// LeftOut is how many tubes have no metrics of their own because others
	// have taken all places.
	LeftOut int
}

// durable tells whether there is a store.
func (s *server) durable() bool { return s.Process.Log.File != 0 }

// read reads the server.
func (h *handler) read(ctx context.Context) (*reading, error) {
	totals, err := h.operator.Totals()
	if err != nil {
		return nil, err
	}
	if h.started.IsZero() {
		h.started = operator.Time(totals.Now).Add(-totals.Process.Uptime)
	}
	r := &reading{server: server{Totals: totals, Started: h.started}}
	if err := h.readTubes(ctx, r); err != nil {
		return nil, err
	}
	if h.config.Store != nil {
		measured := h.config.Store()
		r.store = &measured
	}
	return r, nil
}

// readTubes reads the tubes that have metrics of their own. In the loop it only
// looks for those; whether others shall have some is found out beside it, for a
// regular expression can take long.
func (h *handler) readTubes(ctx context.Context, r *reading) error {
	r.tubes = make([]operator.Tube, 0, len(h.roster.places))
	others := make([]string, 0, r.server.Tubes)
	h.roster.begin()
	err := h.operator.TubesInLoop(ctx, func(t *operator.Tube) {
		switch h.roster.meet(t.Name) {
		case placeless:
			others = append(others, t.Name)
		case placed:
			kept := *t
			kept.Waits, kept.Runs = t.Wait(), t.Run()
			r.tubes = append(r.tubes, kept)
		case metAgain:
		}
	})
	if err != nil {
		return err
	}
	h.roster.end()
	for _, name := range others {
		if err := h.readOther(ctx, r, name); err != nil {
			return err
		}
	}
	return nil
}

// readOther reads a tube that has had no metrics so far, if it shall have some.
func (h *handler) readOther(ctx context.Context, r *reading, name string) error {
	switch {
	case h.config.Tubes != nil && !h.config.Tubes.MatchString(name):
		return nil
	case h.roster.meet(name) != placeless:
		return nil // it has gone and was made again during the pass
	case !h.roster.admit(name):
		r.server.LeftOut++
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	t, err := h.operator.Tube(name)
	switch {
	case errors.Is(err, queue.ErrNoTube): // gone meanwhile
	case err != nil:
		return err
	default:
		r.tubes = append(r.tubes, t)
	}
	return nil
}
