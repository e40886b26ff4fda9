package queue

import (
	"time"

	"github.com/haricotq/haricot/internal/protocol"
)

// This file moves jobs between the places where they can be. A job is taken out
// of its place, changed while it is in none, and brought into the next.

// takeOut takes a job out of the tube: it must be ready, delayed or buried.
func (m *Machine) takeOut(s slot) {
	j := m.job(s)
	t := m.tubeOf(j)
	switch j.state {
	case Ready:
		t.ready.remove(m, int(j.place))
		if j.priority < protocol.UrgentBelow {
			t.jobs.Urgent--
			m.stats.Jobs.Urgent--
		}
		if t.ready.n == 0 {
			m.letGo(t)
		}
		m.notReady(t, j.deadline)
	case Delayed:
		t.delayed.remove(m, int(j.place))
	case Buried:
		t.buried.unlink(m, s)
	case Incoming, Reserved:
		panic("queue: a job that is " + j.state.String() + " is not in its tube")
	}
	m.count(t, j.state, lessOne)
}

// unreserve takes a job out of the hands of the client that holds it.
func (m *Machine) unreserve(c *client, s slot) {
	j := m.job(s)
	c.reserved.remove(m, int(j.place))
	c.held.unlink(m, s)
	m.count(m.tubeOf(j), Reserved, lessOne)
}

// place brings a job into its tube, ready at once or after a delay.
func (m *Machine) place(now Instant, s slot, delay time.Duration) {
	if delay > 0 {
		m.makeDelayed(s, now.add(delay))
	} else {
		m.makeReady(now, s)
	}
}

// makeReady brings a job into its tube's ready ones, and gives it to the
// client that waits longest for one, if there is any.
func (m *Machine) makeReady(now Instant, s slot) { m.makeReadySince(now, s, now) }

// makeReadySince does so with a job that has been ready since a moment.
func (m *Machine) makeReadySince(now Instant, s slot, since Instant) {
	j := m.job(s)
	t := m.tubeOf(j)
	j.state, j.deadline = Ready, since
	m.nowReady(t, since)
	t.ready.push(m, entry{uint64(j.id), uint32(j.priority), s})
	m.count(t, Ready, 1)
	if j.priority < protocol.UrgentBelow {
		t.jobs.Urgent++
		m.stats.Jobs.Urgent++
	}
	if t.ready.n == 1 {
		m.hold(t)
	}
	m.serve(now, t)
}

// makeDelayed brings a job into its tube's delayed ones, to be ready at due.
func (m *Machine) makeDelayed(s slot, due Instant) {
	j := m.job(s)
	t := m.tubeOf(j)
	j.state, j.deadline = Delayed, due
	t.delayed.push(m, entry{uint64(due), 0, s})
	m.count(t, Delayed, 1)
	m.arm(&t.timer, due)
}

// makeBuried brings a job, which has a history, to the end of its tube's
// buried ones.
func (m *Machine) makeBuried(s slot) {
	m.burials++
	m.makeBuriedAs(s, m.burials)
}

// makeBuriedAs does so with a number in the order of burial, which must be
// higher than those of the jobs that are buried there.
func (m *Machine) makeBuriedAs(s slot, burial uint64) {
	j := m.job(s)
	t := m.tubeOf(j)
	j.state, j.deadline = Buried, Instant(burial)
	t.buried.append(m, s)
	m.count(t, Buried, 1)
}

// give takes a job out of its tube, reserves it for a client and tells it. If
// there is no memory left to note who holds the job it stays where it is, and
// the client is told that.
func (m *Machine) give(now Instant, c *client, s slot) {
	h, err := m.recall(s)
	if err != nil {
		m.say(c, protocol.OutOfMemory)
		return
	}
	m.markWorker(c)
	if j := m.job(s); j.state == Ready {
		m.save(s)
		m.waited(j, now)
	} else {
		m.saveNow(s)
	}
	m.takeOut(s)
	j := m.job(s)
	h.owner, h.since = c.id, now
	h.reserves++
	m.note(m.tubeOf(j), Reserves)
	j.state, j.deadline = Reserved, now.add(j.timeToRun())
	c.reserved.push(m, entry{uint64(j.deadline), 0, s})
	c.held.append(m, s)
	m.count(m.tubeOf(j), Reserved, 1)
	m.arm(&c.timer, j.deadline)
	m.tellJob(c, protocol.Reserved, s)
}

// delete takes a job out of the queue for good.
func (m *Machine) delete(now Instant, c *client, id protocol.JobID) {
	s := m.find(id)
	switch {
	case s == 0:
		m.say(c, protocol.NotFound)
		return
	case m.job(s).state != Reserved:
		m.takeOut(s)
	case m.past(s).owner == c.id:
		m.ran(s, now)
		m.unreserve(c, s)
	default:
		m.say(c, protocol.NotFound)
		return
	}
	m.forget(s)
	m.say(c, protocol.Deleted)
}

// forget takes a job, which is in no place any more, out of the queue.
func (m *Machine) forget(s slot) {
	t := m.tubeOf(m.job(s))
	t.deletes++
	m.note(t, Deletes)
	t.bytes -= uint64(m.job(s).size)
	m.leave(s)
	m.discard(s)
	m.reap(t)
}
