package queue

import (
	"fmt"

	"github.com/haricotq/haricot/internal/protocol"
)

// Check goes through the whole queue and reports the first thing that is not as
// it must be. It is for tests and takes time in proportion to the queue.
func (m *Machine) Check() error {
	seen := make(map[slot]bool)
	var all protocol.JobCounts
	for _, t := range m.listed {
		if err := m.checkTube(t, seen); err != nil {
			return fmt.Errorf("tube %q: %w", t.name, err)
		}
		add(&all, t.jobs)
	}
	if all != m.stats.Jobs {
		return fmt.Errorf("the tubes have %+v jobs, the queue counts %+v", all, m.stats.Jobs)
	}
	held := make(map[uint32]uint64)
	incomingJobs, waiting := 0, uint64(0)
	for _, c := range m.clients {
		if c == nil {
			continue
		}
		if err := m.checkClient(c, seen, held); err != nil {
			return fmt.Errorf("client %d: %w", c.id, err)
		}
		if c.put.job != 0 {
			incomingJobs++
		}
		if c.waiting {
			waiting++
		}
	}
	if waiting != m.stats.Waiting {
		return fmt.Errorf("%d clients wait, the queue counts %d", waiting, m.stats.Waiting)
	}
	for _, t := range m.listed {
		if held[t.number] != t.jobs.Reserved {
			return fmt.Errorf("tube %q: clients hold %d jobs, the tube counts %d", t.name, held[t.number], t.jobs.Reserved)
		}
	}
	if len(seen)+incomingJobs+m.deleted != m.jobs.Len() {
		return fmt.Errorf("%d jobs are in places, %d incoming and %d deleted, %d have records", len(seen), incomingJobs, m.deleted, m.jobs.Len())
	}
	if err := m.checkIndex(len(seen)); err != nil {
		return err
	}
	return m.checkTimers()
}

func add(sum *protocol.JobCounts, c protocol.JobCounts) {
	sum.Urgent += c.Urgent
	sum.Ready += c.Ready
	sum.Reserved += c.Reserved
	sum.Delayed += c.Delayed
	sum.Buried += c.Buried
}

func (m *Machine) checkTube(t *tube, seen map[slot]bool) error {
	if m.tubes[t.name] != t || m.listed[t.at] != t || m.numbered[t.number] != t {
		return fmt.Errorf("is not where its name, position %d and number %d say", t.at, t.number)
	}
	urgent, err := m.checkReady(t, seen)
	if err != nil {
		return err
	}
	if err := m.checkHeap(&t.delayed, Delayed, seen); err != nil {
		return err
	}
	inChain, err := m.checkChain(&t.buried, func(s slot) error {
		if seen[s] || m.job(s).state != Buried {
			return fmt.Errorf("buried job %d is in two places or not marked", m.job(s).id)
		}
		seen[s] = true
		return nil
	})
	if err != nil {
		return err
	}
	want := protocol.JobCounts{Urgent: urgent, Ready: uint64(t.ready.n), Reserved: t.jobs.Reserved, Delayed: uint64(t.delayed.n), Buried: inChain}
	if t.jobs != want {
		return fmt.Errorf("has %+v jobs and counts %+v", want, t.jobs)
	}
	if n := t.seen.ready(); m.config.Observed && n != want.Ready {
		return fmt.Errorf("has %d ready jobs, and ages of %d", want.Ready, n)
	}
	if sum := want.Ready + want.Reserved + want.Delayed + want.Buried; sum == 0 && t.using+t.watching == 0 && t.name != protocol.DefaultTube {
		return fmt.Errorf("exists though nothing refers to it")
	}
	for i, w := range t.line {
		if w.place != i || w.tube != t || i > 0 && w.before(t.line[(i-1)/2]) {
			return fmt.Errorf("line is out of order at %d", i)
		}
		if w.key > w.client.ticket {
			return fmt.Errorf("client %d stands behind its place in line", w.client.id)
		}
		if w.client.waiting && t.ready.n > 0 && !t.paused() {
			return fmt.Errorf("has ready jobs and client %d waits for one", w.client.id)
		}
	}
	return nil
}

func (m *Machine) checkReady(t *tube, seen map[slot]bool) (urgent uint64, err error) {
	if err := m.checkHeap(&t.ready, Ready, seen); err != nil {
		return 0, err
	}
	if holding := t.heldAt < len(m.holding) && m.holding[t.heldAt] == t; holding != (t.ready.n > 0) {
		return 0, fmt.Errorf("has %d ready jobs, and among the tubes that hold some: %v", t.ready.n, holding)
	}
	for i := range t.ready.n {
		j := m.job(t.ready.at(i).slot)
		if m.tubeOf(j) != t {
			return 0, fmt.Errorf("job %d is of tube %q", j.id, m.tubeOf(j).name)
		}
		if j.priority < protocol.UrgentBelow {
			urgent++
		}
	}
	return urgent, nil
}

func (m *Machine) checkHeap(h *heap, want State, seen map[slot]bool) error {
	for i := range h.n {
		e := *h.at(i)
		j := m.job(e.slot)
		if seen[e.slot] {
			return fmt.Errorf("job %d is in two places", j.id)
		}
		seen[e.slot] = true
		if j.state != want || int(j.place) != i {
			return fmt.Errorf("job %d is %v at %d, found %v at %d", j.id, j.state, j.place, want, i)
		}
		if i > 0 && m.before(e, *h.at((i - 1) / arity)) {
			return fmt.Errorf("job %d stands before its parent among the %v", j.id, want)
		}
		keyed := entry{uint64(j.deadline), 0, e.slot}
		if want == Ready {
			keyed = entry{uint64(j.id), uint32(j.priority), e.slot}
		}
		if e != keyed {
			return fmt.Errorf("job %d has key %+v, not %+v", j.id, e, keyed)
		}
	}
	return nil
}

func (m *Machine) checkChain(c *chain, each func(slot) error) (n uint64, err error) {
	before := slot(0)
	for s := c.first; s != 0; s = m.past(s).next {
		if m.job(s).history == 0 || m.past(s).prev != before {
			return n, fmt.Errorf("job %d is linked wrongly", m.job(s).id)
		}
		if err := each(s); err != nil {
			return n, err
		}
		before = s
		n++
	}
	if c.last != before {
		return n, fmt.Errorf("a list does not end at its last job")
	}
	return n, nil
}

func (m *Machine) checkClient(c *client, seen map[slot]bool, held map[uint32]uint64) error {
	if err := m.checkHeap(&c.reserved, Reserved, seen); err != nil {
		return err
	}
	n, err := m.checkChain(&c.held, func(s slot) error {
		if m.job(s).state != Reserved || m.past(s).owner != c.id {
			return fmt.Errorf("holds job %d that is %v", m.job(s).id, m.job(s).state)
		}
		held[m.job(s).tube]++
		return nil
	})
	if err != nil {
		return err
	}
	if n != uint64(c.reserved.n) {
		return fmt.Errorf("holds %d jobs, %d of them in order of deadline", n, c.reserved.n)
	}
	for i, w := range c.watches {
		if w.at != i || c.watchOf(w.tube) != w {
			return fmt.Errorf("watch of %q is not where it says", w.tube.name)
		}
		if w.place == absent && c.away[w.awayAt] != w || w.place != absent && w.tube.line[w.place] != &w.item {
			return fmt.Errorf("watch of %q is neither in line nor away", w.tube.name)
		}
	}
	if c.waiting && len(c.away) > 0 {
		return fmt.Errorf("waits and is away from %d lines", len(c.away))
	}
	return nil
}

func (m *Machine) checkIndex(want int) error {
	n := 0
	for i := range m.ids.shards {
		s := &m.ids.shards[i]
		used := 0
		for _, j := range s.slots {
			if j == 0 {
				continue
			}
			used++
			if m.find(m.job(j).id) != j {
				return fmt.Errorf("job %d cannot be found by its id", m.job(j).id)
			}
		}
		if used != s.used {
			return fmt.Errorf("shard %d of the index has %d jobs and counts %d", i, used, s.used)
		}
		n += used
	}
	if n != want {
		return fmt.Errorf("the index has %d jobs, the tubes and clients %d", n, want)
	}
	return nil
}

// checkTimers sees to it that nothing can be slept through.
func (m *Machine) checkTimers() error {
	check := func(t *item, at Instant, who string) error {
		if at != forever && (t.place == absent || t.key > int64(at)) {
			return fmt.Errorf("%s wants attention at %d and will not get it", who, at)
		}
		if t.place != absent && m.timers[t.place] != t {
			return fmt.Errorf("%s has its timer elsewhere", who)
		}
		return nil
	}
	for i, t := range m.timers {
		if i > 0 && t.before(m.timers[(i-1)/2]) {
			return fmt.Errorf("timers are out of order at %d", i)
		}
	}
	for _, t := range m.listed {
		if err := check(&t.timer, t.attention(), t.name); err != nil {
			return err
		}
	}
	for _, c := range m.clients {
		if c == nil {
			continue
		}
		if err := check(&c.timer, c.attention(), fmt.Sprintf("client %d", c.id)); err != nil {
			return err
		}
	}
	return nil
}

// ready is of how many jobs the ages are noted.
func (o *observation) ready() (n uint64) {
	if o != nil {
		for _, g := range o.since.groups {
			n += uint64(g.n)
		}
	}
	return n
}
