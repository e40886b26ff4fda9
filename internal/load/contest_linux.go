package load

import (
	"context"
	"errors"
	"fmt"
)

// Contest has servers take turns in a workload, round by round, so that what else the machine does meanwhile hits all alike.
type Contest struct {
	Workload   Workload
	Plan       Plan // complete
	Rounds     int
	Contenders []Contender
	// Progress, if set, is told what is done next.
	Progress func(what string)
	// Measured, if set, is told each result as it comes.
	Measured func(server string, round int, r Result) error
}

// Contender is one of the servers in a contest.
type Contender struct {
	Name  string
	Start func(ctx context.Context) (*Server, error)
}

// Starting is a contender that is started, with its directory, if it has one, in parent.
func Starting(p Program, parent string) Contender {
	return Contender{p.Name, func(ctx context.Context) (*Server, error) { return Start(ctx, p, parent) }}
}

// Running is a contender that runs already; see [Server] for pid.
func Running(name, address string, pid int) Contender {
	return Contender{name, func(context.Context) (*Server, error) {
		return &Server{Name: name, Address: address, PID: pid}, nil
	}}
}

// Run carries the contest out and returns the results by contender and round.
func (c *Contest) Run(ctx context.Context) (results [][]Result, err error) {
	servers := make([]*Server, len(c.Contenders))
	defer func() {
		for _, s := range servers {
			if s != nil {
				err = errors.Join(err, Clean(ctx, s, c.Plan), s.Stop())
			}
		}
	}()
	results = make([][]Result, len(c.Contenders))
	for round := range c.Rounds {
		for i := range c.Contenders {
			r, err := c.turn(ctx, &c.Contenders[i], round, &servers[i])
			if err != nil {
				return nil, fmt.Errorf("%s, %s, %s: %w", c.Workload.Name, c.Plan, c.Contenders[i].Name, err)
			}
			results[i] = append(results[i], r)
			if c.Measured != nil {
				if err := c.Measured(c.Contenders[i].Name, round, r); err != nil {
					return nil, err
				}
			}
		}
	}
	return results, nil
}

// turn measures one contender once. The server stays for the next round if the workload keeps it.
func (c *Contest) turn(ctx context.Context, who *Contender, round int, kept **Server) (Result, error) {
	c.progress(who, round, "")
	if *kept == nil {
		s, err := who.Start(ctx)
		if err != nil {
			return Result{}, err
		}
		*kept = s
		if c.Workload.prepare != nil {
			c.progress(who, round, ", preparing")
			if err := c.Workload.Prepare(ctx, s, c.Plan); err != nil {
				return Result{}, err
			}
			c.progress(who, round, "")
		}
	}
	r, err := c.Workload.Measure(ctx, *kept, c.Plan)
	if err != nil || c.Workload.Keeps {
		return r, err
	}
	s := *kept
	*kept = nil
	return r, errors.Join(Clean(ctx, s, c.Plan), s.Stop())
}

func (c *Contest) progress(who *Contender, round int, what string) {
	if c.Progress != nil {
		c.Progress(fmt.Sprintf("%s, %s, round %d of %d, %s%s", c.Workload.Name, c.Plan, round+1, c.Rounds, who.Name, what))
	}
}
