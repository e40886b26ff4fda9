package main

import (
	"errors"
	"fmt"

	"github.com/haricotq/haricot/internal/remote"
)

// tubeCommand shows the statistics of a tube.
type tubeCommand struct {
	Tube tubeName `arg:"" help:"The tube."`
	serverFlags
}

// Help is the second part of the help page.
func (*tubeCommand) Help() string {
	return "A tube is there while it has jobs, or clients that use or watch it."
}

// Run shows them.
func (c *tubeCommand) Run(p *process) error {
	return c.with(func(s *remote.Server) error {
		stats, err := s.TubeStat(string(c.Tube))
		if err != nil {
			return noTube(c.Tube, err)
		}
		return c.showStats(p, stats)
	})
}

// noTube makes an error that says that something is not there say that it is a tube.
func noTube(tube tubeName, err error) error {
	if errors.Is(err, remote.ErrNotFound) {
		return nothing(fmt.Errorf("there is no tube %s; 'haricot tubes' lists those that there are", tube))
	}
	return err
}
