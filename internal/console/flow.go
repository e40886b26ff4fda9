package console

import (
	"sync"
	"time"

	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/queue"
)

// flow is how many jobs come and go in a second.
type flow struct {
	In, Out float64
	Known   bool
}

// flows tells the flow of tubes by comparing the last times that somebody has
// looked at them. Of a tube at which nobody has looked lately nothing is known,
// and nothing is kept.
type flows struct {
	mutex sync.Mutex
	seen  map[string]*sightings
	swept queue.Instant
}

const (
	// flowSpan is the shortest time over which a flow is measured.
	flowSpan = 2 * time.Second
	// flowMemory is the longest.
	flowMemory = time.Minute
)

// sightings are the last two of a tube that are flowSpan apart.
type sightings struct{ last, before tally }

// tally is what has been counted of a tube up to a moment.
type tally struct {
	at            queue.Instant
	puts, deletes uint64
}

// note looks at a tube and tells its flow.
func (f *flows) note(t *operator.Tube) flow {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.sweep(t.Now)
	now := tally{t.Now, t.Done[queue.Puts], t.Done[queue.Deletes]}
	s := f.seen[t.Name]
	if s == nil {
		f.seen[t.Name] = &sightings{last: now}
		return flow{}
	}
	if time.Duration(now.at-s.last.at) >= flowSpan {
		s.before, s.last = s.last, now
	}
	return s.before.until(now)
}

// until is the flow between two tallies. A tube that has gone and come again
// begins anew.
func (t tally) until(now tally) flow {
	passed := time.Duration(now.at - t.at)
	if t.at == 0 || passed <= 0 || passed > flowMemory || now.puts < t.puts || now.deletes < t.deletes {
		return flow{}
	}
	return flow{float64(now.puts-t.puts) / passed.Seconds(), float64(now.deletes-t.deletes) / passed.Seconds(), true}
}

// sweep forgets the tubes at which nobody has looked lately.
func (f *flows) sweep(now queue.Instant) {
	if f.seen == nil {
		f.seen = make(map[string]*sightings)
	}
	if time.Duration(now-f.swept) < flowMemory {
		return
	}
	f.swept = now
	for name, s := range f.seen {
		if time.Duration(now-s.last.at) > flowMemory {
			delete(f.seen, name)
		}
	}
}
