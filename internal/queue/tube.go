package queue

import (
	"time"

	"github.com/haricotq/haricot/internal/protocol"
)

// tube holds jobs of one name. It exists while a client uses or watches it or
// a job is in it; the default tube always does.
type tube struct {
	name   string
	number uint32
	at     int // position in list-tubes

	ready   heap // by priority and id
	delayed heap // by the moment they are due
	buried  chain

	jobs                   protocol.JobCounts
	total, deletes, pauses uint64
	using, watching        int
	bytes                  uint64       // of the bodies of its jobs
	seen                   *observation // nil if the queue is not observed

	// line are the clients that wait here, longest first. Clients that have
	// stopped waiting leave it when they come to the front.
	line order
	// heldAt is the position in Machine.holding while there are ready jobs.
	heldAt int

	// pause is the length of the running pause, resume its end. A tube that is
	// not paused has 0.
	pause      time.Duration
	resume     Instant
	pauseSaved bool // the store has a pause of this tube
	timer      item
}

func (t *tube) paused() bool { return t.pause != 0 }

// size is how many jobs the tube has, in whatever state.
func (t *tube) size() uint64 {
	return t.jobs.Ready + t.jobs.Reserved + t.jobs.Delayed + t.jobs.Buried
}

// makeTube finds a tube or makes it.
func (m *Machine) makeTube(name []byte) *tube {
	if t := m.tubes[string(name)]; t != nil {
		return t
	}
	t := &tube{name: string(name), at: len(m.listed)}
	t.timer = item{tube: t, place: absent}
	if m.config.Observed {
		t.seen = new(observation)
	}
	if n := len(m.unused); n > 0 {
		t.number = m.unused[n-1]
		m.unused = m.unused[:n-1]
		m.numbered[t.number] = t
	} else {
		t.number = uint32(len(m.numbered))
		m.numbered = append(m.numbered, t)
	}
	m.tubes[t.name] = t
	m.listed = append(m.listed, t)
	return t
}

func (m *Machine) tubeOf(j *job) *tube { return m.numbered[j.tube] }

// reap ends a tube that nothing refers to any more. In the list the last one
// takes its position.
func (m *Machine) reap(t *tube) {
	if t.size() > 0 || t.using > 0 || t.watching > 0 || t.name == protocol.DefaultTube {
		return
	}
	if t.pauseSaved {
		t.pause = 0
		m.savePause(t)
	}
	t.ready.release(m.memory)
	t.delayed.release(m.memory)
	if t.timer.place != absent {
		m.timers.remove(&t.timer)
	}
	last := len(m.listed) - 1
	m.listed[t.at] = m.listed[last]
	m.listed[t.at].at = t.at
	m.listed[last] = nil
	m.listed = m.listed[:last]
	m.numbered[t.number] = nil
	m.unused = append(m.unused, t.number)
	delete(m.tubes, t.name)
}

// hold notes that a tube has got its first ready job, letGo that it has lost
// its last one.
func (m *Machine) hold(t *tube) {
	t.heldAt = len(m.holding)
	m.holding = append(m.holding, t)
}

func (m *Machine) letGo(t *tube) {
	last := len(m.holding) - 1
	m.holding[t.heldAt] = m.holding[last]
	m.holding[t.heldAt].heldAt = t.heldAt
	m.holding[last] = nil
	m.holding = m.holding[:last]
}

// count adds n to the number of jobs in a state, in the tube and in all.
func (m *Machine) count(t *tube, s State, n uint64) {
	switch s {
	case Ready:
		t.jobs.Ready += n
		m.stats.Jobs.Ready += n
	case Delayed:
		t.jobs.Delayed += n
		m.stats.Jobs.Delayed += n
	case Reserved:
		t.jobs.Reserved += n
		m.stats.Jobs.Reserved += n
	case Buried:
		t.jobs.Buried += n
		m.stats.Jobs.Buried += n
	case Incoming:
	}
}

// less one, for count.
const lessOne = ^uint64(0)

func (m *Machine) pause(now Instant, c *client, name []byte, length time.Duration) {
	t := m.tubes[string(name)]
	if t == nil {
		m.say(c, protocol.NotFound)
		return
	}
	m.pauseTube(now, t, length)
	m.say(c, protocol.Paused)
	m.serve(now, t)
}

// pauseTube begins a pause, or ends one.
func (m *Machine) pauseTube(now Instant, t *tube, length time.Duration) {
	t.pauses++
	t.pause, t.resume = length, now.add(length)
	m.savePause(t)
	m.urgent = m.config.Durable
	if t.paused() {
		m.arm(&t.timer, t.resume)
	}
}
