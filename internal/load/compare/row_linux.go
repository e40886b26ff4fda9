package main

import (
	"time"

	"github.com/haricotq/haricot/internal/load"
)

// mode is how a server keeps jobs. Both servers have the same flags for it, but for operators, which only haricot has.
type mode int

const (
	memory   mode = iota
	always        // on disk before the reply
	fifty         // on disk, synced within 50 ms
	never         // on disk, not synced
	attended      // in memory, with HTTP for operators
)

func (m mode) flags() []string {
	switch m {
	case always:
		return []string{"-b", "{dir}", "-f", "0"}
	case fifty:
		return []string{"-b", "{dir}", "-f", "50"}
	case never:
		return []string{"-b", "{dir}", "-F"}
	case attended:
		return []string{"--http", "{http}"}
	default:
		return nil
	}
}

// row is a workload and what haricot is to reach in it.
type row struct {
	name         string
	workload     string
	plan         load.Plan
	ours, theirs mode
	alone        bool // the reference is not run: it cannot do this, or not in a time that anybody waits
	rounds       int  // at most, for rows that take long; 0 for as many as the others
	goals        []goal
}

// goal is a figure to reach, as a ratio to the reference's or as such. What is 0 is not asked for.
type goal struct {
	metric     load.Metric
	floor, aim float64 // must not be missed; is striven for
	absolute   bool
}

func ops(floor, aim float64) goal { return goal{metric: load.Throughput, floor: floor, aim: aim} }
func cpu(floor, aim float64) goal { return goal{metric: load.CPU, floor: floor, aim: aim} }
func p99(aim float64) goal        { return goal{metric: load.P99, aim: aim} }

// mark says what was reached.
func (g *goal) mark(v float64) string {
	reached := func(target float64) bool {
		if g.metric.Higher {
			return v >= target
		}
		return v <= target
	}
	switch {
	case g.floor == 0 && g.aim == 0 || v != v:
		return ""
	case g.aim != 0 && reached(g.aim):
		return "aim"
	case g.floor == 0:
		return "short"
	case reached(g.floor):
		return "floor"
	default:
		return "BELOW"
	}
}

// scale is how large the rows are made.
type scale struct {
	rounds   int
	duration time.Duration
	jobs     int // backlogs are divided by this
	most     int // connections and tubes at most; 0 for no limit
}

var (
	full      = scale{rounds: 5, duration: time.Second, jobs: 1}
	shortened = scale{rounds: 2, duration: 250 * time.Millisecond, jobs: 20}
	// smallest is for seeing that everything works.
	smallest = scale{rounds: 1, duration: 30 * time.Millisecond, jobs: 1000, most: 20}
)

func (s scale) apply(r row) row {
	r.plan.Duration = s.duration
	if r.plan.Rate > 0 && s.jobs == 1 {
		r.plan.Duration = 2 * s.duration // so that there are enough jobs for a p99
	}
	r.plan.Jobs /= s.jobs
	if s.most > 0 {
		r.plan.Connections = min(r.plan.Connections, s.most)
		r.plan.Tubes = min(r.plan.Tubes, s.most)
	}
	return r
}
