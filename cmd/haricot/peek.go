package main

import (
	"errors"
	"fmt"

	"github.com/haricotq/haricot/internal/remote"
)

// peekCommand shows the next job of a tube.
type peekCommand struct {
	Tube  tubeName `arg:"" help:"The tube."`
	State string   `enum:"ready,delayed,buried" default:"ready" placeholder:"STATE" help:"ready: the one that a worker would get. delayed: the one that is due first. buried: the one that was buried first. Default: ready."`
	Body  bool     `help:"Print the body and nothing else: byte for byte, unless it goes to a terminal."`
	serverFlags
}

// Help is the second part of the help page.
func (*peekCommand) Help() string {
	return "The job stays where it is. The exit status is 3 if there is none."
}

// Run shows it.
func (c *peekCommand) Run(p *process) error {
	return c.with(func(s *remote.Server) error {
		job, err := s.Peek(string(c.Tube), remote.State(c.State))
		if errors.Is(err, remote.ErrNotFound) {
			return nothing(fmt.Errorf("the tube %s has no %s job", c.Tube, c.State))
		}
		if err != nil {
			return err
		}
		return c.showJob(p, job, c.Body)
	})
}
