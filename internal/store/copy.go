package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Copy copies a store that nobody writes to, which the caller must see to, into
// target, which must be empty or not exist. What is copied is on the disk
// itself when Copy returns.
//
// The database gets its name when it is complete, and FORMAT comes last, so a
// copy that was cut off is never taken for a store. After an error nothing is
// left of it. progress is told of bytes; nil is allowed.
func Copy(from, target string, progress func(done, total int64)) error {
	made, err := vacate(target)
	if err != nil {
		return fmt.Errorf("store %s: %w", target, err)
	}
	c := copier{from: from, to: target, progress: progress}
	if err := c.copy(); err != nil {
		return fmt.Errorf("store %s: copying %s: %w", target, from, errors.Join(err, c.undo(made)))
	}
	return nil
}

// vacate makes a directory, unless there is an empty one.
func vacate(dir string) (made bool, err error) {
	names, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.Mkdir(dir, 0o700); err != nil {
			return false, fmt.Errorf("making it: %w", err)
		}
		return true, syncDir(filepath.Dir(dir))
	case err != nil:
		return false, fmt.Errorf("listing it: %w", err)
	}
	for _, n := range names {
		if n.Name() != "lost+found" {
			return false, fmt.Errorf("%w: there is %s", ErrOccupied, n.Name())
		}
	}
	return false, nil
}

// partial is what the database is called until it is complete. Open refuses a
// directory that has something of this name.
const partial = database + ".partial"

// copier copies a store's files.
type copier struct {
	from, to    string
	progress    func(done, total int64)
	done, total int64
}

func (c *copier) copy() error {
	names, err := c.list()
	if err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(c.to, partial), 0o700); err != nil {
		return err
	}
	for _, name := range names {
		if err := c.copyFile(filepath.Join(database, name), filepath.Join(partial, name)); err != nil {
			return err
		}
	}
	if err := syncDir(filepath.Join(c.to, partial)); err != nil {
		return err
	}
	if err := c.copyFile(formatFile, formatFile+".new"); err != nil {
		return err
	}
	if err := c.rename(partial, database); err != nil {
		return err
	}
	return c.rename(formatFile+".new", formatFile)
}

// list names the files that make up the database, without its lock.
func (c *copier) list() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(c.from, database))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !e.Type().IsRegular() || e.Name() == lockFile {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		names = append(names, e.Name())
		c.total += info.Size()
	}
	return names, nil
}

func (c *copier) copyFile(name, as string) error {
	from, err := os.Open(filepath.Join(c.from, name))
	if err != nil {
		return err
	}
	defer from.Close() // it was only read
	to, err := os.OpenFile(filepath.Join(c.to, as), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.MultiWriter(to, c), from)
	return errors.Join(err, to.Sync(), to.Close())
}

// Write counts what is copied.
func (c *copier) Write(p []byte) (int, error) {
	c.done += int64(len(p))
	if c.progress != nil {
		c.progress(c.done, c.total)
	}
	return len(p), nil
}

func (c *copier) rename(old, name string) error {
	if err := os.Rename(filepath.Join(c.to, old), filepath.Join(c.to, name)); err != nil {
		return err
	}
	return syncDir(c.to)
}

// undo removes what a copy has left.
func (c *copier) undo(all bool) error {
	if all {
		return os.RemoveAll(c.to)
	}
	var err error
	for _, name := range []string{formatFile, formatFile + ".new", database, partial} {
		err = errors.Join(err, os.RemoveAll(filepath.Join(c.to, name)))
	}
	return err
}

// syncDir makes the names in a directory durable.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
