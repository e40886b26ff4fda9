package load

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"
)

const stampSize = 8 // bytes at the front of a body: when it was sent

// latency has workers wait, one command each, and gives them jobs at a steady rate.
func (t *trial) latency() (Result, error) {
	const senders = 4
	p := t.plan
	jobs := newJobs(max(p.Body, stampSize))
	d, err := t.driver(p.Connections, func(i int) role {
		return &receiver{tubes: p.Tubes, tube: i % max(1, p.Tubes), size: len(jobs.body)}
	})
	if err != nil {
		return Result{}, err
	}
	defer d.close()
	if err := d.start(d.clients...); err != nil {
		return Result{}, err
	}
	var list []*sender
	for range senders {
		s := &sender{jobs: jobs, tubes: p.Tubes}
		c, err := d.join(s)
		if err != nil {
			return Result{}, err
		}
		if !t.server.own() {
			c.role = &guest{tube: ownTube, role: s}
		}
		list = append(list, s)
	}
	turn := 0
	err = d.every(time.Second/time.Duration(p.Rate), func(n uint64) error {
		for range n {
			turn++
			if err := list[turn%senders].send(d.clients[p.Connections+turn%senders], turn%max(1, p.Tubes)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return Result{}, err
	}
	// Workers have begun; beginning is nothing to the senders.
	result, err := t.steady(d, d.clients[p.Connections:], travelKind)
	// How long workers wait for their jobs says nothing about the server.
	result.Latency = slices.DeleteFunc(result.Latency, func(l Latency) bool { return l.Of == kindNames[reserveKind] || l.Of == All })
	return result, err
}

// sender puts a job when it is told to.
type sender struct {
	jobs  *jobs
	tubes int
}

func (*sender) begin(*client) {}

func (*sender) react(_ *client, r *reply) error {
	if r.kind != putKind && r.kind != otherKind {
		return unexpectedKind(r)
	}
	return nil
}

// send puts a job that carries the time.
func (s *sender) send(c *client, tube int) error {
	if s.tubes > 1 {
		c.sayTube("use ", tube)
	}
	s.jobs.put(c)
	body := c.out[len(c.out)-len(crlf)-len(s.jobs.body):]
	binary.LittleEndian.PutUint64(body, uint64(c.driver.clock()))
	return c.flush()
}

// receiver waits for a job, deletes it, and waits for the next.
type receiver struct {
	tubes, tube int
	size        int
}

func (v *receiver) begin(c *client) {
	if v.tubes > 1 {
		c.sayTube("watch ", v.tube)
	}
	c.say("reserve" + crlf)
}

func (v *receiver) react(c *client, r *reply) error {
	switch r.kind {
	case reserveKind:
		if len(r.body) != v.size {
			return unexpectedKind(r)
		}
		d := c.driver
		d.tally[travelKind].Record(d.clock() - time.Duration(binary.LittleEndian.Uint64(r.body)))
		c.sayDelete(r.digits)
	case deleteKind:
		c.say("reserve" + crlf)
	case otherKind: // WATCHING
	default:
		return unexpectedKind(r)
	}
	return nil
}

// pace has cycles begin at a steady rate, whichever client is free.
type pace struct {
	free []*client
	// owed are when cycles should have begun for which nobody was free, the oldest first. Who is free next begins them, and their
	// first command counts from then.
	owed []time.Duration
}

// due tells whether a client that is free is to begin a cycle at once; otherwise tick will have it begin.
func (p *pace) due(c *client) bool {
	if len(p.owed) == 0 {
		p.free = append(p.free, c)
		return false
	}
	c.due, p.owed = p.owed[0], p.owed[1:]
	return true
}

// tick makes a number of cycles due.
func (p *pace) tick(n uint64, now time.Duration) error {
	for range n {
		last := len(p.free) - 1
		if last < 0 {
			p.owed = append(p.owed, now)
			continue
		}
		c := p.free[last]
		p.free = p.free[:last]
		if y, ok := c.role.(*cycler); ok {
			y.jobs.put(c)
		}
		if err := c.flush(); err != nil {
			return err
		}
	}
	return nil
}

// delayed has jobs fall due within one second, and workers ready for them, and asks something else each millisecond meanwhile.
func (t *trial) delayed() (Result, error) {
	p := t.plan
	due, err := t.schedule()
	if err != nil {
		return Result{}, err
	}
	left, expected := p.Jobs, p.Jobs
	jobs := newJobs(p.Body)
	d, err := t.driver(p.Connections, func(int) role {
		return &worker{jobs: jobs, window: p.Window, left: &left, expected: &expected}
	})
	if err != nil {
		return Result{}, err
	}
	defer d.close()
	if err := d.start(d.clients...); err != nil {
		return Result{}, err
	}
	other, err := d.join(&bystander{})
	if err != nil {
		return Result{}, err
	}
	if _, err := d.run(time.Until(due.Add(-100 * time.Millisecond))); err != nil {
		return Result{}, err
	}
	err = d.every(time.Millisecond, func(uint64) error {
		other.say("list-tube-used" + crlf)
		return other.flush()
	})
	if err != nil {
		return Result{}, err
	}
	before := t.expense(d)
	finished, err := d.run(patient)
	if err != nil || !finished {
		return Result{}, errors.Join(err, d.unfinished(finished))
	}
	result := t.expense(d).since(before)
	result.Operations = uint64(p.Jobs)
	result.Took = time.Since(due)
	result.Latency = []Latency{latency("others", &d.tally[otherKind])}
	return result, nil
}

// schedule puts the plan's jobs so that they fall due within one second, however long putting them takes, and returns when that
// second begins.
func (t *trial) schedule() (due time.Time, err error) {
	const sample = 2000
	left, expected := sample, sample
	d, err := t.driver(1, func(int) role {
		return &churner{jobs: newJobs(t.plan.Body), window: 64, left: &left, expected: &expected}
	})
	if err != nil {
		return due, err
	}
	defer d.close()
	pace, err := t.complete(d, patient)
	if err != nil {
		return due, err
	}
	// The sample took two commands a job, loading takes one: so there is time to spare.
	seconds := 2 + uint64(pace.Elapsed.Seconds()/sample*float64(t.plan.Jobs))
	began := time.Now()
	due = began.Add(time.Duration(seconds) * time.Second)
	jobs := newJobs(t.plan.Body)
	jobs.delay = func() uint64 { return max(1, seconds-min(seconds, uint64(time.Since(began)/time.Second))) }
	if _, err := t.load(jobs, t.plan.Jobs); err != nil {
		return due, err
	}
	if time.Until(due) < 100*time.Millisecond {
		return due, errors.New("load: putting the jobs took so long that the first fell due meanwhile")
	}
	return due, nil
}

// bystander takes the replies to what it is made to say from outside.
type bystander struct{}

func (bystander) begin(*client) {}

func (bystander) react(_ *client, r *reply) error {
	if r.kind != otherKind {
		return unexpectedKind(r)
	}
	return nil
}
