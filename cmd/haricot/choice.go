package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/haricotq/haricot/internal/apiclient"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/remote"
	"github.com/haricotq/haricot/internal/terminal"
)

// jobChoice says which jobs a command is about: some by their ids, or those of a tube that are next.
type jobChoice struct {
	IDs   []jobID  `arg:"" optional:"" name:"id" help:"The job."`
	Tube  tubeName `placeholder:"TUBE" help:"Instead of ids: the jobs of this tube that are next in their state."`
	Count int      `placeholder:"N" help:"With --tube: at most so many. Default: 1."`
	All   bool     `help:"With --tube: all that are there now."`
}

// force lets a command take jobs from workers.
type force struct {
	Force bool `help:"With ids and --api: take the jobs from the workers that have them."`
	apiFlag
}

func (c *jobChoice) check() error {
	switch {
	case len(c.IDs) == 0 && c.Tube == "":
		return usage(errors.New("which jobs? Give their ids, or a tube with --tube"))
	case len(c.IDs) > 0 && c.Tube != "":
		return usage(errors.New("ids and --tube contradict each other; leave one out"))
	case c.Tube == "" && (c.Count != 0 || c.All):
		return usage(errors.New("--count and --all go with --tube"))
	case c.Count != 0 && c.All:
		return usage(errors.New("--count and --all contradict each other; leave one out"))
	case c.Count < 0:
		return usage(fmt.Errorf("--count %d is not possible; give 1 or more", c.Count))
	}
	return nil
}

// action is what a command does to the jobs that were chosen.
type action struct {
	name string // such as "kick", which the API knows
	done string // such as "kicked"
	// force, where there is one, has it done by way of the API, with these parameters.
	force *force
	with  apiclient.Parameters
	one   func(s *remote.Server, id protocol.JobID) error
	// next does it to up to so many jobs that are next in their tube.
	next  func(ctx context.Context, s *remote.Server, most int, progress remote.Progress) (int, error)
	state remote.State // in which they are next
}

// perform does it.
func (c *jobChoice) perform(p *process, f *serverFlags, a *action) error {
	if err := c.check(); err != nil {
		return err
	}
	if a.force != nil && a.force.Force {
		if a.force.API == "" || c.Tube != "" {
			return usage(errors.New("--force goes with ids and --api: over the protocol, only the worker that has a job can end it"))
		}
		return a.force.with(time.Duration(f.Timeout), func(ctx context.Context, api *apiclient.Client) error {
			return c.eachByAPI(ctx, p, f, api, a)
		})
	}
	return f.with(func(s *remote.Server) error {
		if c.Tube == "" {
			return c.each(p, f, s, a)
		}
		most := max(c.Count, 1)
		if c.All {
			stats, err := s.TubeStat(string(c.Tube))
			if err != nil {
				return noTube(c.Tube, err)
			}
			most = int(stats.Number("current-jobs-" + string(a.state)))
		}
		ctx, stop := untilSignal()
		defer stop()
		bar := newBar(p, inJobs)
		n, err := a.next(ctx, s, most, func(done int) { bar.set("jobs "+a.done, int64(done), int64(most)) })
		bar.end()
		return errors.Join(c.report(p, f, a, n), interrupted(old(err)))
	})
}

// report says how many jobs of a tube it was done to.
func (c *jobChoice) report(p *process, f *serverFlags, a *action, n int) error {
	if f.JSON {
		if err := terminal.WriteJSON(p.stdout, countLine{string(c.Tube), a.done, n}); err != nil {
			return err
		}
	} else if n > 0 {
		fmt.Fprintf(p.stdout, "%s: %s %s\n", c.Tube, inJobs(int64(n)), a.done)
	}
	if n == 0 {
		return nothing(fmt.Errorf("the tube %s has no %s job", c.Tube, a.state))
	}
	return nil
}

// countLine says in JSON how many jobs something was done to.
type countLine struct {
	Tube   string `json:"tube"`
	Result string `json:"result"`
	Jobs   int    `json:"jobs"`
}

// resultLine says in JSON what was done to a job.
type resultLine struct {
	ID     uint64 `json:"id"`
	Result string `json:"result"`
}

// each does it to each job that was named, and then says which ones it could not be done to.
func (c *jobChoice) each(p *process, f *serverFlags, s *remote.Server, a *action) error {
	var faults []error
	for _, id := range c.IDs {
		id := protocol.JobID(id)
		err := a.one(s, id)
		switch {
		case errors.Is(err, remote.ErrNotFound):
			faults = append(faults, unfit(s, id, a))
			continue
		case err != nil:
			return errors.Join(append(faults, fmt.Errorf("job %d: %w", id, old(err)))...)
		}
		if err := f.showResult(p, uint64(id), a.done); err != nil {
			return err
		}
	}
	if len(faults) > 0 {
		return nothing(errors.Join(faults...))
	}
	return nil
}

// eachByAPI does the same by way of the API, which takes jobs from workers.
func (c *jobChoice) eachByAPI(ctx context.Context, p *process, f *serverFlags, api *apiclient.Client, a *action) error {
	var faults []error
	for _, id := range c.IDs {
		switch err := api.Do(ctx, uint64(id), a.name, a.with); {
		case errors.Is(err, apiclient.ErrNotFound), errors.Is(err, apiclient.ErrConflict):
			faults = append(faults, fmt.Errorf("job %d: %w", id, err))
			continue
		case err != nil:
			return errors.Join(append(faults, fmt.Errorf("job %d: %w", id, err))...)
		}
		if err := f.showResult(p, uint64(id), a.done); err != nil {
			return err
		}
	}
	if len(faults) > 0 {
		return nothing(errors.Join(faults...))
	}
	return nil
}

// showResult says what was done to a job.
func (f *serverFlags) showResult(p *process, id uint64, done string) error {
	if f.JSON {
		return terminal.WriteJSON(p.stdout, resultLine{id, done})
	}
	_, err := fmt.Fprintf(p.stdout, "job %d: %s\n", id, done)
	return err
}

// unfit says why a job did not suit a command.
func unfit(s *remote.Server, id protocol.JobID, a *action) error {
	job, err := s.Job(id)
	switch {
	case err != nil:
		return fmt.Errorf("job %d: there is no such job", id)
	case job.Stats.Value("state") == "reserved":
		return fmt.Errorf("job %d: a worker has it, and over the protocol only that worker can end it; --force with --api takes it away", id)
	}
	return fmt.Errorf("job %d is %s and cannot be %s", id, clean(job.Stats.Value("state")), a.done)
}

// old adds to a command's being unknown since when servers know it.
func old(err error) error {
	if errors.Is(err, remote.ErrUnknown) {
		return fmt.Errorf("%w; haricot does, and beanstalkd since 1.12", err)
	}
	return err
}

// interrupted puts the end of a context in words.
func interrupted(err error) error {
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted")
	}
	return err
}
