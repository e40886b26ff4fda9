package queue

import (
	"time"

	"github.com/haricotq/haricot/internal/protocol"
)

func (m *Machine) peek(c *client, s slot) {
	if s == 0 {
		m.say(c, protocol.NotFound)
		return
	}
	m.tellJob(c, protocol.Found, s)
}

// Stats returns what the queue knows of the reply to stats.
func (m *Machine) Stats() protocol.QueueStats {
	s := m.stats
	s.MaxJobSize = m.config.MaxJobSize
	s.Tubes = uint64(len(m.tubes))
	s.Draining = m.draining
	return s
}

func (m *Machine) document(c *client) {
	m.tell(c, protocol.Reply{Form: protocol.Document, Word: protocol.OK, Data: m.scratch})
}

func (m *Machine) statsJob(now Instant, c *client, id protocol.JobID) {
	s := m.find(id)
	if s == 0 {
		m.say(c, protocol.NotFound)
		return
	}
	j := m.job(s)
	stats := protocol.JobStats{
		ID:       j.id,
		Tube:     m.tubeOf(j).name,
		State:    j.state.String(),
		Priority: j.priority,
		Age:      now.sub(j.created),
		Delay:    time.Duration(j.delay) * time.Second,
		TTR:      j.timeToRun(),
	}
	if m.config.Durable {
		stats.File = 1
	}
	if j.state == Reserved || j.state == Delayed {
		stats.TimeLeft = left(now, j.deadline)
	}
	if j.history != 0 {
		h := m.past(s)
		stats.Reserves = uint64(h.reserves)
		stats.Timeouts = uint64(h.timeouts)
		stats.Releases = uint64(h.releases)
		stats.Buries = uint64(h.buries)
		stats.Kicks = uint64(h.kicks)
	}
	m.scratch = protocol.AppendJobStats(m.scratch[:0], &stats)
	m.document(c)
}

func (m *Machine) statsTube(now Instant, c *client, name []byte) {
	t := m.tubes[string(name)]
	if t == nil {
		m.say(c, protocol.NotFound)
		return
	}
	stats := protocol.TubeStats{
		Name:      t.name,
		Jobs:      t.jobs,
		TotalJobs: t.total,
		Using:     uint64(t.using),
		Watching:  uint64(t.watching),
		Waiting:   t.waiters(),
		Deletes:   t.deletes,
		Pauses:    t.pauses,
	}
	if t.paused() {
		stats.Pause, stats.PauseTimeLeft = t.pause, left(now, t.resume)
	}
	m.scratch = protocol.AppendTubeStats(m.scratch[:0], &stats)
	m.document(c)
}

// left is the time until a moment. Seconds are cut off when it is written, and
// since asking takes time too, clients expect 59 of a full minute: hence the
// nanosecond, for questions that arrive in the same turn as what they ask about.
func left(now, until Instant) time.Duration { return until.sub(now) - 1 }

// waiters counts the clients that wait at the tube. The line also has some
// that no longer do.
func (t *tube) waiters() (n uint64) {
	for _, i := range t.line {
		if i.client.waiting {
			n++
		}
	}
	return n
}

func (m *Machine) listTubes(c *client) {
	m.scratch = protocol.ListStart(m.scratch[:0])
	for _, t := range m.listed {
		m.scratch = protocol.ListEntry(m.scratch, t.name)
	}
	m.document(c)
}

func (m *Machine) listWatched(c *client) {
	m.scratch = protocol.ListStart(m.scratch[:0])
	for _, w := range c.watches {
		m.scratch = protocol.ListEntry(m.scratch, w.tube.name)
	}
	m.document(c)
}
