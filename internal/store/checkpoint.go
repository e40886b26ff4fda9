package store

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Checkpoint makes a store in target, which must be empty or not exist, that has everything
// committed so far and is whole: it can be opened, checked, exported and
// copied. On the same file system it shares files with this store that neither
// ever changes, so it takes little time, and no space until they part. It may
// be called by any goroutine and does not hold up commits.
func (s *Store) Checkpoint(target string) (err error) {
	defer func() {
		if raised, ok := recover().(fatal); ok {
			s.fatal(raised.error)
			err = raised.error
		}
	}()
	to := directory{s.options.FS, target}
	if err := s.db.Checkpoint(to.file(database), pebble.WithFlushedWAL()); err != nil {
		return fmt.Errorf("store %s: making a checkpoint: %w", s.options.Dir, err)
	}
	// FORMAT comes last: without it, target is no store.
	if err := to.writeFormat(); err != nil {
		return fmt.Errorf("store %s: making a checkpoint: %w", s.options.Dir, errors.Join(err, to.fs.RemoveAll(target)))
	}
	return nil
}
