package store

import (
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// vitalFS is the file system under the database. It watches the operations that
// nothing can go on without: those on the log, and syncs of the names in a
// directory. Pebble answers their errors with a panic, at times while it holds
// its locks; here the process is ended before that.
type vitalFS struct {
	vfs.FS
	fatal func(error)
	meter *meter
}

// Unwrap returns the file system below.
func (f vitalFS) Unwrap() vfs.FS { return f.FS }

// Create makes a file.
func (f vitalFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, category)
	return f.log(name, file, err)
}

// ReuseForWrite makes a file of an old one.
func (f vitalFS) ReuseForWrite(oldName, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.ReuseForWrite(oldName, name, category)
	return f.log(name, file, err)
}

// OpenDir opens a directory for syncing.
func (f vitalFS) OpenDir(name string) (vfs.File, error) {
	dir, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return vitalFile{dir, f.fatal}, nil
}

func (f vitalFS) log(name string, file vfs.File, err error) (vfs.File, error) {
	switch {
	case !strings.HasSuffix(name, ".log"):
		return file, err
	case err != nil:
		f.fatal(err)
		return nil, err
	}
	return newLogFile(vitalFile{file, f.fatal}, f.meter), nil
}

// vitalFile is a log that is written, or a directory that is synced.
type vitalFile struct {
	vfs.File
	fatal func(error)
}

// Write writes.
func (f vitalFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	return n, f.watch(err)
}

// Sync syncs.
func (f vitalFile) Sync() error { return f.watch(f.File.Sync()) }

// SyncData syncs what is needed to read the file.
func (f vitalFile) SyncData() error { return f.watch(f.File.SyncData()) }

// Close closes the file.
func (f vitalFile) Close() error { return f.watch(f.File.Close()) }

func (f vitalFile) watch(err error) error {
	if err != nil {
		f.fatal(err)
	}
	return err
}
