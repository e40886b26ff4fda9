package load

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Workload is a way to use a server.
type Workload struct {
	Name  string
	About string
	// Keeps tells that preparing takes so long that one server is prepared once and measured in all rounds. Otherwise each
	// measurement gets a server of its own, as new as the first.
	Keeps bool
	// defaults are what a plan has where it says nothing.
	defaults Plan
	prepare  func(t *trial) error
	measure  func(t *trial) (Result, error)
}

// Workloads returns all of them, simple ones first.
func Workloads() []Workload { return workloads }

var workloads = []Workload{
	{
		Name: "put", About: "puts only",
		measure: (*trial).put,
	},
	{
		Name: "consume", About: "reserve and delete a backlog of --jobs", defaults: Plan{Jobs: 100_000},
		prepare: (*trial).preload, measure: (*trial).consume,
	},
	{
		Name: "cycle", About: "put, reserve, delete on each connection",
		measure: (*trial).cycle,
	},
	{
		Name: "mixed", About: "half of the connections put, half reserve and delete", defaults: Plan{Connections: 64},
		measure: (*trial).mixed,
	},
	{
		Name: "latency", About: "--rate jobs a second to connections that wait: from put to reserved", defaults: Plan{Connections: 16, Tubes: 1, Rate: 1000},
		measure: (*trial).latency,
	},
	{
		Name: "waiting", About: "the same with thousands of workers", defaults: Plan{Connections: 5000, Tubes: 1, Rate: 1000},
		measure: (*trial).latency,
	},
	{
		Name: "delayed", About: "--jobs fall due within one second: time to drain them, and what others feel",
		defaults: Plan{Connections: 8, Window: 16, Jobs: 200_000},
		measure:  (*trial).delayed,
	},
	{
		Name: "idle", About: "connections that do nothing: memory of each, and processor time", defaults: Plan{Connections: 10_000},
		measure: (*trial).idle,
	},
	{
		Name: "tubes", About: "use, put, delete among --tubes tubes that have a job each", Keeps: true, defaults: Plan{Tubes: 1000},
		prepare: (*trial).fillTubes, measure: (*trial).tubes,
	},
	{
		Name: "watch", About: "put, reserve, delete with --tubes watched by each connection", defaults: Plan{Tubes: 1000},
		measure: (*trial).watch,
	},
	{
		Name: "backlog", About: "put, reserve, delete beside --jobs jobs, all with priorities at random", Keeps: true, defaults: Plan{Jobs: 1_000_000},
		prepare: (*trial).preloadAtRandom, measure: (*trial).cycleAtRandom,
	},
	{
		Name: "fill", About: "put --jobs jobs: time and memory of each; --drain for the memory afterwards", defaults: Plan{Jobs: 1_000_000, Window: 256},
		measure: (*trial).fill,
	},
	{
		Name: "churn", About: "put and delete --jobs jobs beside an old one: what stays on disk", defaults: Plan{Jobs: 500_000, Window: 64},
		measure: (*trial).churn,
	},
	{
		Name: "restart", About: "kill a server with --jobs jobs and start it: time to the first reply (needs {dir})", defaults: Plan{Jobs: 200_000}, Keeps: true,
		prepare: (*trial).preload, measure: (*trial).restart,
	},
	{
		Name: "operators", About: "cycle, --rate jobs a second or as fast as it goes, while operators look at --jobs jobs in --tubes tubes (needs {http})",
		defaults: Plan{Jobs: 1_000_000, Tubes: 100_000, Body: 200}, Keeps: true,
		prepare: (*trial).stockUp, measure: (*trial).operators,
	},
}

// Find returns the workload of a name.
func Find(name string) (Workload, error) {
	for _, w := range workloads {
		if w.Name == name {
			return w, nil
		}
	}
	return Workload{}, fmt.Errorf("load: there is no workload %q", name)
}

// Complete fills in what a plan leaves open.
func (w *Workload) Complete(p Plan) Plan {
	fallback := w.defaults
	fill := func(value *int, own, general int) {
		if *value == 0 {
			*value = own
		}
		if *value == 0 {
			*value = general
		}
	}
	fill(&p.Connections, fallback.Connections, 8)
	fill(&p.Window, fallback.Window, 1)
	fill(&p.Body, fallback.Body, 16)
	fill(&p.Jobs, fallback.Jobs, 0)
	fill(&p.Tubes, fallback.Tubes, 0)
	fill(&p.Rate, fallback.Rate, 0)
	if p.Duration == 0 {
		p.Duration = time.Second
	}
	return p
}

// trial is one workload on one server.
type trial struct {
	ctx    context.Context
	plan   Plan
	server *Server
}

// Prepare makes a server ready for a workload, for instance with a backlog.
func (w *Workload) Prepare(ctx context.Context, s *Server, p Plan) error {
	if w.prepare == nil {
		return nil
	}
	return w.prepare(&trial{ctx, p, s})
}

// Measure carries out a workload on a server that is prepared. The plan must be complete.
func (w *Workload) Measure(ctx context.Context, s *Server, p Plan) (Result, error) {
	result, err := w.measure(&trial{ctx, p, s})
	if err != nil {
		return Result{}, err
	}
	result.RSS = s.RSS()
	result.Disk = s.Disk()
	return result, nil
}

// Clean deletes what a workload with a plan has left on a server that goes on running.
func Clean(ctx context.Context, s *Server, p Plan) error {
	if s.own() {
		return nil
	}
	t := &trial{ctx: ctx, server: s}
	d, err := t.driver(1, func(int) role { return &cleaner{window: 64, tubes: p.Tubes} })
	if err != nil {
		return err
	}
	defer d.close()
	_, err = t.complete(d, patient)
	return err
}

// driver makes a driver with the plan's connections, each with a role.
func (t *trial) driver(connections int, role func(i int) role) (*driver, error) {
	d, err := newDriver(t.ctx, t.server.Address)
	if err != nil {
		return nil, err
	}
	for i := range connections {
		r := role(i)
		if !t.server.own() {
			r = &guest{tube: ownTube, role: r}
		}
		if _, err := d.join(r); err != nil {
			d.close()
			return nil, err
		}
	}
	return d, nil
}

// steady starts clients, lets them run in, and measures for the plan's duration; on a slow server for longer, until something has
// been counted of the kind that the workload is about.
func (t *trial) steady(d *driver, clients []*client, about kind) (Result, error) {
	if err := d.start(clients...); err != nil {
		return Result{}, err
	}
	if finished, err := d.run(t.runIn()); err != nil || finished {
		return Result{}, errors.Join(err, d.unfinished(!finished))
	}
	d.tally = [kinds]Histogram{}
	before := t.expense(d)
	for began := d.clock(); d.clock() < began+patient; {
		if finished, err := d.run(t.plan.Duration); err != nil {
			return Result{}, err
		} else if finished || d.tally[about].Count() > 0 {
			break
		}
	}
	result := t.expense(d).since(before)
	result.Latency = latencies(&d.tally)
	return result, nil
}

// runIn is how long a steady load runs before it is measured.
func (t *trial) runIn() time.Duration { return min(t.plan.Duration/5, 200*time.Millisecond) }

// unfinished is the error of work that should have been done, or should not yet have been.
func (d *driver) unfinished(ok bool) error {
	if ok {
		return nil
	}
	return errors.New("load: the workload did not come to its end in time, or came to it too early")
}

// complete starts all clients of a driver and runs until they have finished.
func (t *trial) complete(d *driver, limit time.Duration) (Result, error) {
	before := t.expense(d)
	if err := d.start(d.clients...); err != nil {
		return Result{}, err
	}
	finished, err := d.run(limit)
	if err != nil || !finished {
		return Result{}, errors.Join(err, d.unfinished(finished))
	}
	result := t.expense(d).since(before)
	result.Latency = latencies(&d.tally)
	return result, nil
}
