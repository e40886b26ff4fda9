package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sys/unix"
)

// readOnly is a file system in which nothing can be changed: what opens a store
// for reading only leaves it as it is, even on a medium that cannot be written.
type readOnly struct{ vfs.FS }

var errReadOnly = fmt.Errorf("the store is open for reading only: %w", fs.ErrPermission)

// Create is refused.
func (readOnly) Create(string, vfs.DiskWriteCategory) (vfs.File, error) { return nil, errReadOnly }

// Link is refused.
func (readOnly) Link(string, string) error { return errReadOnly }

// OpenReadWrite is refused.
func (readOnly) OpenReadWrite(string, vfs.DiskWriteCategory, ...vfs.OpenOption) (vfs.File, error) {
	return nil, errReadOnly
}

// Remove is refused.
func (readOnly) Remove(string) error { return errReadOnly }

// RemoveAll is refused.
func (readOnly) RemoveAll(string) error { return errReadOnly }

// Rename is refused.
func (readOnly) Rename(string, string) error { return errReadOnly }

// ReuseForWrite is refused.
func (readOnly) ReuseForWrite(string, string, vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, errReadOnly
}

// MkdirAll is refused.
func (readOnly) MkdirAll(string, os.FileMode) error { return errReadOnly }

// Lock keeps out whoever would write, as long as there is a file to lock. A
// store that has none, such as a backup, has never been opened for writing.
// Readers do not keep each other out.
func (f readOnly) Lock(name string) (io.Closer, error) {
	if _, err := f.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return io.NopCloser(nil), nil
	}
	if f.FS != vfs.Default {
		return f.FS.Lock(name)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	shared := unix.Flock_t{Type: unix.F_RDLCK, Whence: io.SeekStart}
	if err := unix.FcntlFlock(file.Fd(), unix.F_SETLK, &shared); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
