package queue

import "github.com/haricotq/haricot/internal/protocol"

// marks are what a job's record notes about the store.
type marks uint8

const (
	// changed: in Machine.changed.
	changed marks = 1 << iota
	// fresh: not in the store yet.
	fresh
	// gone: deleted, its record kept until the store knows.
	gone
	// away: the body is in the store only.
	away
)

// Changes are the effects of a turn that must survive.
type Changes struct {
	// Saved are jobs as they are now, to be written over what the store has.
	Saved []SavedJob
	// Deleted are jobs to be removed with their bodies.
	Deleted []protocol.JobID
	// Paused and Resumed are tubes whose pause is to be written or removed.
	Paused  []PauseRecord
	Resumed []string
	// NextID is the lowest id that no job has had.
	NextID protocol.JobID
	// Urgent tells that a client is told of a change as of something done, so
	// that no reply may be sent before all of them are safe.
	Urgent bool

	// used tells that an id was given to a job that has gone within the turn:
	// there is nothing to write of it but NextID.
	used bool
}

// SavedJob is a job to be written.
type SavedJob struct {
	Record
	// Body is the body of a job that the store does not have yet; nil for
	// others. It holds until Committed.
	Body []byte
	// Fresh tells that the store does not have the job yet.
	Fresh bool
}

// Empty tells whether there is nothing to write.
func (c *Changes) Empty() bool {
	return len(c.Saved)+len(c.Deleted)+len(c.Paused)+len(c.Resumed) == 0 && !c.used
}

// save notes that a job has changed.
func (m *Machine) save(s slot) {
	if !m.config.Durable {
		return
	}
	if j := m.job(s); j.marks&changed == 0 {
		j.marks |= changed
		m.changed = append(m.changed, s)
	}
}

// saveNow notes that a job has changed and that a client is told so.
func (m *Machine) saveNow(s slot) {
	m.save(s)
	m.urgent = m.config.Durable
}

// discard forgets a deleted job, as soon as the store knows.
func (m *Machine) discard(s slot) {
	if !m.config.Durable {
		m.free(s)
		return
	}
	m.saveNow(s)
	m.job(s).marks |= gone
	m.deleted++
}

// savePause notes that a tube's pause has begun or ended.
func (m *Machine) savePause(t *tube) {
	if m.config.Durable && (t.paused() || t.pauseSaved) {
		m.pauses = append(m.pauses, t.name)
		t.pauseSaved = t.paused()
	}
}

// Changes returns what has changed since Committed was last called. It holds
// until the next call of the machine.
func (m *Machine) Changes() *Changes {
	c := &m.changes
	c.Saved, c.Deleted, c.Paused, c.Resumed = c.Saved[:0], c.Deleted[:0], c.Paused[:0], c.Resumed[:0]
	c.NextID, c.Urgent, c.used = m.nextID, m.urgent, false
	for _, s := range m.changed {
		j := m.job(s)
		switch {
		case j.marks&gone == 0:
			saved := SavedJob{Record: m.record(s), Fresh: j.marks&fresh != 0}
			if saved.Fresh {
				saved.Body = m.body(j)
			}
			c.Saved = append(c.Saved, saved)
		case j.marks&fresh == 0:
			c.Deleted = append(c.Deleted, j.id)
		default:
			c.used = true
		}
	}
	for _, name := range m.pauses {
		if t := m.tubes[name]; t != nil && t.paused() {
			c.Paused = append(c.Paused, PauseRecord{name, t.pause, t.resume})
		} else {
			c.Resumed = append(c.Resumed, name)
		}
	}
	return c
}

// Committed tells that the store has what Changes returned. Memory that was
// kept for it is given back, and so are bodies beyond the limit.
func (m *Machine) Committed() {
	for _, s := range m.changed {
		j := m.job(s)
		if j.marks&gone != 0 {
			m.free(s)
			m.deleted--
			continue
		}
		if j.marks&fresh != 0 && j.size > 0 && m.config.Memory > 0 && m.memory.Used() > m.config.Memory {
			m.memory.Free(j.body, int(j.size))
			j.body = 0
			j.marks |= away
		}
		j.marks &^= changed | fresh
	}
	m.changed, m.pauses, m.urgent = m.changed[:0], m.pauses[:0], false
}
