package main

import (
	"errors"
	"fmt"

	"github.com/haricotq/haricot/internal/store"
	"github.com/haricotq/haricot/internal/transfer"
)

// backupCommand copies a store, whether a server has it open or not.
type backupCommand struct {
	Dir    string `arg:"" name:"DIR" help:"The directory of the store, as given to -b."`
	Target string `arg:"" name:"TARGET" help:"Where the backup is to be: a directory that is empty or does not exist."`
}

// Help is the second part of the help page.
func (*backupCommand) Help() string {
	return "The backup has everything that was acknowledged before the command began, and is one moment of the queue. A running server makes " +
		"a checkpoint for it and goes on serving; no pause is noticed. The backup is on the disk when the command ends, and is itself a " +
		"directory that check, export, restore and -b accept."
}

// Run makes the backup.
func (c *backupCommand) Run(p *process) error {
	from, err := transfer.OpenSource(c.Dir)
	if err != nil {
		return unusable(err, c.Dir)
	}
	if err := copyStore(from.Dir, c.Target, "backing up", p); err != nil {
		return errors.Join(err, from.Close())
	}
	if err := from.Close(); err != nil {
		return err
	}
	fmt.Fprintf(p.stderr, "%s is backed up in %s\n", c.Dir, c.Target)
	return nil
}

// restoreCommand makes a store of a backup.
type restoreCommand struct {
	Backup string `arg:"" name:"BACKUP" help:"The directory of a backup."`
	Dir    string `arg:"" name:"DIR" help:"The directory of the new store: one that is empty or does not exist."`
}

// Help is the second part of the help page.
func (*restoreCommand) Help() string {
	return "Checks the backup first, and copies it if it has no fault. Nothing is ever overwritten: to go back to a backup, move the old " +
		"directory away."
}

// Run restores.
func (c *restoreCommand) Run(p *process) error {
	if err := sound(c.Backup, p); err != nil {
		return err
	}
	// Held open, so that no server can take the backup for its store meanwhile.
	from, err := store.Open(store.Options{Dir: c.Backup, ReadOnly: true})
	if err != nil {
		return unusable(err, c.Backup)
	}
	if err := errors.Join(copyStore(c.Backup, c.Dir, "restoring", p), from.Close()); err != nil {
		return err
	}
	fmt.Fprintf(p.stderr, "%s is restored in %s\n", c.Backup, c.Dir)
	return nil
}

// copyStore copies a store that stands still.
func copyStore(from, target, what string, p *process) error {
	progress := newBar(p, inBytes)
	defer progress.end()
	err := store.Copy(from, target, func(done, total int64) { progress.set(what, done, total) })
	if errors.Is(err, store.ErrOccupied) {
		return unusable(err, target)
	}
	return err
}
