package client

import (
	"context"
	"sync"
)

// A gate keeps the limits of tubes among the slots of one server.
//
// A slot that reserves cannot know of which tube the job will be, so it takes a
// place in each tube before it watches it, and gives back the others when it
// has the job. So there are never more slots watching or handling a tube than it
// has places.
type gate struct {
	tubes []*handledTube

	mu    sync.Mutex // held for moments
	taken map[*handledTube]int
	freed chan struct{} // closed, and made anew, when a place becomes free
}

func newGate(tubes []*handledTube) *gate {
	return &gate{tubes: tubes, taken: make(map[*handledTube]int), freed: make(chan struct{})}
}

// enter takes a place in each tube that has one, and waits until there is at least
// one. all tells whether each had one.
func (g *gate) enter(ctx context.Context) (in []*handledTube, all bool) {
	for {
		g.mu.Lock()
		for _, t := range g.tubes {
			if limit := t.settings.Concurrency; limit <= 0 || g.taken[t] < limit {
				g.taken[t]++
				in = append(in, t)
			}
		}
		freed := g.freed
		g.mu.Unlock()
		if len(in) > 0 {
			return in, len(in) == len(g.tubes)
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, false
		}
	}
}

// leave gives back the places in all tubes but one, which may be nil.
func (g *gate) leave(in []*handledTube, except *handledTube) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, t := range in {
		if t != except {
			g.taken[t]--
		}
	}
	close(g.freed)
	g.freed = make(chan struct{})
}
