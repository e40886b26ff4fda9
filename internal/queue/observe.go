package queue

// Event is something that happens to jobs, by whatever hand.
type Event uint8

// The events.
const (
	Puts Event = iota
	Reserves
	Deletes
	Releases
	Buries
	Kicks
	Timeouts
	events
)

// String returns the event's name.
func (e Event) String() string {
	return [...]string{"puts", "reserves", "deletes", "releases", "buries", "kicks", "timeouts"}[e]
}

// Counts says how often what has happened since the start, by Event.
type Counts [events]uint64

// observation is what is noted of a tube while the queue is observed.
type observation struct {
	done  Counts
	since ages // of its ready jobs
	// How long jobs waited to be reserved, and ran until they were deleted; nil
	// until there is something.
	wait, run *Histogram
}

// note counts an event.
func (m *Machine) note(t *tube, e Event) {
	m.done[e]++
	if t.seen != nil {
		t.seen.done[e]++
	}
}

// nowReady and notReady note that a job of a tube has become ready at a moment,
// and that it is no longer.
func (m *Machine) nowReady(t *tube, since Instant) {
	if t.seen != nil {
		t.seen.since.add(since)
		m.since.add(since)
	}
}

func (m *Machine) notReady(t *tube, since Instant) {
	if t.seen != nil {
		t.seen.since.remove(since)
		m.since.remove(since)
	}
}

// waited notes that a ready job is being reserved.
func (m *Machine) waited(j *job, now Instant) {
	if o := m.tubeOf(j).seen; o != nil {
		d := now.sub(j.deadline)
		observe(&o.wait, d)
		m.wait.Add(d)
	}
}

// ran notes that a reserved job is being deleted by the client that holds it.
func (m *Machine) ran(s slot, now Instant) {
	if o := m.tubeOf(m.job(s)).seen; o != nil {
		d := now.sub(m.past(s).since)
		observe(&o.run, d)
		m.run.Add(d)
	}
}
