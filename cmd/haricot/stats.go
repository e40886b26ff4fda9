package main

import (
	"github.com/haricotq/haricot/internal/remote"
	"github.com/haricotq/haricot/internal/terminal"
)

// statsCommand shows the statistics of a server.
type statsCommand struct {
	serverFlags
}

// Help is the second part of the help page.
func (*statsCommand) Help() string {
	return "The names are those of the protocol, in the order in which the server gives them. In JSON they have _ in place of -."
}

// Run shows them.
func (c *statsCommand) Run(p *process) error {
	return c.with(func(s *remote.Server) error {
		stats, err := s.Stats()
		if err != nil {
			return err
		}
		return c.showStats(p, stats)
	})
}

// showStats prints statistics, one in a line.
func (f *serverFlags) showStats(p *process, stats remote.Stats) error {
	if f.JSON {
		return terminal.WriteJSON(p.stdout, stats)
	}
	table := terminal.NewTable(p.stdout, terminal.Columns("name", "value"))
	for _, stat := range stats {
		table.Row(stat.Name, stat.Value)
	}
	return table.Write(p.stdout)
}
