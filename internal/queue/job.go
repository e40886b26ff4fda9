package queue

import (
	"time"

	"github.com/haricotq/haricot/internal/arena"
	"github.com/haricotq/haricot/internal/protocol"
)

// slot is the number of a job's record; 0 is none.
type slot uint32

// State is where a job is. A job is in exactly one of these places.
type State uint8

// The states. All but Incoming are those of the protocol.
const (
	// Incoming: its body has not arrived. Only the client that puts it knows
	// it; it is in no index and no tube.
	Incoming State = iota
	Ready
	Delayed
	Reserved
	Buried
)

// String returns the state's name as stats-job shows it.
func (s State) String() string {
	return [...]string{"incoming", "ready", "delayed", "reserved", "buried"}[s]
}

// job is what is kept of every job: 64 bytes, one cache line, without
// pointers, so that millions of them cost the garbage collector nothing.
type job struct {
	id       protocol.JobID
	created  Instant
	deadline Instant   // delayed: when it is due; reserved: when its time is up; buried: its number in the order of burial; ready: since when
	body     arena.Ref // size bytes, unless they are away
	size     uint32
	priority protocol.Priority
	delay    uint32 // of the last put or release, in seconds
	ttr      uint32 // time to run in seconds, at least 1
	tube     uint32 // the tube's number
	history  uint32 // number of the history, 0 while nothing has happened to it
	place    uint32 // position in the heap: ready, delayed or reserved
	state    State
	marks    marks
}

// history is what is kept beside a job from the first time that something
// happens to it. Most jobs of a long backlog have none yet.
type history struct {
	reserves, timeouts, releases, buries, kicks uint32

	owner ClientID // reserved: who holds it
	since Instant  // reserved: since when
	// prev and next link the jobs that a client has reserved, in the order of
	// reservation, and the buried jobs of a tube, in the order of burial.
	prev, next slot
}

func (j *job) timeToRun() time.Duration { return time.Duration(j.ttr) * time.Second }

func (m *Machine) job(s slot) *job { return m.jobs.At(uint32(s)) }

// past is the history of a job that has one.
func (m *Machine) past(s slot) *history { return m.histories.At(m.job(s).history) }

// recall makes sure that a job has a history.
func (m *Machine) recall(s slot) (*history, error) {
	j := m.job(s)
	if j.history == 0 {
		n, err := m.histories.Alloc()
		if err != nil {
			return nil, err
		}
		j.history = n
	}
	return m.histories.At(j.history), nil
}

func (m *Machine) body(j *job) []byte { return m.memory.Bytes(j.body, int(j.size)) }

// free forgets a job that is in no place any more.
func (m *Machine) free(s slot) {
	j := m.job(s)
	if j.marks&away == 0 {
		m.memory.Free(j.body, int(j.size))
	}
	if j.history != 0 {
		m.histories.Free(j.history)
	}
	m.jobs.Free(uint32(s))
}

// chain is a list of jobs, linked through their histories.
type chain struct{ first, last slot }

func (c *chain) append(m *Machine, s slot) {
	h := m.past(s)
	h.prev, h.next = c.last, 0
	if c.last == 0 {
		c.first = s
	} else {
		m.past(c.last).next = s
	}
	c.last = s
}

func (c *chain) unlink(m *Machine, s slot) {
	h := m.past(s)
	if h.prev == 0 {
		c.first = h.next
	} else {
		m.past(h.prev).next = h.next
	}
	if h.next == 0 {
		c.last = h.prev
	} else {
		m.past(h.next).prev = h.prev
	}
	h.prev, h.next = 0, 0
}
