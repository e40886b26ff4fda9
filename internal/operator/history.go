package operator

import (
	"context"
	"sync"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// Sample is the server at a moment, for charts. Counts grow from the start on;
// two samples make a rate.
type Sample struct {
	At     time.Time
	Jobs   protocol.JobCounts
	Done   queue.Counts
	Oldest time.Duration // how long the oldest ready job is ready
	// Busy is the share of the time since the sample before in which the loop
	// worked, 0 to 1.
	Busy        float64
	Connections uint64
	Workers     uint64
	Waiting     uint64
	Memory      int64 // bytes in use for jobs
	busy        time.Duration
}

const (
	// sampleEvery is the time between samples.
	sampleEvery = time.Second
	// sampleCount is how many are kept: an hour.
	sampleCount = 3600
)

// History takes samples of a server and keeps those of the last hour.
type History struct {
	operator *Operator

	mutex   sync.Mutex
	samples []Sample // a ring once it is full
	next    int
	subs    map[chan Sample]struct{}
}

// NewHistory makes a history; Run fills it.
func NewHistory(o *Operator) *History {
	return &History{operator: o, subs: make(map[chan Sample]struct{})}
}

// Run takes a sample each second until the context ends, or the server.
func (h *History) Run(ctx context.Context) {
	ticker := time.NewTicker(sampleEvery)
	defer ticker.Stop()
	var last *Sample
	for {
		t, err := h.operator.Totals()
		if err != nil {
			return
		}
		s := sample(&t, last)
		h.add(s)
		last = &s
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func sample(t *Totals, last *Sample) Sample {
	s := Sample{
		At: Time(t.Now), Jobs: t.Jobs, Done: t.Done, Oldest: t.OldestReady(), Connections: t.Connections,
		Workers: t.Workers, Waiting: t.Waiting, Memory: t.Memory, busy: t.Workload.Busy,
	}
	if last != nil {
		if passed := s.At.Sub(last.At); passed > 0 {
			s.Busy = min(1, float64(s.busy-last.busy)/float64(passed))
		}
	}
	return s
}

func (h *History) add(s Sample) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if len(h.samples) < sampleCount {
		h.samples = append(h.samples, s)
	} else {
		h.samples[h.next] = s
		h.next = (h.next + 1) % sampleCount
	}
	for sub := range h.subs {
		select {
		case sub <- s:
		default: // a watcher that is slow misses samples
		}
	}
}

// Samples returns what is kept, the oldest first.
func (h *History) Samples() []Sample {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return append(append(make([]Sample, 0, len(h.samples)), h.samples[h.next:]...), h.samples[:h.next]...)
}

// Watch returns a channel of the samples to come, and what ends it. A watcher
// that does not keep up misses some.
func (h *History) Watch() (samples <-chan Sample, stop func()) {
	sub := make(chan Sample, 4)
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.subs[sub] = struct{}{}
	return sub, func() {
		h.mutex.Lock()
		defer h.mutex.Unlock()
		delete(h.subs, sub)
	}
}
