package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/haricotq/haricot/internal/transfer"
)

// importCommand brings jobs into a store.
type importCommand struct {
	Dir    string `arg:"" name:"DIR" help:"The directory of the store, which no server may have open. It is made if it does not exist."`
	File   string `arg:"" name:"FILE" optional:"" help:"A file that 'haricot export' has written. Default: standard input."`
	NewIDs bool   `name:"new-ids" help:"Number the jobs anew, behind those that are there. Default: they keep their ids, and an id that is taken is an error."`

	beanstalkdSource `embed:""`
}

// Help is the second part of the help page.
func (*importCommand) Help() string {
	return "Either everything is imported or, after an error, nothing."
}

// Run imports.
func (c *importCommand) Run(p *process) error {
	if err := c.beanstalkdSource.check(c.File, c.NewIDs); err != nil {
		return usage(err)
	}
	if c.Beanstalkd != "" {
		return c.importInto(c.Dir, p)
	}
	return c.importLines(p)
}

// importLines imports what haricot export has written.
func (c *importCommand) importLines(p *process) error {
	progress, total := newBar(p, inBytes), int64(0)
	in := transfer.Lines{Reader: os.Stdin, Name: "standard input", NewIDs: c.NewIDs}
	in.Progress = func(done int64) { progress.set("importing", done, total) }
	if c.File != "" {
		f, err := os.Open(c.File)
		if err != nil {
			return err
		}
		defer f.Close()
		in.Reader, in.Name = f, c.File
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			total = info.Size()
		}
	}
	done, err := in.Import(c.Dir)
	progress.end()
	if err != nil {
		return notImported(err, c.Dir)
	}
	warnIncomplete(&done, in.Name, p.stderr)
	fmt.Fprintf(p.stderr, "%s imported into %s\n", counted(done.Count), c.Dir)
	return nil
}

// notImported is the failure of an import.
func notImported(err error, dir string) error {
	if _, ok := errors.AsType[*transfer.UnusableError](err); ok {
		err = unusable(err, dir)
	}
	return fmt.Errorf("%w; nothing was imported", err)
}

// warnIncomplete tells of an export that has not all that was written to it.
func warnIncomplete(done *transfer.Imported, name string, w io.Writer) {
	switch {
	case done.Written == nil:
		fmt.Fprintf(w, "warning: %s has no last line of type end: unless you have taken it out, something is missing\n", name)
	case *done.Written != done.Count:
		fmt.Fprintf(w, "warning: %s was written with %s\n", name, counted(*done.Written))
	}
}

func counted(c transfer.Count) string {
	return inJobs(int64(c.Jobs)) + " and " + plural(int64(c.Pauses), "pause")
}
