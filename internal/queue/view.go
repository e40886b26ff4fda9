package queue

import (
	"time"

	"github.com/haricotq/haricot/internal/protocol"
)

// This file is what others than clients see of the queue. All of it goes in
// portions whose size the caller chooses, so that no look at millions of jobs
// holds anybody up: a position says where to go on. Whatever is there from the
// first portion to the last is met once; what comes or goes meanwhile may be met.

// Position is where a walk through jobs, tubes or clients goes on. 0 is the
// start, and the end.
type Position uint32

// States is a set of states.
type States uint8

// StatesOf makes a set; of nothing it is empty, which in a Selection means all.
func StatesOf(list ...State) (set States) {
	for _, s := range list {
		set |= 1 << s
	}
	return set
}

// Has tells whether a state is in the set.
func (s States) Has(state State) bool { return s == 0 || s>>state&1 == 1 }

// Selection says which jobs are meant; the zero value is all.
type Selection struct {
	Tube   string // "" is any
	States States
	// Oldest and Newest bound when a job was put; 0 is no bound.
	Oldest, Newest Instant
	// MinTries and MaxTries bound how often a job was reserved; nil is no bound.
	MinTries uint32
	MaxTries *uint32
}

// Rank is a job's place among those of its tube and state: ready ones by
// priority, delayed ones by when they are due, reserved ones by when their time
// is up, buried ones by when they were buried; of equals the lower id first.
type Rank struct {
	Key uint64
	ID  protocol.JobID
}

// Before tells whether a job comes before another.
func (r Rank) Before(other Rank) bool {
	return r.Key < other.Key || r.Key == other.Key && r.ID < other.ID
}

// Walk looks at up to n jobs from a position on and visits those that are
// selected, with the position of each. It returns where to go on.
func (m *Machine) Walk(from Position, n int, sel *Selection, visit func(Position, Rank)) Position {
	number := uint32(0)
	if sel.Tube != "" {
		t := m.tubes[sel.Tube]
		if t == nil {
			return 0
		}
		number = t.number
	}
	at := max(uint32(from), 1)
	for range n {
		if at = m.jobs.Next(at); at == 0 {
			return 0
		}
		if s := slot(at); (number == 0 || m.job(s).tube == number) && m.selected(s, sel) {
			visit(Position(at), m.rank(m.job(s)))
		}
		at++
	}
	return Position(at)
}

// Selects tells whether a job is there and selected.
func (m *Machine) Selects(id protocol.JobID, sel *Selection) bool {
	s := m.find(id)
	return s != 0 && (sel.Tube == "" || m.tubeOf(m.job(s)).name == sel.Tube) && m.selected(s, sel)
}

func (m *Machine) selected(s slot, sel *Selection) bool {
	j := m.job(s)
	if j.state == Incoming || j.marks&gone != 0 || !sel.States.Has(j.state) {
		return false
	}
	if j.created < sel.Oldest || sel.Newest != 0 && j.created > sel.Newest {
		return false
	}
	if sel.MinTries == 0 && sel.MaxTries == nil {
		return true
	}
	tries := uint32(0)
	if j.history != 0 {
		tries = m.past(s).reserves
	}
	return tries >= sel.MinTries && (sel.MaxTries == nil || tries <= *sel.MaxTries)
}

func (m *Machine) rank(j *job) Rank {
	if j.state == Ready {
		return Rank{uint64(j.priority), j.id}
	}
	return Rank{uint64(j.deadline), j.id}
}

// JobView is a job as others than clients see it.
type JobView struct {
	Record
	Rank  Rank
	Until Instant  // delayed: when it is due; reserved: when its time is up
	Since Instant  // ready: since when, if the queue is observed; reserved: since when
	Owner ClientID // reserved: by whom
	// Away tells that the body is in the store only.
	Away bool
}

// Job looks at a job.
func (m *Machine) Job(id protocol.JobID) (v JobView, ok bool) {
	s := m.find(id)
	if s == 0 {
		return v, false
	}
	j := m.job(s)
	v.Record, v.Rank, v.Away = m.record(s), m.rank(j), j.marks&away != 0
	switch v.State = j.state; j.state {
	case Ready:
		v.Since = j.deadline
	case Delayed:
		v.Until = j.deadline
	case Reserved:
		h := m.past(s)
		v.Until, v.Since, v.Owner = j.deadline, h.since, h.owner
	case Buried, Incoming:
	}
	return v, true
}

// Body copies a part of a job's body, from a byte on, and returns how much.
// Nothing comes of a job that is not there, or whose body is away.
func (m *Machine) Body(id protocol.JobID, from int, into []byte) int {
	s := m.find(id)
	if s == 0 || m.job(s).marks&away != 0 {
		return 0
	}
	if b := m.body(m.job(s)); from < len(b) {
		return copy(into, b[from:])
	}
	return 0
}

// TubeView is a tube as others than clients see it.
type TubeView struct {
	Name      string
	Jobs      protocol.JobCounts
	TotalJobs uint64
	Deletes   uint64
	Pauses    uint64
	Bytes     uint64 // of the bodies of its jobs
	Using     int
	Watching  int
	Waiting   uint64
	Pause     time.Duration // the length of the running pause, 0 if none
	Resume    Instant       // when it ends
	// What follows is there while the queue is observed. ReadySince is about
	// since when the oldest ready job is ready, 0 if there is none.
	Done       Counts
	ReadySince Instant
	wait, run  *Histogram
}

// Wait is how long jobs were ready before they were reserved.
func (v *TubeView) Wait() Histogram { return v.wait.copy() }

// Run is how long jobs were reserved before they were deleted.
func (v *TubeView) Run() Histogram { return v.run.copy() }

// Tube looks at a tube.
func (m *Machine) Tube(name string) (v TubeView, ok bool) {
	t := m.tubes[name]
	if t == nil {
		return v, false
	}
	return t.view(), true
}

// Tubes visits up to n tubes from a position on, in the order in which they
// were made, though a new one may stand where an old one was. What it hands out
// holds until the end of the call.
func (m *Machine) Tubes(from Position, n int, visit func(*TubeView)) Position {
	at := max(int(from), 1)
	var v TubeView
	for ; n > 0 && at < len(m.numbered); at++ {
		if t := m.numbered[at]; t != nil {
			v = t.view()
			visit(&v)
		}
		n--
	}
	if at >= len(m.numbered) {
		return 0
	}
	return Position(at)
}

func (t *tube) view() TubeView {
	v := TubeView{
		Name: t.name, Jobs: t.jobs, TotalJobs: t.total, Deletes: t.deletes, Pauses: t.pauses, Bytes: t.bytes,
		Using: t.using, Watching: t.watching, Waiting: t.waiters(),
	}
	if t.paused() {
		v.Pause, v.Resume = t.pause, t.resume
	}
	if o := t.seen; o != nil {
		v.Done, v.wait, v.run = o.done, o.wait, o.run
		v.ReadySince, _ = o.since.oldest()
	}
	return v
}

// ClientView is a client as others see it.
type ClientView struct {
	ID       ClientID
	Producer bool // has put
	Worker   bool // has reserved
	Waiting  bool // for a job
	Until    Instant
	Uses     string
	// Watches and Holds have the first of them only; the counts are of all.
	Watches     []string
	WatchCount  int
	Holds       []Holding
	HoldCount   int
	OldestSince Instant // since when it has held the first that it holds
}

// Holding is a job in the hands of a client.
type Holding struct {
	Job   protocol.JobID
	Tube  string
	Since Instant
	Until Instant
}

// Clients visits up to n clients from a position on, and tells at most most of
// the tubes that each watches and of the jobs that it holds.
func (m *Machine) Clients(from Position, n, most int, visit func(*ClientView)) Position {
	at := max(int(from), 1)
	for ; n > 0 && at < len(m.clients); at++ {
		if c := m.clients[at]; c != nil {
			v := m.viewClient(c, most)
			visit(&v)
			n -= len(v.Watches) + len(v.Holds)
		}
		n--
	}
	if at >= len(m.clients) {
		return 0
	}
	return Position(at)
}

// Client looks at one client.
func (m *Machine) Client(id ClientID, most int) (v ClientView, ok bool) {
	if int(id) >= len(m.clients) || m.clients[id] == nil {
		return v, false
	}
	return m.viewClient(m.clients[id], most), true
}

func (m *Machine) viewClient(c *client, most int) ClientView {
	v := ClientView{
		ID: c.id, Producer: c.producer, Worker: c.worker, Waiting: c.waiting, Until: c.until,
		Uses: c.tube.name, WatchCount: len(c.watches), HoldCount: c.reserved.n,
	}
	for _, w := range c.watches[:min(most, len(c.watches))] {
		v.Watches = append(v.Watches, w.tube.name)
	}
	for s := c.held.first; s != 0 && len(v.Holds) < most; s = m.past(s).next {
		j, h := m.job(s), m.past(s)
		v.Holds = append(v.Holds, Holding{j.id, m.tubeOf(j).name, h.since, j.deadline})
	}
	if c.held.first != 0 {
		v.OldestSince = m.past(c.held.first).since
	}
	return v
}

// Totals is the whole queue in numbers.
type Totals struct {
	protocol.QueueStats
	Done        Counts
	ReadySince  Instant // of the oldest ready job, about; 0 if there is none or nobody observes
	Wait, Run   Histogram
	Memory      int64 // bytes in use for jobs
	MemoryLimit int64 // 0 is none
	Limits      Limits
	Full        bool // the store takes no new jobs
}

// Totals returns them.
func (m *Machine) Totals() Totals {
	t := Totals{
		QueueStats: m.Stats(), Done: m.done, Wait: m.wait, Run: m.run,
		Memory: m.memory.Used(), MemoryLimit: m.config.Memory,
		Limits: m.config.Limits, Full: m.full,
	}
	t.ReadySince, _ = m.since.oldest()
	return t
}
