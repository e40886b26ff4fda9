package main

import (
	"slices"

	"github.com/haricotq/haricot/internal/load"
)

// rows are all targets, in the order of the printed table.
func rows() []row {
	return slices.Concat(plainRows(), pipelinedRows(), backlogRows(), crowdRows(), durableRows(), storeRows(), jobCycleRows(), operatorRows())
}

func plan(n, w, body int) load.Plan { return load.Plan{Connections: n, Window: w, Body: body} }

// plainRows have one command under way on each connection.
func plainRows() []row {
	many := []goal{ops(1.4, 1.5), cpu(0.70, 0.63), p99(0.75)}
	return []row{
		{name: "cycle n=1, 16 B", workload: "cycle", plan: plan(1, 1, 16), goals: []goal{ops(1, 1.1), cpu(0.9, 0.8), p99(0.95)}},
		{name: "cycle n=8, 16 B", workload: "cycle", plan: plan(8, 1, 16), goals: many},
		{name: "cycle n=64, 16 B", workload: "cycle", plan: plan(64, 1, 16), goals: many},
		{name: "cycle n=512, 16 B", workload: "cycle", plan: plan(512, 1, 16), goals: many},
		{name: "cycle n=64, 1 KiB", workload: "cycle", plan: plan(64, 1, 1024), goals: many},
		{name: "mixed n=64, 16 B", workload: "mixed", plan: plan(64, 1, 16), goals: many},
		{name: "cycle n=8, 16 KiB", workload: "cycle", plan: plan(8, 1, 16<<10), goals: []goal{ops(1.3, 1.5), cpu(0.75, 0.66), p99(0.8)}},
		{
			name: "put n=8, 16 KiB, fresh memory", workload: "put", plan: load.Plan{Connections: 8, Window: 1, Body: 16 << 10, Jobs: 40_000},
			goals: []goal{ops(1, 1.3), cpu(0.85, 0.7), p99(1)},
		},
	}
}

// pipelinedRows have many.
func pipelinedRows() []row {
	small := []goal{ops(10, 20), cpu(0.08, 0.04), p99(0.1)}
	return []row{
		{name: "cycle n=8 w=16, 16 B", workload: "cycle", plan: plan(8, 16, 16), goals: small},
		{name: "put n=64 w=16, 16 B", workload: "put", plan: plan(64, 16, 16), goals: small},
		{name: "put n=8 w=64, 16 B", workload: "put", plan: plan(8, 64, 16), goals: []goal{ops(10, 25), cpu(0.08, 0.04), p99(0.1)}},
		{name: "cycle n=8 w=16, 1 KiB", workload: "cycle", plan: plan(8, 16, 1024), goals: []goal{ops(7, 10), cpu(0.13, 0.09), p99(0.2)}},
		{name: "cycle n=8 w=16, 16 KiB", workload: "cycle", plan: plan(8, 16, 16<<10), goals: []goal{ops(1.7, 2.2), cpu(0.55, 0.45), p99(0.5)}},
	}
}

// backlogRows are about many jobs.
func backlogRows() []row {
	const million = 1_000_000
	each := func(floor, aim float64) goal { return goal{metric: load.Each, floor: floor, aim: aim} }
	return []row{
		{
			name: "fill 1M x 16 B", workload: "fill", plan: load.Plan{Body: 16, Jobs: million}, rounds: 3,
			goals: []goal{ops(20, 28), cpu(0.05, 0.04), each(0.5, 0.33)},
		},
		{name: "fill 1M x 200 B", workload: "fill", plan: load.Plan{Body: 200, Jobs: million}, rounds: 1, goals: []goal{each(0.75, 0.65)}},
		{
			name: "memory back after 1M x 200 B", workload: "fill", plan: load.Plan{Body: 200, Jobs: million, Drain: true}, rounds: 1, alone: true,
			goals: []goal{{metric: load.Took, floor: 60, aim: 10, absolute: true}},
		},
		{
			name: "backlog 5M at random, n=8", workload: "backlog", plan: load.Plan{Connections: 8, Window: 1, Body: 16, Jobs: 5 * million},
			goals: []goal{ops(1.5, 2.5), cpu(0.65, 0.56), p99(0.5)},
		},
		{
			name: "1M due in one second", workload: "delayed", plan: load.Plan{Body: 16, Jobs: million}, rounds: 1,
			goals: []goal{
				{metric: load.Took, floor: 0.15, aim: 0.1},
				cpu(0, 0.2),
				{metric: load.Took, floor: 4, absolute: true},
				{metric: load.Longest, floor: 20_000, absolute: true},
			},
		},
	}
}

// crowdRows are about many tubes, watched tubes, and connections.
func crowdRows() []row {
	pace := []goal{{metric: load.P50, floor: 1, aim: 0.8}, cpu(1, 0.9), p99(1)}
	crowd := func(n, tubes int) load.Plan { return load.Plan{Connections: n, Window: 1, Body: 16, Tubes: tubes} }
	list := []goal{ops(2, 5), cpu(0.3, 0.18), p99(0.3)}
	return []row{
		{name: "1k jobs/s, n=16", workload: "latency", plan: load.Plan{Connections: 16, Body: 16, Rate: 1000}, goals: pace},
		{name: "1k jobs/s to 5,000 waiting", workload: "waiting", plan: load.Plan{Connections: 5000, Body: 16, Rate: 1000}, goals: pace},
		{name: "1,000 tubes, n=8", workload: "tubes", plan: crowd(8, 1000), goals: []goal{ops(1.9, 1.9), cpu(0.5, 0.5), p99(0.2)}},
		{name: "10,000 tubes, n=8", workload: "tubes", plan: crowd(8, 10_000), rounds: 3, goals: []goal{ops(9, 9), cpu(0.1, 0.1), p99(0.2)}},
		{name: "100,000 tubes, n=8", workload: "tubes", plan: crowd(8, 100_000), rounds: 3, alone: true, goals: []goal{ops(0, 0), cpu(0, 0)}},
		{name: "watch 1,000, n=8", workload: "watch", plan: crowd(8, 1000), goals: list},
		{name: "watch 1,000, n=64", workload: "watch", plan: crowd(64, 1000), goals: list},
		{
			name: "idle 10,000 connections", workload: "idle", plan: load.Plan{Connections: 10_000}, rounds: 1,
			goals: []goal{{metric: load.Each, aim: 0.5}, {metric: load.Busy, aim: 0.5, absolute: true}},
		},
	}
}

// durableRows put jobs of 200 B; what is synced when is in the name: f0 before the reply, f50 within 50 ms, F never.
func durableRows() []row {
	put := func(name string, n, w int, ours, theirs mode, goals ...goal) row {
		return row{name: name, workload: "put", plan: plan(n, w, 200), ours: ours, theirs: theirs, goals: goals}
	}
	return []row{
		put("put n=1, f0", 1, 1, always, always, ops(0.85, 1), cpu(1.1, 1), p99(1)),
		put("put n=8, f0", 8, 1, always, always, ops(2.5, 3.5), cpu(0.37, 0), p99(0.35)),
		put("put n=64, f0", 64, 1, always, always, ops(8, 11), cpu(0.18, 0), p99(0.1)),
		put("put n=512, f0", 512, 1, always, always, ops(12, 16), cpu(0.13, 0), p99(0.12)),
		put("put n=8 w=16, f0", 8, 16, always, always, ops(25, 40), cpu(0.035, 0), p99(0.05)),
		{
			name: "cycle n=64, f0", workload: "cycle", plan: plan(64, 1, 200), ours: always, theirs: always,
			goals: []goal{ops(8, 12), cpu(0.2, 0), p99(0.07)},
		},
		put("put n=1, f50", 1, 1, fifty, fifty, ops(1.1, 1.2), cpu(0.85, 0), p99(0.6)),
		put("put n=8, f50", 8, 1, fifty, fifty, ops(1.8, 2.2), cpu(0.5, 0), p99(0.6)),
		put("put n=64, f50", 64, 1, fifty, fifty, ops(2, 2.5), cpu(0.45, 0), p99(0.6)),
		put("put n=64, f0 against f50", 64, 1, always, fifty, ops(1.1, 1.4), cpu(0.6, 0), p99(0.6)),
		put("put n=512, f0 against f50", 512, 1, always, fifty, ops(1.5, 2.2), cpu(0.42, 0), p99(0.6)),
		put("put n=64, f0 against F", 64, 1, always, never, ops(1, 0)),
	}
}

// storeRows are about what is on disk.
func storeRows() []row {
	return []row{
		{
			name: "restart with 1M x 200 B", workload: "restart", plan: load.Plan{Body: 200, Jobs: 1_000_000}, ours: fifty, theirs: fifty, rounds: 3,
			goals: []goal{{metric: load.Took, floor: 0.25, aim: 0.15}},
		},
		{
			name: "5M put and deleted beside one", workload: "churn", plan: load.Plan{Body: 200, Jobs: 5_000_000}, ours: never, alone: true, rounds: 1,
			goals: []goal{{metric: load.Disk, floor: 300, absolute: true}, ops(0, 0)},
		},
	}
}

// jobCycleRows are the cycle of a job of 200 B: publish, fetch, acknowledge. Their floors are what Redis 7 lists reach, as a ratio to
// the reference in the same mode, unless haricot wants more.
func jobCycleRows() []row {
	cycle := func(name string, n, w int, m mode, goals ...goal) row {
		return row{name: name, workload: "cycle", plan: plan(n, w, 200), ours: m, theirs: m, goals: goals}
	}
	return []row{
		cycle("job cycle n=1, memory", 1, 1, memory, ops(1, 1.1), cpu(0.94, 0.8)),
		cycle("job cycle n=64, memory", 64, 1, memory, ops(1.4, 1.5), cpu(0.75, 0.63)),
		cycle("job cycle n=8 w=16, memory", 8, 16, memory, ops(4.67, 10), cpu(0.12, 0.08)),
		cycle("job cycle n=1, f0", 1, 1, always, ops(0.85, 1), cpu(1.5, 1)),
		cycle("job cycle n=64, f0", 64, 1, always, ops(4, 8), cpu(0.36, 0.2)),
		cycle("job cycle n=8 w=16, f0", 8, 16, always, ops(15, 25), cpu(0.13, 0.05)),
	}
}

// operatorRows are about what clients feel of operators, and how long pages take to appear. At a moderate rate commands may take twice
// as long as undisturbed. As fast as it goes the clients need all of a small machine, and what a process that only computes does to
// them is taken off.
func operatorRows() []row {
	operators := func(name string, rate int, beside func(duty string) load.Metric) row {
		r := row{
			name: name, workload: "operators", ours: attended, alone: true, rounds: 3,
			plan:  load.Plan{Connections: 8, Window: 1, Body: 200, Jobs: 1_000_000, Tubes: 100_000, Rate: rate},
			goals: []goal{p99(0), {metric: load.Beside(load.Spin)}},
		}
		for _, duty := range []string{"scrape", "list", "search", "pages", "bulk"} {
			r.goals = append(r.goals, goal{metric: beside(duty), floor: 2, absolute: true})
		}
		r.goals = append(r.goals, goal{metric: load.Took, floor: 1, absolute: true})
		return r
	}
	return []row{
		operators("operators, 1k jobs/s, n=8", 1000, load.Beside),
		operators("operators, cycle n=8", 0, load.BeyondSpin),
	}
}
