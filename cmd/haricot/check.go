package main

import (
	"errors"
	"fmt"

	"github.com/haricotq/haricot/internal/store"
)

// checkCommand verifies a store.
type checkCommand struct {
	Dir string `arg:"" name:"DIR" help:"The directory of a store that no server has open, or of a backup."`
}

// Help is the second part of the help page.
func (*checkCommand) Help() string {
	return "Reads everything: checksums, headers, bodies, ids, and makes a queue of it as a server does at start. Prints a line for each " +
		"fault and one with what there is. Changes nothing. The exit status is 1 if there is a fault."
}

// Run checks.
func (c *checkCommand) Run(p *process) error {
	found, err := verify(c.Dir, p)
	if err != nil {
		return unusable(err, c.Dir)
	}
	fmt.Fprintf(p.stdout, "%s: %s (%d ready, %d delayed, %d buried) in %s, %s; bodies: %d bytes, files: %d bytes; next id: %d\n",
		c.Dir, inJobs(int64(found.Ready+found.Delayed+found.Buried)), found.Ready, found.Delayed, found.Buried,
		plural(int64(found.Tubes), "tube"), plural(int64(found.Pauses), "pause"), found.BodyBytes, found.FileBytes, max(found.Next, 1))
	if found.Faults > 0 {
		return fmt.Errorf("%s is damaged: %s found; bring back a backup with: haricot restore BACKUP NEWDIR",
			c.Dir, plural(int64(found.Faults), "fault"))
	}
	fmt.Fprintln(p.stdout, "no faults")
	return nil
}

// verify checks the store in a directory and prints its faults.
func verify(dir string, p *process) (store.Findings, error) {
	progress := newBar(p, nil)
	defer progress.end()
	return store.Check(store.Options{Dir: dir}, store.Watch{
		Fault: func(f store.Fault) {
			progress.end()
			fmt.Fprintf(p.stdout, "fault: %v\n", f)
		},
		Progress: func(stage string, done, total int64) {
			progress.unit = inJobs
			if total > 0 {
				progress.unit = inBytes
			}
			progress.set("checking "+stage, done, total)
		},
	})
}

// sound makes sure that a backup can be relied on.
func sound(dir string, p *process) error {
	found, err := verify(dir, p)
	if err != nil {
		return unusable(err, dir)
	}
	if found.Faults > 0 {
		return errors.New("the backup is damaged, and nothing was restored; take another one")
	}
	return nil
}
