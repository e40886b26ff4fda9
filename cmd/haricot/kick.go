package main

import (
	"context"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/remote"
)

// kickCommand makes jobs ready.
type kickCommand struct {
	jobChoice
	State string `enum:"buried,delayed" default:"buried" placeholder:"STATE" help:"With --tube: kick buried jobs, the longest buried first, or delayed ones, the soonest due first. Default: buried."`
	serverFlags
}

// Run kicks them.
func (c *kickCommand) Run(p *process) error {
	state := remote.State(c.State)
	return c.perform(p, &c.serverFlags, &action{
		name: "kick", done: "kicked", state: state,
		one: func(s *remote.Server, id protocol.JobID) error { return s.KickJob(id) },
		next: func(ctx context.Context, s *remote.Server, most int, progress remote.Progress) (int, error) {
			return s.Kick(ctx, string(c.Tube), state, most, progress)
		},
	})
}
