package queue

import (
	"time"

	"github.com/haricotq/haricot/internal/protocol"
)

// reserve gives a client the best job of its tubes, or makes it wait.
func (m *Machine) reserve(now Instant, c *client, until Instant) {
	m.markWorker(c)
	if t := m.bestTube(c); t != nil {
		m.give(now, c, t.ready.head().slot)
		return
	}
	switch {
	case c.nearDeadline(now):
		m.say(c, protocol.DeadlineSoon)
	case until <= now || c.halfClosed:
		m.say(c, protocol.TimedOut)
	default:
		m.startWaiting(c, until)
	}
}

// nearDeadline tells whether a reservation of the client ends within the
// safety margin.
func (c *client) nearDeadline(now Instant) bool {
	return c.reserved.n > 0 && now >= c.firstDeadline()-Instant(protocol.SafetyMargin)
}

// firstDeadline is when the first of the client's reservations ends. There
// must be one.
func (c *client) firstDeadline() Instant { return Instant(c.reserved.head().minor) }

// bestTube finds the tube whose first ready job is the best that the client
// can get: of its tubes and those that hold jobs it goes through the fewer.
func (m *Machine) bestTube(c *client) *tube {
	var best *tube
	consider := func(t *tube) {
		if t.ready.n == 0 || t.paused() {
			return
		}
		if best == nil || m.before(t.ready.head(), best.ready.head()) {
			best = t
		}
	}
	if len(c.watches) <= len(m.holding) {
		for _, w := range c.watches {
			consider(w.tube)
		}
		return best
	}
	for _, t := range m.holding {
		if c.watchOf(t) != nil {
			consider(t)
		}
	}
	return best
}

// startWaiting puts the client at the end of the line of each of its tubes. In
// those where it still stands from before only its ticket tells that.
func (m *Machine) startWaiting(c *client, until Instant) {
	m.tickets++
	c.waiting, c.ticket, c.until = true, m.tickets, until
	m.stats.Waiting++
	for i, w := range c.away {
		w.key = c.ticket
		w.tube.line.add(&w.item)
		c.away[i] = nil
	}
	c.away = c.away[:0]
	if until != forever {
		m.arm(&c.timer, until)
	}
	if c.reserved.n > 0 {
		m.arm(&c.timer, c.firstDeadline()-Instant(protocol.SafetyMargin))
	}
}

func (m *Machine) stopWaiting(c *client) {
	if c.waiting {
		c.waiting, c.until = false, forever
		m.stats.Waiting--
	}
}

// longestWaiting finds the client that waits longest at a tube, or nil.
func (m *Machine) longestWaiting(t *tube) *client {
	for len(t.line) > 0 {
		i := t.line[0]
		c := i.client
		switch {
		case !c.waiting:
			t.line.remove(i)
			c.leaveLine(c.watchOf(t))
		case i.key != c.ticket:
			t.line.raise(i, c.ticket)
		default:
			return c
		}
	}
	return nil
}

// serve gives a tube's ready jobs to the clients that wait for them.
func (m *Machine) serve(now Instant, t *tube) {
	for t.ready.n > 0 && !t.paused() {
		c := m.longestWaiting(t)
		if c == nil {
			return
		}
		m.stopWaiting(c)
		m.give(now, c, t.ready.head().slot)
	}
}

// reserveJob reserves a job by its id, whatever tube it is in.
func (m *Machine) reserveJob(now Instant, c *client, id protocol.JobID) {
	s := m.find(id)
	if s == 0 || m.job(s).state == Reserved {
		m.say(c, protocol.NotFound)
		return
	}
	m.give(now, c, s)
}

// holds finds a job that the client holds, or 0.
func (m *Machine) holds(c *client, id protocol.JobID) slot {
	s := m.find(id)
	if s == 0 || m.job(s).state != Reserved || m.past(s).owner != c.id {
		return 0
	}
	return s
}

func (m *Machine) release(now Instant, c *client, cmd *protocol.Command) {
	s := m.holds(c, cmd.ID)
	if s == 0 {
		m.say(c, protocol.NotFound)
		return
	}
	m.job(s).priority = cmd.Priority
	m.say(c, protocol.Released)
	m.releaseHeld(now, c, s, cmd.Delay)
}

// releaseHeld takes back a job that the client holds, for others.
func (m *Machine) releaseHeld(now Instant, c *client, s slot, delay time.Duration) {
	m.unreserve(c, s)
	m.saveNow(s)
	m.past(s).releases++
	j := m.job(s)
	m.note(m.tubeOf(j), Releases)
	j.delay = uint32(delay / time.Second)
	m.place(now, s, delay)
}

func (m *Machine) bury(c *client, id protocol.JobID, p protocol.Priority) {
	s := m.holds(c, id)
	if s == 0 {
		m.say(c, protocol.NotFound)
		return
	}
	m.job(s).priority = p
	m.buryHeld(c, s)
	m.say(c, protocol.Buried)
}

// buryHeld buries a job that the client holds.
func (m *Machine) buryHeld(c *client, s slot) {
	m.unreserve(c, s)
	m.noteBurial(s)
	m.makeBuried(s)
}

// noteBurial notes that a job, which has a history, is being buried.
func (m *Machine) noteBurial(s slot) {
	m.saveNow(s)
	m.past(s).buries++
	m.note(m.tubeOf(m.job(s)), Buries)
}

// Shelve buries a job whose body turns out to be unreadable, so that it is not
// given to one client after another.
func (m *Machine) Shelve(id ClientID, job protocol.JobID) {
	c := m.clients[id]
	if s := m.holds(c, job); s != 0 {
		m.buryHeld(c, s)
	}
}

func (m *Machine) touch(now Instant, c *client, id protocol.JobID) {
	s := m.holds(c, id)
	if s == 0 {
		m.say(c, protocol.NotFound)
		return
	}
	j := m.job(s)
	j.deadline = now.add(j.timeToRun())
	c.reserved.replace(m, int(j.place), entry{uint64(j.deadline), 0, s})
	m.say(c, protocol.Touched)
}

// kick makes jobs of the used tube ready: buried ones if there are any, else
// delayed ones.
func (m *Machine) kick(now Instant, c *client, limit uint32) {
	next := func() slot { return headOf(&c.tube.delayed) }
	if c.tube.buried.first != 0 {
		next = func() slot { return c.tube.buried.first }
	}
	kicked := uint32(0)
	for kicked < limit {
		s := next()
		if s == 0 || !m.kickOne(now, s) {
			break
		}
		kicked++
	}
	m.tell(c, protocol.Reply{Form: protocol.WithNumber, Word: protocol.Kicked, Number: uint64(kicked)})
}

func (m *Machine) kickJob(now Instant, c *client, id protocol.JobID) {
	s := m.find(id)
	switch {
	case s == 0 || m.job(s).state != Buried && m.job(s).state != Delayed:
		m.say(c, protocol.NotFound)
	case !m.kickOne(now, s):
		m.say(c, protocol.OutOfMemory)
	default:
		m.say(c, protocol.Kicked)
	}
}

// kickOne makes a buried or delayed job ready. It fails, and leaves the job as
// it is, if there is no memory to note that.
func (m *Machine) kickOne(now Instant, s slot) bool {
	h, err := m.recall(s)
	if err != nil {
		return false
	}
	m.takeOut(s)
	m.saveNow(s)
	h.kicks++
	m.note(m.tubeOf(m.job(s)), Kicks)
	m.makeReady(now, s)
	return true
}

// headOf is the first job of a heap, or 0.
func headOf(h *heap) slot {
	if h.n == 0 {
		return 0
	}
	return h.head().slot
}
