package engine

import (
	"time"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// Turn is the queue in the hands of an operator, for a step within a turn.
// Nothing of it may be kept, and a step must be short: everybody waits for it.
type Turn struct {
	*queue.Machine
	Now    queue.Instant
	engine *Engine
}

// Operate carries out an operator's step. done is called when what it changed
// is safe, at the end of the turn; never, if the commit fails.
func (e *Engine) Operate(step func(*Turn), done func()) {
	step(&Turn{e.machine, e.now, e})
	e.route()
	e.told = append(e.told, done)
}

// Peer tells who a client is, and since when it is connected.
func (t *Turn) Peer(id queue.ClientID) (p Peer, since queue.Instant) {
	s := t.engine.sessions[id]
	if s == nil {
		return p, 0
	}
	return s.conn.Peer(), s.opened
}

// Process returns the part of stats that the queue does not know.
func (t *Turn) Process() protocol.ProcessStats { return t.engine.config.Process() }

// Load reads the body of a job that is in the store only, as it is now, and
// calls done with it from another goroutine.
func (t *Turn) Load(v *queue.JobView, done func(body []byte, err error)) {
	t.engine.config.Store.Load(v.ID, v.Size, done)
}

// Workload returns what the engine has done so far.
func (t *Turn) Workload() Workload { return t.engine.workload }

// Workload is how much a loop has done since the start. What has to do with
// commits is counted while the engine is observed.
type Workload struct {
	Turns uint64
	// Busy is the time in turns. The rest was waiting for something to do, or in
	// commits, which are mostly the disk's work: the longer one takes, the more
	// commands share the next.
	Busy time.Duration
	// Commit is how long commits took, Changes how many jobs and pauses they
	// wrote in all, Synced how many of them somebody waited for.
	Commit  queue.Histogram
	Changes uint64
	Synced  uint64
	Batch   BatchSizes
}

// BatchSizes counts commits by how many jobs and pauses they wrote: bucket i
// has those of at most 2 to the power of i, and the last all larger ones.
type BatchSizes [16]uint64

func (w *Workload) note(c *queue.Changes, took time.Duration) {
	n := len(c.Saved) + len(c.Deleted) + len(c.Paused) + len(c.Resumed)
	w.Commit.Add(took)
	w.Changes += uint64(n)
	if c.Urgent {
		w.Synced++
	}
	bucket := 0
	for bucket < len(w.Batch)-1 && n > 1<<bucket {
		bucket++
	}
	w.Batch[bucket]++
}

func (e *Engine) stopwatch() (began time.Time) {
	if e.config.Observed {
		began = time.Now()
	}
	return began
}
