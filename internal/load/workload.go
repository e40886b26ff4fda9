package load

import (
	"time"
)

// Plan says how much of a workload. Each workload uses what has a meaning for it.
type Plan struct {
	Connections int
	Window      int           // commands that a connection has under way at once
	Body        int           // bytes of a job
	Duration    time.Duration // of the measurement, for workloads that could go on for ever
	Jobs        int           // of a backlog, a fill, a storm
	Tubes       int           // tubes there are, or that each connection watches
	Rate        int           // jobs a second, for workloads with a pace
	Drain       bool          // fill: empty the queue afterwards, and see how long the memory takes to go back to the system
}

// Result is what a workload got through and what that cost.
type Result struct {
	Operations uint64        // commands answered, or jobs, where the workload is about those
	Elapsed    time.Duration // of them
	ServerCPU  time.Duration // 0 if not known
	OwnCPU     time.Duration
	Latency    []Latency

	// Took is how long the thing took that the workload is about: to drain a storm, to answer after a restart, to give memory back,
	// to show the slowest of the pages.
	Took    time.Duration
	RSS     int64   // bytes of resident memory at the end
	Each    float64 // bytes of resident memory for each job or connection
	Disk    int64   // bytes that the directory occupies
	Written int64   // bytes that the disk has written meanwhile
}

// Latency sums up how long one kind of command took.
type Latency struct {
	Of                        string
	Count                     uint64
	Mean, P50, P99, P999, Max time.Duration
}

// All is what the sum of all kinds of commands is called in a result.
const All = "all"

const (
	// Spin is the duty of somebody who only computes: what it does to latencies any other process would do.
	Spin = "spin"
	// besidePrefix and a duty are what clients' commands are called that were answered beside it.
	besidePrefix = "beside "
)

// PerSecond is the throughput, 0 if nothing was counted.
func (r *Result) PerSecond() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Operations) / r.Elapsed.Seconds()
}

// CPUEach is the server's processor time for an operation.
func (r *Result) CPUEach() time.Duration { return each(r.ServerCPU, r.Operations) }

// OwnEach is the load's own processor time for an operation.
func (r *Result) OwnEach() time.Duration { return each(r.OwnCPU, r.Operations) }

func each(d time.Duration, n uint64) time.Duration {
	if n == 0 {
		return 0
	}
	return d / time.Duration(n)
}

// Find returns the latencies of a kind, or none.
func (r *Result) Find(of string) Latency {
	for _, l := range r.Latency {
		if l.Of == of {
			return l
		}
	}
	return Latency{Of: of}
}

// Telling is the latency that matters most: that of the way of a job or of other clients' commands where the workload is about
// those, otherwise of all commands.
func (r *Result) Telling() Latency {
	if len(r.Latency) == 0 {
		return Latency{}
	}
	return r.Latency[0]
}

func latency(of string, h *Histogram) Latency {
	return Latency{
		Of: of, Count: h.Count(), Mean: h.Mean(), P50: h.Quantile(0.5), P99: h.Quantile(0.99), P999: h.Quantile(0.999), Max: h.Max(),
	}
}

// latencies sums up a tally: first that of the way of a job, if there is any, or of all commands, then kind by kind.
func latencies(tally *[kinds]Histogram) []Latency {
	var all Histogram
	var list []Latency
	for k := range kinds {
		if tally[k].Count() == 0 {
			continue
		}
		list = append(list, latency(kindNames[k], &tally[k]))
		if k != travelKind {
			all.Add(&tally[k])
		}
	}
	if len(list) == 0 {
		return nil
	}
	total := latency(All, &all)
	if last := len(list) - 1; list[last].Of == kindNames[travelKind] {
		return append([]Latency{list[last], total}, list[:last]...)
	}
	return append([]Latency{total}, list...)
}
