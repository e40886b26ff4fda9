package load

import (
	"bytes"
	"fmt"
	"strconv"
)

const (
	crlf      = "\r\n"
	timeToRun = 600 // seconds; long enough that no job of a run comes back by itself
	// ownTube is where jobs go on a server that was not started for the purpose, so that others' jobs are left alone.
	ownTube    = "haricot-bench"
	tubePrefix = ownTube + "-"
)

// say appends a command that is ready to be sent.
func (c *client) say(command string) {
	c.out = append(c.out, command...)
	c.queued++
}

func (c *client) sayDelete(digits []byte) {
	c.out = append(append(append(c.out, "delete "...), digits...), crlf...)
	c.queued++
}

// jobs makes puts and knows what workers must get to see.
type jobs struct {
	body   []byte
	whole  []byte // a put with priority 0 and no delay
	tail   []byte // what follows the delay in a put
	random bool   // priorities at random, over the whole range
	seed   uint64
	delay  func() uint64 // in seconds; nil is none
}

// newJobs makes jobs with bodies of a size.
func newJobs(size int) *jobs {
	body := make([]byte, size)
	for i := range body {
		// Text like that of real jobs compresses to about a half.
		body[i] = "0123456789abcdef"[(uint32(i)*2654435761)>>28]
	}
	tail := fmt.Appendf(nil, " %d %d\r\n%s\r\n", timeToRun, size, body)
	return &jobs{body: body, whole: fmt.Appendf(nil, "put 0 0%s", tail), tail: tail, seed: 88172645463325252}
}

// put appends a put.
func (j *jobs) put(c *client) {
	c.queued++
	if !j.random && j.delay == nil {
		c.out = append(c.out, j.whole...)
		return
	}
	priority, delay := uint64(0), uint64(0)
	if j.random {
		j.seed ^= j.seed << 13
		j.seed ^= j.seed >> 7
		j.seed ^= j.seed << 17
		priority = j.seed >> 32
	}
	if j.delay != nil {
		delay = j.delay()
	}
	c.out = strconv.AppendUint(append(c.out, "put "...), priority, 10)
	c.out = strconv.AppendUint(append(c.out, ' '), delay, 10)
	c.out = append(c.out, j.tail...)
}

// check compares the body of a reserved job with what was put: its size and its first bytes.
func (j *jobs) check(r *reply) error {
	n := min(len(j.body), 64)
	if len(r.digits) == 0 || len(r.body) != len(j.body) || !bytes.Equal(r.body[:n], j.body[:n]) {
		return fmt.Errorf("%w: job %s has a body of %d bytes that begins with %.20q", ErrReply, r.digits, len(r.body), r.body)
	}
	return nil
}

// producer puts jobs: all the time window of them under way, until left is 0. Several may share left and answered.
type producer struct {
	jobs     *jobs
	window   int
	left     *int
	expected *int // puts that are not answered yet; the driver is finished when it comes to 0
}

func (p *producer) begin(c *client) {
	for range p.window {
		p.put(c)
	}
}

func (p *producer) put(c *client) {
	if *p.left > 0 {
		*p.left--
		p.jobs.put(c)
	}
}

func (p *producer) react(c *client, r *reply) error {
	if r.kind != putKind {
		return unexpectedKind(r)
	}
	if *p.expected--; *p.expected == 0 {
		c.driver.finished = true
	}
	p.put(c)
	return nil
}

// worker reserves and deletes: window strands of it, until left is 0. Several may share left and expected.
type worker struct {
	jobs     *jobs
	window   int
	left     *int   // jobs that no reserve has been sent for
	expected *int   // jobs that are not deleted yet; the driver is finished when it comes to 0
	deleted  func() // told of each, if set
}

func (w *worker) begin(c *client) {
	for range w.window {
		w.reserve(c)
	}
}

func (w *worker) reserve(c *client) {
	if *w.left > 0 {
		*w.left--
		c.say("reserve" + crlf)
	}
}

func (w *worker) react(c *client, r *reply) error {
	switch r.kind {
	case reserveKind:
		if err := w.jobs.check(r); err != nil {
			return err
		}
		c.sayDelete(r.digits)
	case deleteKind:
		if *w.expected--; *w.expected == 0 {
			c.driver.finished = true
		}
		w.reserve(c)
		if w.deleted != nil {
			w.deleted()
		}
	default:
		return unexpectedKind(r)
	}
	return nil
}

// cycler puts, reserves and deletes: window strands of it, without end. Since each strand puts before it reserves, no reserve waits.
type cycler struct {
	jobs   *jobs
	window int
	pace   *pace // when a strand begins again; nil is at once
}

func (y *cycler) begin(c *client) {
	for range y.window {
		y.again(c)
	}
}

// again begins a cycle, now or when it is time.
func (y *cycler) again(c *client) {
	if y.pace == nil || y.pace.due(c) {
		y.jobs.put(c)
	}
}

func (y *cycler) react(c *client, r *reply) error {
	switch r.kind {
	case putKind:
		c.say("reserve" + crlf)
	case reserveKind:
		if err := y.jobs.check(r); err != nil {
			return err
		}
		c.sayDelete(r.digits)
	case deleteKind:
		y.again(c)
	default:
		return unexpectedKind(r)
	}
	return nil
}

// churner puts and deletes what it has put: window strands of it, until left is 0. If it has tubes, it uses another one, by chance,
// before each put.
type churner struct {
	jobs     *jobs
	window   int
	left     *int
	expected *int
	tubes    int
	seed     uint32
}

func (h *churner) begin(c *client) {
	for range h.window {
		h.put(c)
	}
}

func (h *churner) put(c *client) {
	if *h.left == 0 {
		return
	}
	*h.left--
	if h.tubes > 0 {
		h.seed = h.seed*1664525 + 1013904223
		c.sayTube("use ", int(h.seed>>8)%h.tubes)
	}
	h.jobs.put(c)
}

func (h *churner) react(c *client, r *reply) error {
	switch r.kind {
	case putKind:
		c.sayDelete(r.digits)
	case deleteKind:
		if *h.expected--; *h.expected == 0 {
			c.driver.finished = true
		}
		h.put(c)
	case otherKind: // USING
	default:
		return unexpectedKind(r)
	}
	return nil
}

// sayTube appends a command with a numbered tube.
func (c *client) sayTube(command string, tube int) {
	c.out = strconv.AppendUint(append(append(c.out, command...), tubePrefix...), uint64(tube), 10)
	c.out = append(c.out, crlf...)
	c.queued++
}

// asker sends lines prepared before, one after another, window at a time, and takes any reply. Several may share expected.
type asker struct {
	lines    []string
	window   int
	expected *int   // replies that have not come yet; the driver is finished when it comes to 0
	answer   []byte // the body of the last reply
}

// ask makes an asker of its own, that sends all at once.
func ask(lines ...string) *asker {
	n := len(lines)
	return &asker{lines: lines, window: n, expected: &n}
}

func (a *asker) begin(c *client) {
	for range a.window {
		a.ask(c)
	}
}

func (a *asker) ask(c *client) {
	if len(a.lines) > 0 {
		c.say(a.lines[0])
		a.lines = a.lines[1:]
	}
}

func (a *asker) react(c *client, r *reply) error {
	a.answer = append(a.answer[:0], r.body...)
	if *a.expected--; *a.expected == 0 {
		c.driver.finished = true
	}
	a.ask(c)
	return nil
}

// guest goes to a tube of its own first, and then takes its role.
type guest struct {
	tube string
	role role
	left int // replies to come before that
}

func (g *guest) begin(c *client) {
	g.left = 3
	c.say("use " + g.tube + crlf)
	c.say("watch " + g.tube + crlf)
	c.say("ignore default" + crlf)
}

func (g *guest) react(c *client, _ *reply) error {
	if g.left--; g.left == 0 {
		c.role = g.role
		c.role.begin(c)
	}
	return nil
}

// cleaner deletes all jobs there are, in numbered tubes too: window strands of it.
type cleaner struct{ window, left, tubes int }

func (l *cleaner) begin(c *client) {
	l.left = l.window
	for i := range l.tubes {
		c.sayTube("watch ", i)
	}
	for range l.window {
		c.say("reserve-with-timeout 0" + crlf)
	}
}

func (l *cleaner) react(c *client, r *reply) error {
	switch {
	case r.kind == reserveKind && len(r.digits) > 0:
		c.sayDelete(r.digits)
	case r.kind == reserveKind: // TIMED_OUT
		if l.left--; l.left == 0 {
			c.driver.finished = true
		}
	case r.kind == deleteKind:
		c.say("reserve-with-timeout 0" + crlf)
	}
	return nil
}

func unexpectedKind(r *reply) error {
	return fmt.Errorf("%w: a reply to %s, in its wrong place", ErrReply, kindNames[r.kind])
}
