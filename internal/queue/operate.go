package queue

import (
	"time"

	"github.com/haricotq/haricot/internal/protocol"
)

// This file is what an operator does to the queue, who is no client: he gets an
// error or nothing, and may take a job from the client that holds it. To that
// client it is as if its time to run were over.

// Insertion is a job that an operator puts.
type Insertion struct {
	Tube       string
	Priority   protocol.Priority
	Delay, TTR time.Duration // whole seconds
	Body       []byte
}

// Insert puts a job.
func (m *Machine) Insert(now Instant, in *Insertion) (protocol.JobID, error) {
	size := uint64(len(in.Body))
	if size > uint64(m.config.MaxJobSize) {
		return 0, ErrTooBig
	}
	if m.draining {
		return 0, ErrDraining
	}
	if !protocol.ValidTube([]byte(in.Tube)) {
		return 0, ErrBadTube
	}
	t := m.makeTube([]byte(in.Tube))
	if m.full || m.overLimit(t, uint32(size)) {
		m.reap(t)
		return 0, ErrNoRoom
	}
	s, err := m.makeJob(now, m.nextID, t, &protocol.Command{
		Priority: in.Priority, Delay: in.Delay, TTR: in.TTR, Size: uint32(size),
	})
	if err != nil {
		m.reap(t)
		return 0, ErrNoRoom
	}
	m.nextID++
	j := m.job(s)
	copy(m.body(j), in.Body)
	id := j.id
	m.accept(now, s)
	return id, nil
}

// Hold says what an operator's call does with a job that a client holds.
type Hold bool

// With Respect the call is refused; with Take the job is taken from the client.
const (
	Respect Hold = false
	Take    Hold = true
)

// pick takes a job out of its place.
func (m *Machine) pick(id protocol.JobID, hold Hold) (slot, error) {
	s := m.find(id)
	switch {
	case s == 0:
		return 0, ErrNoJob
	case m.job(s).state != Reserved:
		m.takeOut(s)
	case hold == Respect:
		return 0, ErrReserved
	default:
		m.unreserve(m.clients[m.past(s).owner], s)
	}
	return s, nil
}

// Remove deletes a job.
func (m *Machine) Remove(id protocol.JobID, hold Hold) error {
	s, err := m.pick(id, hold)
	if err == nil {
		m.forget(s)
	}
	return err
}

// Kick makes a buried or delayed job ready.
func (m *Machine) Kick(now Instant, id protocol.JobID) error {
	s := m.find(id)
	switch {
	case s == 0:
		return ErrNoJob
	case m.job(s).state != Buried && m.job(s).state != Delayed:
		return ErrNotKickable
	case !m.kickOne(now, s):
		return ErrNoRoom
	}
	return nil
}

// Bury buries a job. One that is buried goes to the end of the line.
func (m *Machine) Bury(id protocol.JobID, hold Hold) error {
	s := m.find(id)
	if s == 0 {
		return ErrNoJob
	}
	if _, err := m.recall(s); err != nil {
		return ErrNoRoom
	}
	if _, err := m.pick(id, hold); err != nil {
		return err
	}
	m.noteBurial(s)
	m.makeBuried(s)
	return nil
}

// GiveBack takes a job from the client that holds it and makes it ready, or
// ready after a delay.
func (m *Machine) GiveBack(now Instant, id protocol.JobID, delay time.Duration) error {
	s := m.find(id)
	switch {
	case s == 0:
		return ErrNoJob
	case m.job(s).state != Reserved:
		return ErrNotReserved
	}
	m.releaseHeld(now, m.clients[m.past(s).owner], s, delay)
	return nil
}

// Move brings a job into another tube, where it is in the state in which it
// was; a reserved one is ready, a buried one the last.
func (m *Machine) Move(now Instant, id protocol.JobID, tube string, hold Hold) error {
	s := m.find(id)
	if s == 0 {
		return ErrNoJob
	}
	j := m.job(s)
	from, state, due := m.tubeOf(j), j.state, j.deadline
	if from.name == tube {
		return nil
	}
	if state == Reserved && hold == Respect {
		return ErrReserved
	}
	if !protocol.ValidTube([]byte(tube)) {
		return ErrBadTube
	}
	to := m.makeTube([]byte(tube))
	if m.tubeFull(to, j.size) {
		m.reap(to)
		return ErrNoRoom
	}
	if _, err := m.pick(id, hold); err != nil {
		m.reap(to)
		return err
	}
	from.bytes -= uint64(j.size)
	to.bytes += uint64(j.size)
	j.tube = to.number
	m.saveNow(s)
	switch state {
	case Delayed:
		m.makeDelayed(s, due)
	case Buried:
		m.makeBuried(s)
	case Ready, Reserved, Incoming:
		m.makeReady(now, s)
	}
	m.reap(from)
	return nil
}

// Alteration is what to change of a job; nil leaves it as it is.
type Alteration struct {
	Priority *protocol.Priority
	// Delay makes a ready or delayed job be ready so long from now; of a buried
	// one it changes nothing but what is noted of the job.
	Delay *time.Duration
	TTR   *time.Duration
}

// Alter changes a job that nobody holds, in its place.
func (m *Machine) Alter(now Instant, id protocol.JobID, a *Alteration) error {
	s := m.find(id)
	switch {
	case s == 0:
		return ErrNoJob
	case m.job(s).state == Reserved:
		return ErrReserved
	}
	j := m.job(s)
	state, due := j.state, j.deadline
	if state != Buried { // whose place depends on nothing that changes
		m.takeOut(s)
	}
	m.saveNow(s)
	if a.Priority != nil {
		j.priority = *a.Priority
	}
	if a.TTR != nil {
		j.ttr = uint32(max(*a.TTR, protocol.MinTTR) / time.Second)
	}
	if a.Delay != nil {
		j.delay = uint32(*a.Delay / time.Second)
	}
	switch {
	case state == Buried:
	case a.Delay != nil:
		m.place(now, s, *a.Delay)
	case state == Delayed:
		m.makeDelayed(s, due)
	default:
		m.makeReadySince(now, s, due)
	}
	return nil
}

// Pause has a tube give out no jobs for a time; 0 ends a pause.
func (m *Machine) Pause(now Instant, tube string, length time.Duration) error {
	t := m.tubes[tube]
	if t == nil {
		return ErrNoTube
	}
	m.pauseTube(now, t, length)
	m.serve(now, t)
	return nil
}
