package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/haricotq/haricot/internal/apiclient"
	"github.com/haricotq/haricot/internal/remote"
	"github.com/haricotq/haricot/internal/terminal"
)

// clearCommand deletes all jobs of a tube.
type clearCommand struct {
	Tube  tubeName `arg:"" help:"The tube."`
	State []string `required:"" enum:"ready,delayed,buried" placeholder:"STATE" help:"Which jobs: ready, delayed or buried, or several of these with commas between."`
	Yes   bool     `short:"y" help:"Do not ask."`
	serverFlags
	apiFlag
}

// Help is the second part of the help page.
func (*clearCommand) Help() string {
	return "Shows how many jobs it is about, and asks. Jobs that workers have are not touched, nor those that come while it runs. The exit status is 3 if there is none."
}

// Run deletes them.
func (c *clearCommand) Run(p *process) error {
	slices.Sort(c.State)
	c.State = slices.Compact(c.State)
	if c.API != "" {
		return c.apiFlag.with(changePatience, func(ctx context.Context, api *apiclient.Client) error { return c.clearByAPI(ctx, p, api) })
	}
	return c.serverFlags.with(func(s *remote.Server) error {
		stats, err := s.TubeStat(string(c.Tube))
		if err != nil {
			return noTube(c.Tube, err)
		}
		counts := map[string]int{}
		for _, state := range c.State {
			counts[state] = int(stats.Number("current-jobs-" + state))
		}
		total, err := c.confirm(p, counts)
		if err != nil {
			return err
		}
		return c.clear(p, s, counts, total)
	})
}

// clearByAPI has the server delete them, which takes one call and no pause of the tube keeps from it.
func (c *clearCommand) clearByAPI(ctx context.Context, p *process, api *apiclient.Client) error {
	tube, err := api.Tube(ctx, string(c.Tube))
	if err != nil {
		return err
	}
	counts := map[string]int{}
	for _, state := range c.State {
		if counts[state], err = tube.In(state); err != nil {
			return err
		}
	}
	if _, err := c.confirm(p, counts); err != nil {
		return err
	}
	outcome, err := api.Clear(ctx, string(c.Tube), c.State, false)
	if err != nil {
		return err
	}
	return c.report(p, outcome.Done)
}

// confirm shows how many jobs it is about, and asks.
func (c *clearCommand) confirm(p *process, counts map[string]int) (total int, err error) {
	var parts []string
	for _, state := range c.State {
		total += counts[state]
		parts = append(parts, fmt.Sprintf("%d %s", counts[state], state))
	}
	switch {
	case total == 0:
		return 0, nothing(fmt.Errorf("the tube %s has no %s job", c.Tube, strings.Join(c.State, " or ")))
	case c.Yes:
		return total, nil
	}
	return total, ask(p, fmt.Sprintf("%s has %s. Delete %s?", c.Tube, strings.Join(parts, ", "), these(total)))
}

func these(n int) string {
	if n == 1 {
		return "this job"
	}
	return fmt.Sprintf("these %d jobs", n)
}

// clear deletes so many jobs of each state.
func (c *clearCommand) clear(p *process, s *remote.Server, counts map[string]int, total int) error {
	ctx, stop := untilSignal()
	defer stop()
	bar, deleted := newBar(p, inJobs), 0
	var err error
	for _, state := range c.State {
		before := deleted
		var n int
		n, err = s.DeleteNext(ctx, string(c.Tube), remote.State(state), counts[state], func(n int) { bar.set("deleting", int64(before+n), int64(total)) })
		deleted += n
		if err != nil {
			break
		}
	}
	bar.end()
	return errors.Join(c.report(p, deleted), interrupted(err))
}

// report says how many were deleted.
func (c *clearCommand) report(p *process, deleted int) error {
	if c.JSON {
		return terminal.WriteJSON(p.stdout, countLine{string(c.Tube), "deleted", deleted})
	}
	_, err := fmt.Fprintf(p.stdout, "%s: %s deleted\n", c.Tube, inJobs(int64(deleted)))
	return err
}

// ask asks a person for a yes.
func ask(p *process, question string) error {
	fmt.Fprintf(p.stderr, "%s [y/N] ", question)
	answer, err := bufio.NewReader(p.stdin).ReadString('\n')
	switch answer = strings.ToLower(strings.TrimSpace(answer)); {
	case answer == "y" || answer == "yes":
		return nil
	case err != nil && answer == "":
		fmt.Fprintln(p.stderr)
		return usage(errors.New("nobody has answered; --yes does it without asking; nothing was changed"))
	}
	return errors.New("nothing was changed")
}
