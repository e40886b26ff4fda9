package queue

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
)

// The model is the queue told in the simplest way: lists that are searched from
// end to end, nothing kept that can be counted, moments that are compared. It is
// what the rules of the protocol say, and the machine must tell every client
// the same.
type model struct {
	maxJobSize uint32
	limits     Limits // of tubes
	durable    bool
	draining   bool
	full       bool
	nextID     protocol.JobID
	jobs       []*modelJob // that are complete, by id
	tubes      []*modelTube
	clients    []*modelClient
	order      int // a number that grows, to tell what came first

	commands                    protocol.CommandCounts
	timeouts, total, everOpened uint64

	burials int
	seen    // of all tubes

	told map[ClientID]string
}

type modelJob struct {
	id                protocol.JobID
	pri               protocol.Priority
	delay, ttr        time.Duration
	body              string
	tube              *modelTube
	state             State
	since             int // when it came to be reserved or buried, by model.order
	owner             *modelClient
	created, deadline Instant
	ready, given      Instant // since when it is ready, or reserved
	burial            int     // number in the order of burial

	reserves, timeouts, releases, buries, kicks int
}

type modelTube struct {
	name                   string
	pause                  time.Duration
	resume                 Instant
	total, deletes, pauses int
	seen
}

type modelClient struct {
	id                           ClientID
	tube                         *modelTube
	watched                      []*modelTube
	waiting                      bool
	since                        int
	until                        Instant
	producer, worker, halfClosed bool

	midPut  bool
	put     *modelJob
	refusal string
}

func newModel(maxJobSize uint32) *model {
	return &model{maxJobSize: maxJobSize, nextID: 1, tubes: []*modelTube{{name: "default"}}, told: make(map[ClientID]string)}
}

func (m *model) tell(c *modelClient, format string, args ...any) {
	m.told[c.id] += fmt.Sprintf(format, args...) + "\r\n"
}

func (m *model) tick() int {
	m.order++
	return m.order
}

// Finding.

func (m *model) client(id ClientID) *modelClient {
	for _, c := range m.clients {
		if c.id == id {
			return c
		}
	}
	return nil
}

func (m *model) tubeNamed(name string) *modelTube {
	for _, t := range m.tubes {
		if t.name == name {
			return t
		}
	}
	return nil
}

func (m *model) tubeMade(name string) *modelTube {
	if t := m.tubeNamed(name); t != nil {
		return t
	}
	t := &modelTube{name: name}
	m.tubes = append(m.tubes, t)
	return t
}

func (m *model) job(id protocol.JobID) *modelJob {
	for _, j := range m.jobs {
		if j.id == id {
			return j
		}
	}
	return nil
}

// held finds a job by its id if the client has reserved it.
func (m *model) held(c *modelClient, id protocol.JobID) *modelJob {
	if j := m.job(id); j != nil && j.state == Reserved && j.owner == c {
		return j
	}
	return nil
}

// list has the jobs for which keep is true in the order of less.
func (m *model) list(keep func(*modelJob) bool, less func(a, b *modelJob) bool) (list []*modelJob) {
	for _, j := range m.jobs {
		if keep(j) {
			list = append(list, j)
		}
	}
	slices.SortStableFunc(list, func(a, b *modelJob) int {
		switch {
		case less(a, b):
			return -1
		case less(b, a):
			return 1
		}
		return 0
	})
	return list
}

func byPriority(a, b *modelJob) bool { return a.pri < b.pri || a.pri == b.pri && a.id < b.id }
func byDeadline(a, b *modelJob) bool {
	return a.deadline < b.deadline || a.deadline == b.deadline && a.id < b.id
}
func bySince(a, b *modelJob) bool { return a.since < b.since }

func (m *model) in(t *modelTube, s State) []*modelJob {
	return m.list(func(j *modelJob) bool { return j.tube == t && j.state == s }, map[State]func(a, b *modelJob) bool{
		Ready: byPriority, Delayed: byDeadline, Buried: bySince, Reserved: bySince,
	}[s])
}

func (m *model) heldBy(c *modelClient, less func(a, b *modelJob) bool) []*modelJob {
	return m.list(func(j *modelJob) bool { return j.state == Reserved && j.owner == c }, less)
}

func (m *model) watchers(t *modelTube) (n int) {
	for _, c := range m.clients {
		if slices.Contains(c.watched, t) {
			n++
		}
	}
	return n
}

func (m *model) users(t *modelTube) (n int) {
	for _, c := range m.clients {
		if c.tube == t {
			n++
		}
	}
	return n
}

// Moving.

// reap ends a tube that nothing refers to; the last of the list takes its place.
func (m *model) reap(t *modelTube) {
	if t.name == "default" || m.users(t) > 0 || m.watchers(t) > 0 || slices.ContainsFunc(m.jobs, func(j *modelJob) bool { return j.tube == t }) {
		return
	}
	last := len(m.tubes) - 1
	m.tubes[slices.Index(m.tubes, t)] = m.tubes[last]
	m.tubes = m.tubes[:last]
}

func (m *model) makeReady(now Instant, j *modelJob) {
	j.ready = now
	m.stayReady(now, j)
}

// stayReady does so with a job that is ready since some time.
func (m *model) stayReady(now Instant, j *modelJob) {
	j.state, j.owner = Ready, nil
	m.serve(now, j.tube)
}

// bury buries a job.
func (m *model) bury(j *modelJob) {
	m.burials++
	j.state, j.owner, j.since, j.burial = Buried, nil, m.tick(), m.burials
}

// serve gives what is ready in a tube to who waits there, longest first.
func (m *model) serve(now Instant, t *modelTube) {
	for t.pause == 0 {
		var longest *modelClient
		for _, c := range m.clients {
			if c.waiting && slices.Contains(c.watched, t) && (longest == nil || c.since < longest.since) {
				longest = c
			}
		}
		jobs := m.in(t, Ready)
		if longest == nil || len(jobs) == 0 {
			return
		}
		longest.waiting = false
		m.give(now, longest, jobs[0])
	}
}

func (m *model) give(now Instant, c *modelClient, j *modelJob) {
	if j.state == Ready {
		m.waited(j.tube, time.Duration(now-j.ready))
	}
	j.state, j.owner, j.since, j.given, j.deadline = Reserved, c, m.tick(), now, now+Instant(j.ttr)
	j.reserves++
	m.note(j.tube, Reserves)
	m.tell(c, "RESERVED %d %d\r\n%s", j.id, len(j.body), j.body)
}

// Clients.

func (m *model) open(id ClientID) {
	m.everOpened++
	m.clients = append(m.clients, &modelClient{id: id, tube: m.tubes[0], watched: []*modelTube{m.tubes[0]}})
}

func (m *model) close(now Instant, id ClientID) {
	c := m.client(id)
	c.waiting = false
	m.clients = slices.DeleteFunc(m.clients, func(other *modelClient) bool { return other == c })
	for _, t := range slices.Backward(c.watched) {
		// It is still used by the client, or not at all.
		if t != c.tube {
			m.reap(t)
		}
	}
	for _, j := range m.heldBy(c, bySince) {
		m.makeReady(now, j)
	}
	m.reap(c.tube)
}

func (m *model) halfClose(id ClientID) {
	c := m.client(id)
	c.halfClosed = true
	if c.waiting {
		c.waiting = false
		m.tell(c, "TIMED_OUT")
	}
}

// What is due.

const margin = Instant(time.Second)

// attention is when something of a tube or of a client is due.
func (m *model) tubeAttention(t *modelTube) Instant {
	at := forever
	if d := m.in(t, Delayed); len(d) > 0 {
		at = d[0].deadline
	}
	if t.pause > 0 {
		at = min(at, t.resume)
	}
	return at
}

func (m *model) clientAttention(c *modelClient) Instant {
	at := forever
	if c.waiting {
		at = c.until
	}
	if h := m.heldBy(c, byDeadline); len(h) > 0 {
		first := h[0].deadline
		if c.waiting {
			first -= margin
		}
		at = min(at, first)
	}
	return at
}

// next finds who is next; at one moment tubes come before clients.
func (m *model) next() (at Instant, t *modelTube, c *modelClient) {
	at = forever
	for _, each := range m.tubes {
		if a := m.tubeAttention(each); a < at {
			at, t = a, each
		}
	}
	for _, each := range m.clients {
		if a := m.clientAttention(each); a < at || a == at && c != nil && each.id < c.id {
			at, t, c = a, nil, each
		}
	}
	return at, t, c
}

// advance does one thing that is due.
func (m *model) advance(now Instant) bool {
	at, t, c := m.next()
	if at > now || at == forever {
		return false
	}
	if c != nil {
		m.advanceClient(now, c)
	} else {
		m.advanceTube(now, t)
	}
	return true
}

func (m *model) advanceTube(now Instant, t *modelTube) {
	if d := m.in(t, Delayed); len(d) > 0 && d[0].deadline <= now {
		m.makeReady(now, d[0])
		return
	}
	t.pause = 0
	m.serve(now, t)
}

func (m *model) advanceClient(now Instant, c *modelClient) {
	if h := m.heldBy(c, byDeadline); len(h) > 0 && h[0].deadline <= now {
		h[0].timeouts++
		m.timeouts++
		m.note(h[0].tube, Timeouts)
		m.makeReady(now, h[0])
		return
	}
	c.waiting = false
	if m.near(now, c) {
		m.tell(c, "DEADLINE_SOON")
	} else {
		m.tell(c, "TIMED_OUT")
	}
}

func (m *model) near(now Instant, c *modelClient) bool {
	h := m.heldBy(c, byDeadline)
	return len(h) > 0 && h[0].deadline-margin <= now
}

// Statistics.

func (m *model) counts(keep func(*modelJob) bool) (n protocol.JobCounts) {
	for _, j := range m.jobs {
		if !keep(j) {
			continue
		}
		switch j.state {
		case Ready:
			n.Ready++
			if j.pri < 1024 {
				n.Urgent++
			}
		case Reserved:
			n.Reserved++
		case Delayed:
			n.Delayed++
		case Buried:
			n.Buried++
		case Incoming:
		}
	}
	return n
}

func (m *model) stats() protocol.QueueStats {
	s := protocol.QueueStats{
		Jobs: m.counts(func(*modelJob) bool { return true }), Commands: m.commands, JobTimeouts: m.timeouts, TotalJobs: m.total, MaxJobSize: m.maxJobSize,
		Tubes: uint64(len(m.tubes)), Connections: uint64(len(m.clients)), TotalConnections: m.everOpened, Draining: m.draining,
	}
	for _, c := range m.clients {
		if c.producer {
			s.Producers++
		}
		if c.worker {
			s.Workers++
		}
		if c.waiting {
			s.Waiting++
		}
	}
	return s
}

func (m *model) document(c *modelClient, text string) {
	m.tell(c, "OK %d\r\n%s", len(text), text)
}

// seconds cuts a time to whole ones. Of times that are left a nanosecond more is
// taken: what was just begun has no longer all of its time.
func seconds(d time.Duration) int64 { return int64(d / time.Second) }

func (m *model) statsJob(now Instant, c *modelClient, j *modelJob) {
	if j == nil {
		m.tell(c, "NOT_FOUND")
		return
	}
	left := time.Duration(0)
	if j.state == Reserved || j.state == Delayed {
		left = time.Duration(j.deadline - now - 1)
	}
	file := 0
	if m.durable {
		file = 1
	}
	m.document(c, fmt.Sprintf("---\nid: %d\ntube: %s\nstate: %s\npri: %d\nage: %d\ndelay: %d\nttr: %d\ntime-left: %d\nfile: %d\n"+
		"reserves: %d\ntimeouts: %d\nreleases: %d\nburies: %d\nkicks: %d\n",
		j.id, j.tube.name, j.state, j.pri, seconds(time.Duration(now-j.created)), seconds(j.delay), seconds(j.ttr), seconds(left), file,
		j.reserves, j.timeouts, j.releases, j.buries, j.kicks))
}

func (m *model) statsTube(now Instant, c *modelClient, t *modelTube) {
	if t == nil {
		m.tell(c, "NOT_FOUND")
		return
	}
	n := m.counts(func(j *modelJob) bool { return j.tube == t })
	waiting, left := 0, time.Duration(0)
	for _, each := range m.clients {
		if each.waiting && slices.Contains(each.watched, t) {
			waiting++
		}
	}
	if t.pause > 0 {
		left = time.Duration(t.resume - now - 1)
	}
	m.document(c, fmt.Sprintf("---\nname: %s\ncurrent-jobs-urgent: %d\ncurrent-jobs-ready: %d\ncurrent-jobs-reserved: %d\ncurrent-jobs-delayed: %d\n"+
		"current-jobs-buried: %d\ntotal-jobs: %d\ncurrent-using: %d\ncurrent-watching: %d\ncurrent-waiting: %d\ncmd-delete: %d\ncmd-pause-tube: %d\n"+
		"pause: %d\npause-time-left: %d\n",
		t.name, n.Urgent, n.Ready, n.Reserved, n.Delayed, n.Buried, t.total, m.users(t), m.watchers(t), waiting, t.deletes, t.pauses,
		seconds(t.pause), seconds(left)))
}

func (m *model) listing(c *modelClient, tubes []*modelTube) {
	var b strings.Builder
	b.WriteString("---\n")
	for _, t := range tubes {
		fmt.Fprintf(&b, "- %s\n", t.name)
	}
	m.document(c, b.String())
}
