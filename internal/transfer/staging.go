package transfer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// A store that is made of something else is made in a directory of this name within its own, and moved out when it is complete.
// While that is there and no FORMAT beside it, a server refuses the directory, and the next import begins anew. It is within, not
// beside, because the right to write there is all that can be relied on, and because the directory may be a mount.
const stagingDir = "importing"

// stageStore makes a store in a new or empty directory. Fill makes it in the directory that it is given. If it fails, nothing is
// left.
func stageStore(dir string, fill func(staged string) error) (err error) {
	made := os.Mkdir(dir, 0o700) == nil
	lock, err := claim(dir)
	if err != nil {
		return &UnusableError{err}
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	staged := filepath.Join(dir, stagingDir)
	if err = fill(staged); err == nil {
		err = install(staged, dir)
	}
	if err != nil {
		err = errors.Join(err, os.RemoveAll(staged))
		if made {
			err = errors.Join(err, os.Remove(dir))
		}
	}
	return err
}

// claim makes sure that nobody else fills the directory, and that it is empty.
func claim(dir string) (lock *os.File, err error) {
	lock, err = os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		err = fmt.Errorf("another import into %s is under way", dir)
	} else {
		err = clearRest(dir)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// clearRest removes what an import has left that was interrupted, and finds out whether there is anything else.
func clearRest(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, e := range entries {
		there[e.Name()] = true
	}
	rest := []string{}
	if there[stagingDir] && !there["FORMAT"] {
		rest = append(rest, "db", stagingDir)
	}
	delete(there, "lost+found")
	for _, name := range rest {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("removing what an interrupted import has left: %w", err)
		}
		delete(there, name)
	}
	for name := range there {
		return fmt.Errorf("%s is not empty: there is %s; give a new or an empty directory", dir, name)
	}
	return nil
}

// install moves a complete store to its place. FORMAT, which makes a store of a directory, comes last.
func install(staged, dir string) error {
	for _, name := range []string{"db", "FORMAT"} {
		if err := os.Rename(filepath.Join(staged, name), filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("moving the store to its place: %w", err)
		}
		if err := syncDirectory(dir); err != nil {
			return err
		}
	}
	if err := syncDirectory(filepath.Dir(filepath.Clean(dir))); err != nil && !errors.Is(err, os.ErrPermission) {
		return err
	}
	return os.RemoveAll(staged)
}

// syncDirectory makes the names in a directory durable.
func syncDirectory(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	if err = errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("syncing %s: %w", dir, err)
	}
	return nil
}
