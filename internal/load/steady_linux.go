package load

import "time"

// patient is how long a piece of work may take that has an end of its own.
const patient = 10 * time.Minute

func (t *trial) put() (Result, error) {
	left := int(^uint(0) >> 1)
	if t.plan.Jobs > 0 {
		left = t.plan.Jobs
	}
	expected, jobs := left, newJobs(t.plan.Body)
	d, err := t.driver(t.plan.Connections, func(int) role {
		return &producer{jobs: jobs, window: t.plan.Window, left: &left, expected: &expected}
	})
	if err != nil {
		return Result{}, err
	}
	defer d.close()
	if t.plan.Jobs > 0 {
		return t.complete(d, patient)
	}
	return t.steady(d, d.clients, putKind)
}

func (t *trial) preload() error {
	_, err := t.load(newJobs(t.plan.Body), t.plan.Jobs)
	return err
}

func (t *trial) preloadAtRandom() error {
	jobs := newJobs(t.plan.Body)
	jobs.random = true
	_, err := t.load(jobs, t.plan.Jobs)
	return err
}

// load puts a number of jobs, as fast as it goes.
func (t *trial) load(jobs *jobs, n int) (Result, error) {
	const (
		connections = 4
		inFlight    = 64 << 10 // bytes on each connection
	)
	left, expected := n, n
	window := max(1, min(256, inFlight/len(jobs.whole)))
	d, err := t.driver(connections, func(int) role {
		return &producer{jobs: jobs, window: window, left: &left, expected: &expected}
	})
	if err != nil {
		return Result{}, err
	}
	defer d.close()
	return t.complete(d, patient)
}

// unload reserves and deletes a number of jobs, as fast as it goes.
func (t *trial) unload(jobs *jobs, n int) (Result, error) {
	const connections, window = 4, 64
	return t.take(jobs, n, connections, window)
}

func (t *trial) take(jobs *jobs, n, connections, window int) (Result, error) {
	left, expected := n, n
	d, err := t.driver(connections, func(int) role {
		return &worker{jobs: jobs, window: window, left: &left, expected: &expected}
	})
	if err != nil {
		return Result{}, err
	}
	defer d.close()
	return t.complete(d, patient)
}

func (t *trial) consume() (Result, error) {
	return t.take(newJobs(t.plan.Body), t.plan.Jobs, t.plan.Connections, t.plan.Window)
}

func (t *trial) cycle() (Result, error) { return t.cycleOf(newJobs(t.plan.Body)) }

func (t *trial) cycleAtRandom() (Result, error) {
	jobs := newJobs(t.plan.Body)
	jobs.random = true
	// Other numbers than those of the backlog, so that no job of it has the same priority as one of these.
	jobs.seed = uint64(time.Now().UnixNano()) | 1
	return t.cycleOf(jobs)
}

func (t *trial) cycleOf(jobs *jobs) (Result, error) {
	d, err := t.driver(t.plan.Connections, func(int) role { return &cycler{jobs: jobs, window: t.plan.Window} })
	if err != nil {
		return Result{}, err
	}
	defer d.close()
	return t.steady(d, d.clients, deleteKind)
}

// mixed has producers and workers, as many of the one as of the other, at least one. Producers pause while the backlog is above a
// limit, so that the load stays the same however long it runs.
func (t *trial) mixed() (Result, error) {
	jobs := newJobs(t.plan.Body)
	endless := int(^uint(0) >> 1)
	expected := endless
	half := max(1, t.plan.Connections/2)
	stock := &stock{limit: max(1000, 4*half*t.plan.Window)}
	d, err := t.driver(2*half, func(i int) role {
		if i%2 == 0 {
			return &supplier{jobs: jobs, window: t.plan.Window, stock: stock}
		}
		return &worker{jobs: jobs, window: t.plan.Window, left: &endless, expected: &expected, deleted: stock.take}
	})
	if err != nil {
		return Result{}, err
	}
	defer d.close()
	return t.steady(d, d.clients, deleteKind)
}

// stock is the backlog between suppliers and workers.
type stock struct {
	size, limit int
	pausing     []*client // once for each put that it owes
}

// take notes that a job is gone, and lets a supplier go on.
func (s *stock) take() {
	s.size--
	last := len(s.pausing) - 1
	if last < 0 || s.size >= s.limit {
		return
	}
	c := s.pausing[last]
	s.pausing = s.pausing[:last]
	if p, ok := c.role.(*supplier); ok {
		p.put(c)
	}
	c.flushLater()
}

// supplier puts jobs as long as the stock is not full.
type supplier struct {
	jobs   *jobs
	window int
	stock  *stock
}

func (p *supplier) begin(c *client) {
	for range p.window {
		p.put(c)
	}
}

func (p *supplier) put(c *client) {
	if p.stock.size >= p.stock.limit {
		p.stock.pausing = append(p.stock.pausing, c)
		return
	}
	p.stock.size++
	p.jobs.put(c)
}

func (p *supplier) react(c *client, r *reply) error {
	if r.kind != putKind {
		return unexpectedKind(r)
	}
	p.put(c)
	return nil
}
