package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/haricotq/haricot/internal/apiclient"
	"github.com/haricotq/haricot/internal/terminal"
)

// moveCommand moves jobs.
type moveCommand struct {
	IDs   []jobID  `arg:"" name:"id" help:"The job."`
	To    tubeName `required:"" placeholder:"TUBE" help:"The tube to which they go, which is made if it is not there."`
	Force bool     `help:"Take a job from the worker that has it, if one has."`
	apiFlags
}

// Help is the second part of the help page.
func (*moveCommand) Help() string {
	return "They keep their ids, counters and state. 'haricot bulk move' moves all jobs of a tube, or those that a search finds. 'haricot migrate' moves jobs to another server."
}

// Run moves them.
func (c *moveCommand) Run(p *process) error {
	return c.with(time.Duration(c.Timeout), func(ctx context.Context, api *apiclient.Client) error {
		var faults []error
		for _, id := range c.IDs {
			with := apiclient.Parameters{"tube": c.To}
			if c.Force {
				with["force"] = true
			}
			err := api.Do(ctx, uint64(id), "move", with)
			switch {
			case errors.Is(err, apiclient.ErrNotFound), errors.Is(err, apiclient.ErrConflict):
				faults = append(faults, fmt.Errorf("job %d: %w", id, err))
				continue
			case err != nil:
				return errors.Join(append(faults, fmt.Errorf("job %d: %w", id, err))...)
			case c.JSON:
				err = terminal.WriteJSON(p.stdout, resultLine{uint64(id), "moved"})
			default:
				_, err = fmt.Fprintf(p.stdout, "job %d: moved to %s\n", id, c.To)
			}
			if err != nil {
				return err
			}
		}
		if len(faults) > 0 {
			return nothing(errors.Join(faults...))
		}
		return nil
	})
}
