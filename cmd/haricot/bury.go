package main

import (
	"context"
	"errors"

	"github.com/haricotq/haricot/internal/apiclient"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/remote"
)

// buryCommand buries jobs.
type buryCommand struct {
	jobChoice
	State    string  `enum:"ready,delayed" default:"ready" placeholder:"STATE" help:"With --tube: bury ready jobs, the most urgent first, or delayed ones, the soonest due first. Default: ready."`
	Priority *uint32 `name:"pri" placeholder:"N" help:"Give them this priority. Default: they keep theirs."`
	serverFlags
	force
}

// Help is the second part of the help page.
func (*buryCommand) Help() string {
	return "A job is taken with reserve-job and then buried, so that it counts as reserved once more. The server must be haricot, or beanstalkd since 1.12."
}

// Run buries them.
func (c *buryCommand) Run(p *process) error {
	state, change := remote.State(c.State), remote.Change{Priority: (*protocol.Priority)(c.Priority)}
	if c.Force && c.Priority != nil {
		return usage(errors.New("a job that is taken from a worker keeps its priority; leave --pri or --force out"))
	}
	return c.perform(p, &c.serverFlags, &action{
		name: "bury", force: &c.force, with: apiclient.Parameters{"force": true}, done: "buried", state: state,
		one: func(s *remote.Server, id protocol.JobID) error { return s.Bury(id, change) },
		next: func(ctx context.Context, s *remote.Server, most int, progress remote.Progress) (int, error) {
			return s.BuryNext(ctx, string(c.Tube), state, most, change, progress)
		},
	})
}
