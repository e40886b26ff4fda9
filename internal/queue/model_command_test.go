package queue

import (
	"slices"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
)

// The commands of the model, one after the other as in the protocol's text.

// beginPut returns the length of the body to take, or of what to discard, or
// that nothing follows.
func (m *model) beginPut(now Instant, id ClientID, cmd *protocol.Command) (body int, discard uint64, none bool) {
	c := m.client(id)
	m.commands[protocol.Put]++
	c.midPut = true
	if cmd.Size > m.maxJobSize {
		c.refusal = "JOB_TOO_BIG"
		return 0, uint64(cmd.Size) + 2, false
	}
	if cmd.Malformed {
		c.midPut = false
		m.tell(c, "BAD_FORMAT")
		return 0, 0, true
	}
	c.producer = true
	if m.full || m.over(c.tube, int(cmd.Size)) {
		m.nextID++
		c.refusal = "OUT_OF_MEMORY"
		return 0, uint64(cmd.Size) + 2, false
	}
	c.put = &modelJob{id: m.nextID, pri: cmd.Priority, delay: cmd.Delay, ttr: max(cmd.TTR, protocol.MinTTR), tube: c.tube, created: now}
	m.nextID++
	return int(cmd.Size), 0, false
}

func (m *model) endPut(now Instant, id ClientID, body string, complete bool) {
	c := m.client(id)
	j, refusal := c.put, c.refusal
	c.midPut, c.put, c.refusal = false, nil, ""
	switch {
	case j == nil:
		m.tell(c, "%s", refusal)
	case !complete:
		m.tell(c, "EXPECTED_CRLF")
	case m.draining:
		m.tell(c, "DRAINING")
	default:
		j.body = body
		m.tell(c, "INSERTED %d", j.id)
		m.accept(now, j)
	}
}

// accept takes a job whose body is there.
func (m *model) accept(now Instant, j *modelJob) {
	m.jobs = append(m.jobs, j)
	slices.SortFunc(m.jobs, func(a, b *modelJob) int { return int(a.id) - int(b.id) })
	m.total++
	j.tube.total++
	m.note(j.tube, Puts)
	m.requeue(now, j)
}

// requeue makes a job ready, or delayed if it has a delay.
func (m *model) requeue(now Instant, j *modelJob) {
	if j.delay == 0 {
		m.makeReady(now, j)
		return
	}
	j.state, j.owner, j.deadline = Delayed, nil, now+Instant(j.delay)
}

func (m *model) command(now Instant, id ClientID, cmd *protocol.Command) {
	c := m.client(id)
	m.commands[cmd.Verb]++
	switch cmd.Verb {
	case protocol.Use:
		old := c.tube
		c.tube = m.tubeMade(string(cmd.Tube))
		m.reap(old)
		m.tell(c, "USING %s", c.tube.name)
	case protocol.Watch:
		if t := m.tubeMade(string(cmd.Tube)); !slices.Contains(c.watched, t) {
			c.watched = append(slices.Clone(c.watched), t)
		}
		m.tell(c, "WATCHING %d", len(c.watched))
	case protocol.Ignore:
		m.ignore(c, m.tubeNamed(string(cmd.Tube)))
	case protocol.Reserve:
		m.reserve(now, c, forever)
	case protocol.ReserveWithTimeout:
		m.reserve(now, c, now+Instant(cmd.Timeout))
	case protocol.ReserveJob:
		j := m.job(cmd.ID)
		if j == nil || j.state == Reserved {
			m.tell(c, "NOT_FOUND")
			return
		}
		c.worker = true
		m.give(now, c, j)
	case protocol.Delete:
		m.delete(now, c, m.job(cmd.ID))
	case protocol.Release, protocol.Bury, protocol.Touch:
		m.finish(now, c, m.held(c, cmd.ID), cmd)
	case protocol.Kick:
		m.kick(now, c, int(cmd.Count))
	case protocol.KickJob:
		j := m.job(cmd.ID)
		if j == nil || j.state != Buried && j.state != Delayed {
			m.tell(c, "NOT_FOUND")
			return
		}
		m.tell(c, "KICKED")
		m.kickOne(now, j)
	case protocol.Peek:
		m.peek(c, m.job(cmd.ID))
	case protocol.PeekReady:
		m.peek(c, first(m.in(c.tube, Ready)))
	case protocol.PeekDelayed:
		m.peek(c, first(m.in(c.tube, Delayed)))
	case protocol.PeekBuried:
		m.peek(c, first(m.in(c.tube, Buried)))
	case protocol.PauseTube:
		m.pause(now, c, m.tubeNamed(string(cmd.Tube)), cmd)
	case protocol.StatsJob:
		m.statsJob(now, c, m.job(cmd.ID))
	case protocol.StatsTube:
		m.statsTube(now, c, m.tubeNamed(string(cmd.Tube)))
	case protocol.ListTubes:
		m.listing(c, m.tubes)
	case protocol.ListTubeUsed:
		m.tell(c, "USING %s", c.tube.name)
	case protocol.ListTubesWatched:
		m.listing(c, c.watched)
	default:
		panic("the model does not know " + cmd.Verb.String())
	}
}

func first(list []*modelJob) *modelJob {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

func (m *model) ignore(c *modelClient, t *modelTube) {
	if at := slices.Index(c.watched, t); at >= 0 {
		if len(c.watched) == 1 {
			m.tell(c, "NOT_IGNORED")
			return
		}
		last := len(c.watched) - 1
		c.watched[at] = c.watched[last]
		c.watched = c.watched[:last]
		m.reap(t)
	}
	m.tell(c, "WATCHING %d", len(c.watched))
}

func (m *model) reserve(now Instant, c *modelClient, until Instant) {
	c.worker = true
	best := first(m.list(func(j *modelJob) bool {
		return j.state == Ready && j.tube.pause == 0 && slices.Contains(c.watched, j.tube)
	}, byPriority))
	switch {
	case best != nil:
		m.give(now, c, best)
	case m.near(now, c):
		m.tell(c, "DEADLINE_SOON")
	case until <= now || c.halfClosed:
		m.tell(c, "TIMED_OUT")
	default:
		c.waiting, c.since, c.until = true, m.tick(), until
	}
}

func (m *model) delete(now Instant, c *modelClient, j *modelJob) {
	if j == nil || j.state == Reserved && j.owner != c {
		m.tell(c, "NOT_FOUND")
		return
	}
	if j.state == Reserved {
		m.ran(j.tube, time.Duration(now-j.given))
	}
	m.forget(j)
	m.tell(c, "DELETED")
}

func (m *model) forget(j *modelJob) {
	m.jobs = slices.DeleteFunc(m.jobs, func(other *modelJob) bool { return other == j })
	j.tube.deletes++
	m.note(j.tube, Deletes)
	m.reap(j.tube)
}

// finish is release, bury and touch, which only the holder may do.
func (m *model) finish(now Instant, c *modelClient, j *modelJob, cmd *protocol.Command) {
	switch {
	case j == nil:
		m.tell(c, "NOT_FOUND")
	case cmd.Verb == protocol.Touch:
		j.deadline = now + Instant(j.ttr)
		m.tell(c, "TOUCHED")
	case cmd.Verb == protocol.Bury:
		j.pri = cmd.Priority
		m.bury(j)
		j.buries++
		m.note(j.tube, Buries)
		m.tell(c, "BURIED")
	default:
		j.pri, j.delay = cmd.Priority, cmd.Delay
		j.releases++
		m.note(j.tube, Releases)
		m.tell(c, "RELEASED")
		m.requeue(now, j)
	}
}

func (m *model) kick(now Instant, c *modelClient, limit int) {
	list := m.in(c.tube, Buried)
	if len(list) == 0 {
		list = m.in(c.tube, Delayed)
	}
	list = list[:min(limit, len(list))]
	m.tell(c, "KICKED %d", len(list))
	for _, j := range list {
		m.kickOne(now, j)
	}
}

func (m *model) kickOne(now Instant, j *modelJob) {
	j.kicks++
	m.note(j.tube, Kicks)
	m.makeReady(now, j)
}

func (m *model) peek(c *modelClient, j *modelJob) {
	if j == nil {
		m.tell(c, "NOT_FOUND")
		return
	}
	m.tell(c, "FOUND %d %d\r\n%s", j.id, len(j.body), j.body)
}

func (m *model) pause(now Instant, c *modelClient, t *modelTube, cmd *protocol.Command) {
	if t == nil {
		m.tell(c, "NOT_FOUND")
		return
	}
	t.pauses++
	t.pause, t.resume = cmd.Delay, now+Instant(cmd.Delay)
	m.tell(c, "PAUSED")
	m.serve(now, t)
}
