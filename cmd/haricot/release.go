package main

import (
	"context"
	"errors"
	"time"

	"github.com/haricotq/haricot/internal/apiclient"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/remote"
)

// releaseCommand gives jobs back.
type releaseCommand struct {
	jobChoice
	Priority *uint32 `name:"pri" placeholder:"N" help:"Give them this priority. Default: they keep theirs."`
	Delay    span    `default:"0" placeholder:"TIME" help:"How long they stay delayed before they are ready. Default: 0."`
	serverFlags
	force
}

// Help is the second part of the help page.
func (*releaseCommand) Help() string {
	return "For jobs that no worker has (or, with --force, for those that workers have): ready, delayed or buried ones by their ids, buried ones of a tube. It changes their priority and delay. A job is taken with " +
		"reserve-job and then released, so that it counts as reserved once more. The server must be haricot, or beanstalkd since 1.12."
}

// Run gives them back.
func (c *releaseCommand) Run(p *process) error {
	change := remote.Change{Priority: (*protocol.Priority)(c.Priority), Delay: time.Duration(c.Delay)}
	with := apiclient.Parameters{"delay": int64(time.Duration(c.Delay) / time.Second)}
	if c.Force && c.Priority != nil {
		return usage(errors.New("a job that is taken from a worker keeps its priority; leave --pri or --force out"))
	}
	return c.perform(p, &c.serverFlags, &action{
		name: "release", force: &c.force, with: with, done: "released", state: remote.Buried,
		one: func(s *remote.Server, id protocol.JobID) error { return s.Release(id, change) },
		next: func(ctx context.Context, s *remote.Server, most int, progress remote.Progress) (int, error) {
			return s.ReleaseNext(ctx, string(c.Tube), remote.Buried, most, change, progress)
		},
	})
}
