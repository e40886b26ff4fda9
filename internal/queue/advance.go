package queue

import "github.com/haricotq/haricot/internal/protocol"

// arm sees to it that a tube or a client gets attention at a moment. An
// earlier one that is already noted stays: what is due is found out then.
func (m *Machine) arm(timer *item, at Instant) {
	switch {
	case timer.place == absent:
		timer.key = int64(at)
		m.timers.add(timer)
	case int64(at) < timer.key:
		m.timers.lower(timer, int64(at))
	}
}

// Next tells when Advance should be called next. There may turn out to be
// nothing to do then.
func (m *Machine) Next() (at Instant, ok bool) {
	if len(m.timers) == 0 {
		return 0, false
	}
	return Instant(m.timers[0].key), true
}

// Advance does what is due: delayed jobs become ready, pauses, reservations
// and waits end, each at its turn. It stops after budget of them, so that a
// storm does not keep clients from being served, and tells whether more is due.
// Finding that nothing is due yet after all takes from the budget too.
func (m *Machine) Advance(now Instant, budget int) (more bool) {
	for len(m.timers) > 0 && m.timers[0].key <= int64(now) {
		if budget == 0 {
			return true
		}
		budget--
		timer := m.timers[0]
		next := timer.attention()
		// If the key was lower than that, the turn of what is due is still to come.
		if int64(next) == timer.key {
			if timer.client != nil {
				m.advanceClient(now, timer.client)
			} else {
				m.advanceTube(now, timer.tube)
			}
			next = timer.attention()
		}
		// What was done may have armed the timer anew, and even for earlier.
		if next == forever {
			m.timers.remove(timer)
		} else {
			m.timers.raise(timer, int64(next))
		}
	}
	return false
}

// attention is when something of the tube or the client is due next.
func (i *item) attention() Instant {
	if i.client != nil {
		return i.client.attention()
	}
	return i.tube.attention()
}

// attention is when something of the tube is due next.
func (t *tube) attention() Instant {
	at := forever
	if t.delayed.n > 0 {
		at = Instant(t.delayed.head().minor)
	}
	if t.paused() {
		at = min(at, t.resume)
	}
	return at
}

// advanceTube makes the tube's first due job ready, or ends its pause.
func (m *Machine) advanceTube(now Instant, t *tube) {
	if t.delayed.n > 0 && Instant(t.delayed.head().minor) <= now {
		s := t.delayed.head().slot
		m.takeOut(s)
		m.makeReady(now, s)
		return
	}
	if t.paused() && t.resume <= now {
		t.pause = 0
		m.savePause(t)
		m.serve(now, t)
	}
}

// attention is when something of the client is due next.
func (c *client) attention() Instant {
	at := forever
	if c.waiting {
		at = c.until
	}
	if c.reserved.n > 0 {
		first := c.firstDeadline()
		if c.waiting {
			first -= Instant(protocol.SafetyMargin)
		}
		at = min(at, first)
	}
	return at
}

// advanceClient ends the client's first reservation whose time is up, or else
// its wait. A job that goes back may come to the same client at once if it
// waits, in which case it is told so and not warned: it can never hold a job
// that it does not know of.
func (m *Machine) advanceClient(now Instant, c *client) {
	switch {
	case c.reserved.n > 0 && c.firstDeadline() <= now:
		s := c.reserved.head().slot
		m.unreserve(c, s)
		m.save(s)
		m.past(s).timeouts++
		m.stats.JobTimeouts++
		m.note(m.tubeOf(m.job(s)), Timeouts)
		m.makeReady(now, s)
	case c.waiting && c.nearDeadline(now):
		m.stopWaiting(c)
		m.say(c, protocol.DeadlineSoon)
	case c.waiting && c.until <= now:
		m.stopWaiting(c)
		m.say(c, protocol.TimedOut)
	}
}
