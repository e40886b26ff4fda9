package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/haricotq/haricot/internal/apiclient"
	"github.com/haricotq/haricot/internal/terminal"
)

// bulkCommand does something to many jobs.
type bulkCommand struct {
	Action string   `arg:"" enum:"delete,kick,bury,release,move,change" help:"What to do: delete, kick, bury, release, move (to another tube, --to) or change (priority, delay or time to run in place)."`
	Tube   tubeName `arg:"" optional:"" help:"To the jobs of this tube. Default: of all tubes."`
	queryFlags
	To       tubeName `placeholder:"TUBE" help:"move: the tube to which they go."`
	Priority *uint32  `name:"pri" placeholder:"N" help:"change: give them this priority."`
	Delay    *span    `placeholder:"TIME" help:"change, release: give them this delay."`
	TTR      *span    `name:"ttr" placeholder:"TIME" help:"change: give them this time to run."`
	Force    bool     `help:"Take jobs from the workers that have them; without it, these are skipped."`
	Yes      bool     `short:"y" help:"Do not ask."`
	apiFlags
}

// Help is the second part of the help page.
func (*bulkCommand) Help() string {
	return "Shows how many jobs it is about, and asks. If there are others by then, nothing is done. Jobs that workers have, and those to which the action does not apply, are skipped. " +
		"The exit status is 3 if there is none."
}

// Run does it.
func (c *bulkCommand) Run(p *process) error {
	q, err := c.query(c.Tube)
	if err != nil {
		return err
	}
	if c.Tube == "" && len(c.State) == 0 && !c.searches() {
		return usage(errors.New("which jobs? Name a tube, or give --state, --match or another flag that says so"))
	}
	with, err := c.parameters()
	if err != nil {
		return err
	}
	return c.with(changePatience, func(ctx context.Context, api *apiclient.Client) error {
		n, err := api.Count(ctx, q)
		switch {
		case err != nil:
			return err
		case n == 0:
			return nothing(errors.New("there is no such job"))
		case !c.Yes:
			if err := ask(p, fmt.Sprintf("%s found. %s?", inJobs(int64(n)), c.question(n))); err != nil {
				return err
			}
		}
		o, err := api.Bulk(ctx, q, c.Action, with, n)
		if err != nil {
			return err
		}
		if c.JSON {
			return terminal.WriteJSON(p.stdout, o)
		}
		_, err = fmt.Fprintf(p.stdout, "%s: %s, %d skipped\n", c.Action, inJobs(int64(o.Done)), o.Skipped)
		return err
	})
}

// parameters are those of the action.
func (c *bulkCommand) parameters() (apiclient.Parameters, error) {
	with := apiclient.Parameters{}
	if c.Force {
		with["force"] = true
	}
	if c.Priority != nil {
		with["pri"] = *c.Priority
	}
	if c.Delay != nil {
		with["delay"] = int64(time.Duration(*c.Delay) / time.Second)
	}
	if c.TTR != nil {
		with["ttr"] = int64(time.Duration(*c.TTR) / time.Second)
	}
	if c.To != "" {
		with["tube"] = c.To
	}
	if (c.Action == "move") != (c.To != "") {
		return nil, usage(errors.New("move needs --to TUBE, and nothing else takes it"))
	}
	return with, nil
}

// question is what a person is asked.
func (c *bulkCommand) question(n int) string {
	what := map[string]string{
		"delete": "Delete", "kick": "Kick", "bury": "Bury", "release": "Release", "move": "Move", "change": "Change",
	}[c.Action] + " " + these(n)
	if c.To != "" {
		what += " to " + string(c.To)
	}
	return what
}
