package main

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/haricotq/haricot/internal/remote"
	"github.com/haricotq/haricot/internal/terminal"
)

// tubesCommand lists tubes.
type tubesCommand struct {
	Pattern []string `arg:"" optional:"" help:"Only tubes whose names match, such as 'mail.*'."`
	serverFlags
}

// Help is the second part of the help page.
func (*tubesCommand) Help() string {
	return "Where no terminal is, a line has the columns with a tab between them: name, ready, reserved, delayed, buried, waiting " +
		"(workers that wait for a job), watching, using, pause (seconds left), total (jobs ever put). In JSON each tube is a line with all its statistics."
}

// Run lists them.
func (c *tubesCommand) Run(p *process) error {
	for _, pattern := range c.Pattern {
		if _, err := path.Match(pattern, ""); err != nil {
			return usage(fmt.Errorf("%q is not a pattern: %w; * stands for any characters, ? for one, [a-c] for one of these", pattern, err))
		}
	}
	return c.with(func(s *remote.Server) error {
		names, err := s.Tubes()
		if err != nil {
			return err
		}
		names = slices.DeleteFunc(names, func(name string) bool { return !c.wanted(name) })
		if len(names) == 0 {
			return nothing(errors.New("no tube matches"))
		}
		slices.Sort(names)
		all, err := s.TubeStats(names...)
		if err != nil {
			return err
		}
		return c.show(p, all)
	})
}

func (c *tubesCommand) wanted(name string) bool {
	return len(c.Pattern) == 0 || slices.ContainsFunc(c.Pattern, func(pattern string) bool {
		// A / is a character like any other in the name of a tube.
		hit, _ := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00")) // It is well formed: Run has looked.
		return hit
	})
}

// tubeColumns are what a list of tubes shows.
var tubeColumns = []string{
	"name", "current-jobs-ready", "current-jobs-reserved", "current-jobs-delayed", "current-jobs-buried", "current-waiting",
	"current-watching", "current-using", "pause-time-left", "total-jobs",
}

func (c *tubesCommand) show(p *process, all []remote.Stats) error {
	table := terminal.NewTable(p.stdout, terminal.Columns("tube", "#ready", "#reserved", "#delayed", "#buried", "#waiting", "#watching", "#using", "#pause", "#total"))
	for _, stats := range all {
		if c.JSON {
			if err := terminal.WriteJSON(p.stdout, stats); err != nil {
				return err
			}
			continue
		}
		row := make([]any, len(tubeColumns))
		for i, name := range tubeColumns {
			row[i] = stats.Value(name)
		}
		table.Row(row...)
	}
	if c.JSON {
		return nil
	}
	return table.Write(p.stdout)
}
