package main

import (
	"errors"
	"fmt"

	"github.com/haricotq/haricot/internal/transfer"
)

// exportCommand writes everything that a store has as text.
type exportCommand struct {
	Dir  string `arg:"" name:"DIR" help:"The directory of a store, whether a server has it open or not, or of a backup."`
	File string `arg:"" name:"FILE" optional:"" help:"A file that does not exist. Default: standard output."`
}

// Help is the second part of the help page.
func (*exportCommand) Help() string {
	return "One line of JSON for every job, pause and so on, with all fields, at one moment of the queue. Bodies are text if they are UTF-8, " +
		"and in base64 if not. 'haricot import' reads it back."
}

// Run exports.
func (c *exportCommand) Run(p *process) error {
	from, err := transfer.OpenSource(c.Dir)
	if err != nil {
		return unusable(err, c.Dir)
	}
	progress := newBar(p, inJobs)
	show := func(jobs int) { progress.set("exporting", int64(jobs), 0) }
	var jobs int
	if c.File == "" {
		jobs, err = transfer.Export(p.stdout, from, show)
	} else {
		jobs, err = transfer.ExportFile(c.File, from, show)
	}
	progress.end()
	if err = errors.Join(err, from.Close()); err != nil {
		return fmt.Errorf("exporting %s: %w", c.Dir, err)
	}
	if c.File != "" {
		fmt.Fprintf(p.stderr, "%s: %s written to %s\n", c.Dir, inJobs(int64(jobs)), c.File)
	}
	return nil
}
