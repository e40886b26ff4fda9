package queue

import (
	"slices"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
)

// The model of what operators do and see.

// seen is what is noted while the queue is observed, of a tube or of all.
type seen struct {
	done      Counts
	wait, run Histogram
}

func (m *model) note(t *modelTube, e Event) {
	m.done[e]++
	t.done[e]++
}

func (m *model) waited(t *modelTube, d time.Duration) {
	m.wait.Add(d)
	t.wait.Add(d)
}

func (m *model) ran(t *modelTube, d time.Duration) {
	m.run.Add(d)
	t.run.Add(d)
}

func (m *model) bytes(t *modelTube) (n int) {
	for _, j := range m.jobs {
		if j.tube == t {
			n += len(j.body)
		}
	}
	return n
}

// over tells whether another job of that size is one too many.
func (m *model) over(t *modelTube, size int) bool {
	n := m.counts(func(j *modelJob) bool { return j.tube == t })
	jobs := n.Ready + n.Reserved + n.Delayed + n.Buried
	return m.limits.TubeJobs > 0 && jobs >= m.limits.TubeJobs ||
		m.limits.TubeBytes > 0 && uint64(m.bytes(t)+size) > m.limits.TubeBytes
}

func (m *model) insert(now Instant, in *Insertion) (protocol.JobID, error) {
	switch {
	case len(in.Body) > int(m.maxJobSize):
		return 0, ErrTooBig
	case m.draining:
		return 0, ErrDraining
	case !protocol.ValidTube([]byte(in.Tube)):
		return 0, ErrBadTube
	case m.full:
		return 0, ErrNoRoom
	}
	if t := m.tubeNamed(in.Tube); t != nil && m.over(t, len(in.Body)) || t == nil && m.over(&modelTube{}, len(in.Body)) {
		return 0, ErrNoRoom
	}
	j := &modelJob{
		id: m.nextID, pri: in.Priority, delay: in.Delay, ttr: max(in.TTR, protocol.MinTTR),
		tube: m.tubeMade(in.Tube), created: now, body: string(in.Body),
	}
	m.nextID++
	m.accept(now, j)
	return j.id, nil
}

// pick finds a job that an operator may take from where it is.
func (m *model) pick(id protocol.JobID, hold Hold) (*modelJob, error) {
	j := m.job(id)
	switch {
	case j == nil:
		return nil, ErrNoJob
	case j.state == Reserved && hold == Respect:
		return nil, ErrReserved
	}
	return j, nil
}

func (m *model) remove(id protocol.JobID, hold Hold) error {
	j, err := m.pick(id, hold)
	if err == nil {
		m.forget(j)
	}
	return err
}

func (m *model) kickByOperator(now Instant, id protocol.JobID) error {
	j := m.job(id)
	switch {
	case j == nil:
		return ErrNoJob
	case j.state != Buried && j.state != Delayed:
		return ErrNotKickable
	}
	m.kickOne(now, j)
	return nil
}

func (m *model) buryByOperator(id protocol.JobID, hold Hold) error {
	j, err := m.pick(id, hold)
	if err == nil {
		m.bury(j)
		j.buries++
		m.note(j.tube, Buries)
	}
	return err
}

func (m *model) giveBack(now Instant, id protocol.JobID, delay time.Duration) error {
	j := m.job(id)
	switch {
	case j == nil:
		return ErrNoJob
	case j.state != Reserved:
		return ErrNotReserved
	}
	j.delay = delay
	j.releases++
	m.note(j.tube, Releases)
	m.requeue(now, j)
	return nil
}

func (m *model) move(now Instant, id protocol.JobID, tube string, hold Hold) error {
	j := m.job(id)
	switch {
	case j == nil:
		return ErrNoJob
	case j.tube.name == tube:
		return nil
	case j.state == Reserved && hold == Respect:
		return ErrReserved
	case !protocol.ValidTube([]byte(tube)):
		return ErrBadTube
	}
	if t := m.tubeNamed(tube); t != nil && m.over(t, len(j.body)) || t == nil && m.over(&modelTube{}, len(j.body)) {
		return ErrNoRoom
	}
	from := j.tube
	j.tube = m.tubeMade(tube)
	switch j.state {
	case Delayed, Incoming:
	case Buried:
		m.bury(j)
	case Ready, Reserved:
		m.makeReady(now, j)
	}
	m.reap(from)
	return nil
}

func (m *model) alter(now Instant, id protocol.JobID, a *Alteration) error {
	j, err := m.pick(id, Respect)
	if err != nil {
		return err
	}
	if a.Priority != nil {
		j.pri = *a.Priority
	}
	if a.TTR != nil {
		j.ttr = max(*a.TTR, protocol.MinTTR)
	}
	if a.Delay != nil {
		j.delay = *a.Delay
		if j.state != Buried {
			m.requeue(now, j)
		}
	}
	return nil
}

func (m *model) pauseByOperator(now Instant, tube string, length time.Duration) error {
	t := m.tubeNamed(tube)
	if t == nil {
		return ErrNoTube
	}
	t.pauses++
	t.pause, t.resume = length, now+Instant(length)
	m.serve(now, t)
	return nil
}

// selects tells whether a job is one of a selection.
func (m *model) selects(j *modelJob, sel *Selection) bool {
	return (sel.Tube == "" || sel.Tube == j.tube.name) &&
		(sel.States == 0 || sel.States&StatesOf(j.state) != 0) &&
		j.created >= sel.Oldest && (sel.Newest == 0 || j.created <= sel.Newest) &&
		j.reserves >= int(sel.MinTries) && (sel.MaxTries == nil || j.reserves <= int(*sel.MaxTries))
}

func (j *modelJob) rank() Rank {
	switch j.state {
	case Ready:
		return Rank{uint64(j.pri), j.id}
	case Buried:
		return Rank{uint64(j.burial), j.id}
	default:
		return Rank{uint64(j.deadline), j.id}
	}
}

func (j *modelJob) record() Record {
	r := Record{
		ID: j.id, Tube: j.tube.name, State: j.state, Priority: j.pri, Size: uint32(len(j.body)), Delay: j.delay, TTR: j.ttr, Created: j.created,
		Reserves: uint32(j.reserves), Timeouts: uint32(j.timeouts), Releases: uint32(j.releases), Buries: uint32(j.buries), Kicks: uint32(j.kicks),
	}
	switch j.state {
	case Delayed:
		r.Due = j.deadline
	case Buried:
		r.Burial = uint64(j.burial)
	case Ready, Reserved, Incoming:
	}
	return r
}

func (j *modelJob) view() JobView {
	v := JobView{Record: j.record(), Rank: j.rank()}
	switch j.state {
	case Ready:
		v.Since = j.ready
	case Delayed:
		v.Until = j.deadline
	case Reserved:
		v.Since, v.Until, v.Owner = j.given, j.deadline, j.owner.id
	case Buried, Incoming:
	}
	return v
}

// view is a tube but for its oldest ready job and its histograms.
func (m *model) view(t *modelTube, observed bool) TubeView {
	v := TubeView{
		Name: t.name, Jobs: m.counts(func(j *modelJob) bool { return j.tube == t }), TotalJobs: uint64(t.total),
		Deletes: uint64(t.deletes), Pauses: uint64(t.pauses), Bytes: uint64(m.bytes(t)), Using: m.users(t), Watching: m.watchers(t),
	}
	for _, c := range m.clients {
		if c.waiting && slices.Contains(c.watched, t) {
			v.Waiting++
		}
	}
	if t.pause > 0 {
		v.Pause, v.Resume = t.pause, t.resume
	}
	if observed {
		v.Done = t.done
	}
	return v
}

func (m *model) clientView(c *modelClient, most int) ClientView {
	held := m.heldBy(c, bySince)
	v := ClientView{
		ID: c.id, Producer: c.producer, Worker: c.worker, Waiting: c.waiting, Until: forever, Uses: c.tube.name,
		WatchCount: len(c.watched), HoldCount: len(held),
	}
	if c.waiting {
		v.Until = c.until
	}
	for _, t := range c.watched[:min(most, len(c.watched))] {
		v.Watches = append(v.Watches, t.name)
	}
	for _, j := range held[:min(most, len(held))] {
		v.Holds = append(v.Holds, Holding{j.id, j.tube.name, j.given, j.deadline})
	}
	if len(held) > 0 {
		v.OldestSince = held[0].given
	}
	return v
}
