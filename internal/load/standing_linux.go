package load

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// settle is how long memory and connections get to come to rest before the server's memory is read.
const settle = 50 * time.Millisecond

// pause waits, unless the context ends.
func (t *trial) pause(d time.Duration) error {
	select {
	case <-t.ctx.Done():
		return t.ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// answered starts clients whose roles end, and runs until they have.
func (d *driver) answered(clients ...*client) error {
	d.finished = false
	if err := d.start(clients...); err != nil {
		return err
	}
	finished, err := d.run(patient)
	d.finished = false
	return errors.Join(err, d.unfinished(finished || err != nil))
}

// idle opens connections and leaves them alone.
func (t *trial) idle() (Result, error) {
	// After as many connections the last one is asked something, so that the queue of those that wait to be accepted stays short.
	const atOnce = 64
	d, err := newDriver(t.ctx, t.server.Address)
	if err != nil {
		return Result{}, err
	}
	defer d.close()
	memory := t.server.RSS()
	for i := range t.plan.Connections {
		c, err := d.join(ask("list-tube-used" + crlf))
		if err != nil {
			return Result{}, err
		}
		if i%atOnce == atOnce-1 || i == t.plan.Connections-1 {
			if err := d.answered(c); err != nil {
				return Result{}, err
			}
		}
	}
	if err := t.pause(settle); err != nil {
		return Result{}, err
	}
	memory = t.server.RSS() - memory
	before := t.expense(nil)
	if err := t.pause(t.plan.Duration); err != nil {
		return Result{}, err
	}
	result := t.expense(nil).since(before)
	result.Each = float64(memory) / float64(t.plan.Connections)
	return result, nil
}

// fillTubes gives each tube a job, so that it exists.
func (t *trial) fillTubes() error { return t.spread(1) }

// spread gives each tube a number of jobs.
func (t *trial) spread(each int) error {
	put := string(newJobs(t.plan.Body).whole)
	lines := make([]string, 0, (1+each)*t.plan.Tubes)
	for i := range t.plan.Tubes {
		lines = append(lines, "use "+tubePrefix+strconv.Itoa(i)+crlf)
		for range each {
			lines = append(lines, put)
		}
	}
	a := ask(lines...)
	a.window = 64
	d, err := t.driver(1, func(int) role { return a })
	if err != nil {
		return err
	}
	defer d.close()
	return d.answered(d.clients...)
}

func (t *trial) tubes() (Result, error) {
	left := int(^uint(0) >> 1)
	expected, jobs := left, newJobs(t.plan.Body)
	d, err := t.driver(t.plan.Connections, func(i int) role {
		return &churner{
			jobs: jobs, window: t.plan.Window, left: &left, expected: &expected, tubes: t.plan.Tubes, seed: uint32(i),
		}
	})
	if err != nil {
		return Result{}, err
	}
	defer d.close()
	return t.steady(d, d.clients, deleteKind)
}

// watch has every connection watch the same tubes, and use one of them.
func (t *trial) watch() (Result, error) {
	expected := t.plan.Connections * (t.plan.Tubes + 1)
	d, err := t.driver(t.plan.Connections, func(i int) role {
		a := &asker{window: t.plan.Tubes + 1, expected: &expected}
		for tube := range t.plan.Tubes {
			a.lines = append(a.lines, "watch "+tubePrefix+strconv.Itoa(tube)+crlf)
		}
		a.lines = append(a.lines, "use "+tubePrefix+strconv.Itoa(i*7919%t.plan.Tubes)+crlf)
		return a
	})
	if err != nil {
		return Result{}, err
	}
	defer d.close()
	if err := d.answered(d.clients...); err != nil {
		return Result{}, err
	}
	jobs := newJobs(t.plan.Body)
	for _, c := range d.clients {
		c.role = &cycler{jobs: jobs, window: t.plan.Window}
	}
	return t.steady(d, d.clients, deleteKind)
}

// fill puts jobs and looks at the memory; if it is to drain, also at when the memory is back with the system.
func (t *trial) fill() (Result, error) {
	jobs := newJobs(t.plan.Body)
	empty := t.server.RSS()
	result, err := t.load(jobs, t.plan.Jobs)
	if err != nil {
		return Result{}, err
	}
	if err := t.pause(settle); err != nil {
		return Result{}, err
	}
	result.Each = float64(t.server.RSS()-empty) / float64(t.plan.Jobs)
	if !t.plan.Drain {
		return result, nil
	}
	if _, err := t.unload(jobs, t.plan.Jobs); err != nil {
		return Result{}, err
	}
	const (
		enough = 20 << 20 // bytes above what the server had when it was empty
		limit  = time.Minute
	)
	drained := time.Now()
	for t.server.RSS() > empty+enough && time.Since(drained) < limit {
		if err := t.pause(settle); err != nil {
			return Result{}, err
		}
	}
	result.Took = time.Since(drained)
	return result, nil
}

// churn puts and deletes jobs while an old one stays.
func (t *trial) churn() (Result, error) {
	jobs := newJobs(t.plan.Body)
	if _, err := t.load(jobs, 1); err != nil {
		return Result{}, err
	}
	left, expected := t.plan.Jobs, t.plan.Jobs
	d, err := t.driver(t.plan.Connections, func(int) role {
		return &churner{jobs: jobs, window: t.plan.Window, left: &left, expected: &expected}
	})
	if err != nil {
		return Result{}, err
	}
	defer d.close()
	return t.complete(d, patient)
}

// restart kills the server, starts it again, and sees whether all jobs are there.
func (t *trial) restart() (Result, error) {
	// A server that syncs later than it replies, as with -f 50, has done so by then; one that never does may lose jobs.
	const synced = 200 * time.Millisecond
	if err := t.pause(synced); err != nil {
		return Result{}, err
	}
	written := t.server.Written()
	took, err := t.server.Restart(t.ctx)
	if err != nil {
		return Result{}, err
	}
	result := Result{Took: took, Elapsed: took, ServerCPU: t.server.CPU(), Written: t.server.Written() - written}
	a := ask("stats" + crlf)
	d, err := t.driver(1, func(int) role { return a })
	if err != nil {
		return Result{}, err
	}
	defer d.close()
	if err := d.answered(d.clients...); err != nil {
		return Result{}, err
	}
	want := fmt.Appendf(nil, "\ncurrent-jobs-ready: %d\n", t.plan.Jobs)
	if !bytes.Contains(a.answer, want) {
		return Result{}, fmt.Errorf("%w: %d jobs are not there after the restart: %.120q", ErrReply, t.plan.Jobs, a.answer)
	}
	return result, nil
}
