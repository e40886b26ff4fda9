package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/haricotq/haricot/internal/apiclient"
	"github.com/haricotq/haricot/internal/terminal"
)

// jobsCommand lists jobs.
type jobsCommand struct {
	Tube tubeName `arg:"" optional:"" help:"The tube. Default: all tubes, in a search."`
	queryFlags
	Limit     int  `short:"n" default:"0" placeholder:"N" help:"Stop after so many. Default: all of them, page by page."`
	BodyLimit *int `placeholder:"BYTES" help:"Show so much of each body. Default: a line of it in a table, 64 KiB in JSON."`
	apiFlags
}

// Help is the second part of the help page.
func (*jobsCommand) Help() string {
	return "The jobs of a tube come in their order: ready ones as workers will get them, reserved ones by when their time is up, delayed ones by when they are due, " +
		"buried ones by when they were buried. A search (--match and the flags below it, or no tube) goes through all jobs of the server, and they come in no particular order.\n\n" +
		"The columns are id, tube, state, priority, age in seconds, seconds left (of a delay, or of the time to run), how often it was reserved, and the body. The exit status is 3 if there is none."
}

// bodyInTable is how many bytes of a body are asked for where a line of it is shown.
const bodyInTable = 200

// Run lists them.
func (c *jobsCommand) Run(p *process) error {
	if c.Limit < 0 || c.BodyLimit != nil && *c.BodyLimit < 0 {
		return usage(errors.New("--limit and --body-limit cannot be negative"))
	}
	q, err := c.query(c.Tube)
	if err != nil {
		return err
	}
	return c.with(time.Duration(c.Timeout), func(ctx context.Context, api *apiclient.Client) error {
		n, err := c.show(p, c.found(ctx, api, q))
		if err == nil && n == 0 {
			err = nothing(errors.New("there is no such job"))
		}
		return err
	})
}

// found are the jobs that are asked for.
func (c *jobsCommand) found(ctx context.Context, api *apiclient.Client, q *apiclient.Query) iter.Seq2[*apiclient.Job, error] {
	body := bodyInTable
	if c.JSON {
		body = 64 << 10
	}
	if c.BodyLimit != nil {
		body = *c.BodyLimit
	}
	if c.Tube == "" || c.searches() {
		return api.Search(ctx, q, body)
	}
	states := c.State
	if len(states) == 0 {
		states = []string{"ready", "reserved", "delayed", "buried"}
	}
	return func(yield func(*apiclient.Job, error) bool) {
		for _, state := range states {
			for job, err := range api.Jobs(ctx, string(c.Tube), state, body) {
				if !yield(job, err) || err != nil {
					return
				}
			}
		}
	}
}

// tableRows is how many rows are aligned to each other: who lists millions should see the first of them at once.
const tableRows = 1000

// show prints jobs as they come, and returns how many.
func (c *jobsCommand) show(p *process, found iter.Seq2[*apiclient.Job, error]) (n int, err error) {
	columns := terminal.Columns("#id", "tube", "state", "#pri", "#age", "#left", "#tries", "body")
	table := terminal.NewTable(p.stdout, columns)
	for job, err := range found {
		if err != nil {
			return n, errors.Join(table.Write(p.stdout), err)
		}
		n++
		if c.JSON {
			err = terminal.WriteJSON(p.stdout, job.Raw)
		} else {
			body := job.Body
			if job.Base64 != nil {
				body = string(job.Base64)
			}
			table.Row(job.ID, job.Tube, job.State, job.Priority, wholeNumber(job.Age), wholeNumber(job.TimeLeft), job.Reserves, body)
			if n%tableRows == 0 {
				err = table.Write(p.stdout)
				table = terminal.NewTable(p.stdout, columns)
			}
		}
		if err != nil || n == c.Limit {
			return n, errors.Join(err, table.Write(p.stdout))
		}
	}
	if n%tableRows == 0 || c.JSON {
		return n, nil
	}
	return n, table.Write(p.stdout)
}

// wholeNumber writes a number without its fraction.
func wholeNumber(f float64) string { return fmt.Sprintf("%.0f", f) }
