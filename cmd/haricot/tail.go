package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/haricotq/haricot/internal/apiclient"
	"github.com/haricotq/haricot/internal/remote"
	"github.com/haricotq/haricot/internal/terminal"
)

// tailCommand follows a tube.
type tailCommand struct {
	Tube  tubeName `arg:"" help:"The tube, which need not be there yet."`
	Every span     `default:"1s" placeholder:"TIME" help:"Look so often. Default: 1s."`
	For   span     `default:"0" placeholder:"TIME" help:"Stop after this time. Default: go on until an interrupt."`
	serverFlags
	apiFlag
}

// Help is the second part of the help page.
func (*tailCommand) Help() string {
	return "No job is taken. The protocol shows which job is next in each state, and counts: so a line is printed when another job is next than before, " +
		"and when the counts have changed. A job that stands behind others, or comes and goes between two looks, is seen in the counts only.\n\n" +
		"With --api, there is a line each second with the counts and how many jobs were put, reserved, deleted and so on in it."
}

// Run follows it.
func (c *tailCommand) Run(p *process) error {
	if c.Every == 0 {
		return usage(fmt.Errorf("--every 0 is too often; give a second or more"))
	}
	ctx, stop := untilSignal()
	defer stop()
	if c.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(c.For))
		defer cancel()
	}
	if c.API != "" {
		return c.followByAPI(ctx, p)
	}
	return c.serverFlags.with(func(s *remote.Server) error {
		f := remote.NewFollower(s, string(c.Tube))
		again := time.NewTicker(time.Duration(c.Every))
		defer again.Stop()
		for {
			sight, err := f.Look()
			if err != nil {
				return err
			}
			if err := c.show(p, time.Now(), &sight); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return nil // That is how it ends.
			case <-again.C:
			}
		}
	})
}

// show prints what a look has shown.
func (c *tailCommand) show(p *process, now time.Time, sight *remote.Sight) error {
	if c.JSON {
		return c.showJSON(p, now, sight)
	}
	at := now.Format(time.TimeOnly)
	if sight.Changed {
		n := sight.Counts
		fmt.Fprintf(p.stdout, "%s\tcounts\tput %d, deleted %d; ready %d, reserved %d, delayed %d, buried %d\n",
			at, n.Put, n.Deleted, n.Ready, n.Reserved, n.Delayed, n.Buried)
	}
	width := terminal.Width(p.stdout)
	for _, job := range sight.Jobs {
		line := fmt.Sprintf("%s\t%s\tjob %d, pri %s, age %ss\t%s", at, clean(job.Stats.Value("state")), job.ID,
			clean(job.Stats.Value("pri")), clean(job.Stats.Value("age")), clean(job.Body))
		fmt.Fprintln(p.stdout, terminal.Cut(line, width))
	}
	return nil
}

// followLine is what a look has shown, in JSON: a job or counts.
type followLine struct {
	Time   time.Time       `json:"time"`
	Event  string          `json:"event"` // next or counts
	Counts *remote.Counts  `json:"counts,omitempty"`
	Job    json.RawMessage `json:"job,omitempty"`
}

func (c *tailCommand) showJSON(p *process, now time.Time, sight *remote.Sight) error {
	now = now.UTC().Truncate(time.Millisecond)
	if sight.Changed {
		if err := terminal.WriteJSON(p.stdout, followLine{Time: now, Event: "counts", Counts: &sight.Counts}); err != nil {
			return err
		}
	}
	for _, job := range sight.Jobs {
		line, err := jobLine(job)
		if err != nil {
			return err
		}
		if err := terminal.WriteJSON(p.stdout, followLine{Time: now, Event: "next", Job: line}); err != nil {
			return err
		}
	}
	return nil
}

// followByAPI prints the samples that the server sends.
func (c *tailCommand) followByAPI(ctx context.Context, p *process) error {
	return c.apiFlag.with(time.Duration(c.Timeout), func(_ context.Context, api *apiclient.Client) error {
		return api.Watch(ctx, string(c.Tube), func(s *apiclient.Sample) error {
			if c.JSON {
				return terminal.WriteJSON(p.stdout, s.Raw)
			}
			at := s.At.Local().Format(time.TimeOnly)
			if s.Tube == nil {
				_, err := fmt.Fprintf(p.stdout, "%s\tthere is no such tube\n", at)
				return err
			}
			n, r := &s.Tube.TubeCounts, &s.Tube.Rates
			_, err := fmt.Fprintf(p.stdout, "%s\tready %d, reserved %d, delayed %d, buried %d, workers waiting %d\t"+
				"in a second: put %g, reserved %g, deleted %g, released %g, buried %g, kicked %g, timed out %g\n",
				at, n.Ready, n.Reserved, n.Delayed, n.Buried, s.Tube.Waiting, r.Puts, r.Reserves, r.Deletes, r.Releases, r.Buries, r.Kicks, r.Timeouts)
			return err
		})
	})
}
