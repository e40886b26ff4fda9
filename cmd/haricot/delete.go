package main

import (
	"context"

	"github.com/haricotq/haricot/internal/apiclient"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/remote"
)

// deleteCommand deletes jobs.
type deleteCommand struct {
	jobChoice
	State string `enum:"ready,delayed,buried" default:"ready" placeholder:"STATE" help:"With --tube: delete ready jobs, the most urgent first, delayed ones, the soonest due first, or buried ones, the longest buried first. Default: ready."`
	serverFlags
	force
}

// Help is the second part of the help page.
func (*deleteCommand) Help() string {
	return "For jobs that no worker has, unless --force takes them away. 'haricot clear' deletes all jobs of a tube, and asks before."
}

// Run deletes them.
func (c *deleteCommand) Run(p *process) error {
	state := remote.State(c.State)
	return c.perform(p, &c.serverFlags, &action{
		name: "delete", force: &c.force, with: apiclient.Parameters{"force": true}, done: "deleted", state: state,
		one: func(s *remote.Server, id protocol.JobID) error { return s.Delete(id) },
		next: func(ctx context.Context, s *remote.Server, most int, progress remote.Progress) (int, error) {
			return s.DeleteNext(ctx, string(c.Tube), state, most, progress)
		},
	})
}
