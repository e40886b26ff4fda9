package load

import (
	"errors"
	"fmt"
	"time"
)

// duty is something that operators do.
type duty struct {
	name string
	// do does it once and tells how long the slowest page of it took to appear, where it is about those.
	do func() (page time.Duration, err error)
	// once tells that it cannot be repeated.
	once bool
}

// stockUp fills all tubes with half of the jobs, and makes at least one for each.
func (t *trial) stockUp() error {
	if t.server.HTTP == "" {
		return errors.New("load: only a server that was started with an address for HTTP, {http}, can have operators")
	}
	return t.spread(max(1, t.plan.Jobs/2/t.plan.Tubes))
}

// operators has clients put, reserve and delete in tubes of their own, and looks at how long their commands take undisturbed, and
// while an operator does one thing after another. Half of the jobs are in one tube, and are deleted in the end.
func (t *trial) operators() (Result, error) {
	if _, err := t.load(newJobs(t.plan.Body), t.plan.Jobs/2); err != nil {
		return Result{}, err
	}
	v := visit(t.ctx, t.server.HTTP)
	defer v.leave()
	d, err := t.staff()
	if err != nil {
		return Result{}, err
	}
	defer d.close()
	result, err := t.undisturbed(d)
	if err != nil {
		return Result{}, err
	}
	var requests []Latency
	for _, y := range t.duties(v) {
		o, err := t.beside(d, v, &y)
		if err != nil {
			return Result{}, fmt.Errorf("%s: %w", y.name, err)
		}
		result.Latency = append(result.Latency, latency(besidePrefix+y.name, &o.commands))
		if y.name != Spin {
			requests = append(requests, latency(y.name, &o.requests))
		}
		result.Took = max(result.Took, o.page)
	}
	result.Latency = append(result.Latency, requests...)
	return result, nil
}

// duties are what an operator does, in turns.
func (t *trial) duties(v *visitor) []duty {
	const (
		someTube = "/tubes/" + tubePrefix + "0"
		nowhere  = "in no body"
	)
	look := func(path string, least int64) func() (time.Duration, error) {
		return func() (time.Duration, error) { return 0, v.look(path, least) }
	}
	tubes := int64(t.plan.Tubes)
	return []duty{
		{name: Spin, do: compute},
		{name: "scrape", do: look("/metrics", 1)},
		{name: "list", do: look("/api/v1/tubes", tubes*int64(len(`{"name":""}`)))},
		{name: "search", do: func() (time.Duration, error) {
			found, err := v.search(nowhere)
			if err == nil && found > 0 {
				err = fmt.Errorf("%w: %d jobs were found that there are not", ErrReply, found)
			}
			return 0, err
		}},
		{name: "pages", do: func() (time.Duration, error) {
			return v.leaf("/", "/tubes", "/tubes?sort=name", someTube, "/tubes/default", "/buried", "/search?q=nowhere", "/connections")
		}},
		{name: "bulk", once: true, do: func() (time.Duration, error) {
			done, err := v.clear("default")
			if err == nil && done != t.plan.Jobs/2 {
				err = fmt.Errorf("%w: %d of %d jobs were deleted", ErrReply, done, t.plan.Jobs/2)
			}
			return 0, err
		}},
	}
}

// compute keeps a processor busy for about as long as a request takes.
func compute() (time.Duration, error) {
	began := time.Now()
	passed := time.Duration(0)
	for passed < 10*time.Millisecond {
		passed = time.Since(began)
	}
	return 0, nil
}

// leaf fetches pages, one after another, and tells how long the slowest of them took.
func (v *visitor) leaf(paths ...string) (slowest time.Duration, err error) {
	for _, path := range paths {
		began := time.Now()
		if err := v.look(path, 1); err != nil {
			return 0, err
		}
		slowest = max(slowest, time.Since(began))
	}
	return slowest, nil
}

// staff connects the clients, each with a tube of its own, and starts them.
func (t *trial) staff() (*driver, error) {
	var p *pace
	if t.plan.Rate > 0 {
		p = &pace{}
	}
	jobs := newJobs(t.plan.Body)
	d, err := t.driver(t.plan.Connections, func(i int) role {
		return &guest{tube: fmt.Sprintf("%s-client-%d", ownTube, i), role: &cycler{jobs: jobs, window: t.plan.Window, pace: p}}
	})
	if err != nil {
		return nil, err
	}
	if p != nil {
		err = d.every(time.Second/time.Duration(t.plan.Rate), func(n uint64) error { return p.tick(n, d.clock()) })
	}
	if err == nil {
		err = d.start(d.clients...)
	}
	if err == nil {
		_, err = d.run(t.runIn())
	}
	if err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// undisturbed measures the clients by themselves.
func (t *trial) undisturbed(d *driver) (Result, error) {
	d.tally = [kinds]Histogram{}
	before := t.expense(d)
	for began := d.clock(); d.clock() < began+patient && d.tally[deleteKind].Count() == 0; {
		if _, err := d.run(t.plan.Duration); err != nil {
			return Result{}, err
		}
	}
	result := t.expense(d).since(before)
	result.Latency = latencies(&d.tally)[:1] // of all commands
	return result, nil
}

// observation is what was seen while an operator did something.
type observation struct {
	commands Histogram     // of the clients
	requests Histogram     // of the operator
	page     time.Duration // the longest that one took to appear
}

// beside measures the clients while somebody fulfils a duty.
func (t *trial) beside(d *driver, v *visitor, y *duty) (*observation, error) {
	// What the duty before has left behind, such as garbage, is not this one's.
	if _, err := d.run(settle); err != nil {
		return nil, err
	}
	d.tally = [kinds]Histogram{}
	o := &observation{}
	var failure error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		failure = o.fulfil(y, t.plan.Duration)
	}()
	err := d.runUntil(ended)
	if err != nil {
		v.giveUp()
	}
	<-ended
	for k := range travelKind {
		o.commands.Add(&d.tally[k])
	}
	return o, errors.Join(err, failure)
}

// fulfil does a duty over and over until a time is over, and at least once.
func (o *observation) fulfil(y *duty, limit time.Duration) error {
	for began := time.Now(); ; {
		at := time.Now()
		page, err := y.do()
		if err != nil {
			return err
		}
		o.requests.Record(time.Since(at))
		o.page = max(o.page, page)
		if y.once || time.Since(began) >= limit {
			return nil
		}
	}
}
