package binlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lock keeps a beanstalkd from using the directory while it is read. It returns
// nil if the directory has no lock file: then none has ever started in it, as in a
// copy.
func lock(dir string) (*os.File, error) {
	f, err := os.Open(filepath.Join(dir, "lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // no lock is an answer
	}
	if err != nil {
		return nil, err
	}
	// A read lock needs no right to write, and excludes the one that beanstalkd takes.
	err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_RDLCK})
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		err = ErrRunning
		held := unix.Flock_t{Type: unix.F_RDLCK}
		if unix.FcntlFlock(f.Fd(), unix.F_GETLK, &held) == nil && held.Type != unix.F_UNLCK {
			err = fmt.Errorf("%w: process %d", ErrRunning, held.Pid)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
