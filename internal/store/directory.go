package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	formatFile  = "FORMAT"
	lockFile    = "LOCK"
	ballastFile = "ballast"
	database    = "db"
)

// beforeFormat are the names that may be there before FORMAT is.
var beforeFormat = []string{lockFile, database, ballastFile, formatFile + ".new", "lost+found"}

// directory is a directory that may hold a store. Nothing in it is touched
// before it is known to be one, or empty.
type directory struct {
	fs   vfs.FS
	path string
}

func (d directory) file(name string) string { return d.fs.PathJoin(d.path, name) }

// inspect tells whether the directory holds a store already, or can become
// one.
func (d directory) inspect() (exists bool, err error) {
	names, err := d.fs.List(d.path)
	if errors.Is(err, os.ErrNotExist) {
		return false, ErrMissing
	}
	if err != nil {
		return false, fmt.Errorf("listing it: %w", err)
	}
	foreign := ""
	for _, name := range names {
		switch {
		case name == formatFile:
			exists = true
		case strings.HasPrefix(name, "binlog."):
			return false, ErrBeanstalkd
		case !slices.Contains(beforeFormat, name):
			foreign = name
		}
	}
	switch {
	case exists:
		return true, d.checkFormat()
	case foreign != "":
		return false, fmt.Errorf("%w: there is %s", ErrForeign, foreign)
	}
	// What else there is was left by a start that did not get as far as
	// FORMAT, before anything was stored.
	return false, nil
}

func (d directory) checkFormat() error {
	f, err := d.fs.Open(d.file(formatFile))
	if err != nil {
		return fmt.Errorf("opening FORMAT: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, 100))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("reading FORMAT: %w", err)
	}
	return parseFormat(text)
}

// lock takes the directory for this process.
func (d directory) lock() (io.Closer, error) {
	l, err := d.fs.Lock(d.file(lockFile))
	if err != nil {
		return nil, fmt.Errorf("%w: locking %s: %w", ErrLocked, lockFile, err)
	}
	return l, nil
}

// writeFormat marks the directory as a store. It is there whole or not at all.
func (d directory) writeFormat() error {
	temporary := d.file(formatFile + ".new")
	f, err := d.fs.Create(temporary, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("making FORMAT: %w", err)
	}
	_, err = fmt.Fprintf(f, formatLine, formatVersion)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = d.fs.Rename(temporary, d.file(formatFile))
	}
	if err == nil {
		err = d.sync()
	}
	if err != nil {
		return fmt.Errorf("writing FORMAT: %w", err)
	}
	return nil
}

// sync makes the names in the directory durable.
func (d directory) sync() error {
	f, err := d.fs.OpenDir(d.path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
