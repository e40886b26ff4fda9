package queue

import (
	"fmt"
	"slices"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
)

// Record is what survives of a job, its body apart.
type Record struct {
	ID       protocol.JobID
	Tube     string
	State    State // Ready, Delayed or Buried; a reserved job survives as a ready one
	Priority protocol.Priority
	Size     uint32        // of the body in bytes
	Delay    time.Duration // of the last put or release, whole seconds
	TTR      time.Duration // whole seconds
	Created  Instant
	Due      Instant // of a delayed job
	Burial   uint64  // of a buried job: its number in the order of burial

	Reserves, Timeouts, Releases, Buries, Kicks uint32
}

// PauseRecord is what survives of a tube's pause.
type PauseRecord struct {
	Tube   string
	Length time.Duration
	Resume Instant
}

// record says what survives of a job.
func (m *Machine) record(s slot) Record {
	j := m.job(s)
	r := Record{
		ID:       j.id,
		Tube:     m.tubeOf(j).name,
		State:    j.state,
		Priority: j.priority,
		Size:     j.size,
		Delay:    time.Duration(j.delay) * time.Second,
		TTR:      j.timeToRun(),
		Created:  j.created,
	}
	switch j.state {
	case Delayed:
		r.Due = j.deadline
	case Buried:
		r.Burial = uint64(j.deadline)
	case Reserved:
		r.State = Ready
	case Ready, Incoming:
	}
	if j.history != 0 {
		h := m.past(s)
		r.Reserves, r.Timeouts, r.Releases, r.Buries, r.Kicks = h.reserves, h.timeouts, h.releases, h.buries, h.kicks
	}
	return r
}

// Restoration brings jobs that have survived back into an empty queue. No
// client may be there yet.
type Restoration struct {
	m      *Machine
	now    Instant
	buried []slot
}

// Restore begins to bring jobs back.
func (m *Machine) Restore(now Instant) *Restoration {
	return &Restoration{m: m, now: now}
}

// Job brings a job back. Its body stays in the store. A delayed job whose time
// has come in the meantime is ready.
func (r *Restoration) Job(rec *Record) error {
	m := r.m
	if m.find(rec.ID) != 0 {
		return fmt.Errorf("queue: job %d is there twice", rec.ID)
	}
	n, err := m.jobs.Alloc()
	if err != nil {
		return fmt.Errorf("queue: bringing back job %d: %w", rec.ID, err)
	}
	s := slot(n)
	t := m.makeTube([]byte(rec.Tube))
	*m.job(s) = job{
		id:       rec.ID,
		created:  min(rec.Created, r.now),
		size:     rec.Size,
		priority: rec.Priority,
		delay:    uint32(rec.Delay / time.Second),
		ttr:      uint32(max(rec.TTR, protocol.MinTTR) / time.Second),
		tube:     t.number,
	}
	if rec.Size > 0 {
		m.job(s).marks |= away
	}
	if rec.State == Buried || rec.Reserves|rec.Timeouts|rec.Releases|rec.Buries|rec.Kicks != 0 {
		h, err := m.recall(s)
		if err != nil {
			return fmt.Errorf("queue: bringing back job %d: %w", rec.ID, err)
		}
		h.reserves, h.timeouts, h.releases, h.buries, h.kicks = rec.Reserves, rec.Timeouts, rec.Releases, rec.Buries, rec.Kicks
	}
	m.enter(s)
	t.bytes += uint64(rec.Size)
	m.nextID = max(m.nextID, rec.ID+1)
	switch rec.State {
	case Buried:
		m.job(s).deadline = Instant(rec.Burial)
		r.buried = append(r.buried, s)
	case Delayed:
		if rec.Due > r.now {
			m.makeDelayed(s, rec.Due)
			break
		}
		m.makeReadySince(r.now, s, rec.Due)
	case Ready, Reserved, Incoming:
		m.makeReadySince(r.now, s, r.readySince(rec))
	}
	return nil
}

// readySince is since when a job has been ready, which the store does not know.
// Of one to which nothing has happened since its put it is certain.
func (r *Restoration) readySince(rec *Record) Instant {
	if rec.Reserves|rec.Releases|rec.Kicks != 0 {
		return r.now
	}
	return min(r.now, rec.Created.add(rec.Delay))
}

// Pause brings a tube's pause back if it is not over and the tube has jobs. It
// must be called after all jobs are there.
func (r *Restoration) Pause(p PauseRecord) (kept bool) {
	t := r.m.tubes[p.Tube]
	if t == nil || p.Resume <= r.now {
		return false
	}
	t.pause, t.resume, t.pauseSaved = p.Length, p.Resume, true
	r.m.arm(&t.timer, t.resume)
	return true
}

// End puts the buried jobs into their order. next is the lowest id that no job
// may have had.
func (r *Restoration) End(next protocol.JobID) {
	m := r.m
	slices.SortFunc(r.buried, func(a, b slot) int {
		if x, y := m.job(a), m.job(b); x.deadline != y.deadline {
			return int(x.deadline - y.deadline)
		} else if x.id < y.id {
			return -1
		}
		return 1
	})
	for _, s := range r.buried {
		burial := uint64(m.job(s).deadline)
		m.makeBuriedAs(s, burial)
		m.burials = max(m.burials, burial)
	}
	m.nextID = max(m.nextID, next)
}
