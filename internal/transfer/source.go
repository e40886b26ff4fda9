package transfer

import (
	"errors"

	"github.com/haricotq/haricot/internal/control"
	"github.com/haricotq/haricot/internal/store"
)

// Source is a store that stands still while a tool reads it: one that no server has open, and none will before Close, or a
// checkpoint of one that a server has.
type Source struct {
	// Dir is where the store lies, until Close.
	Dir string

	store      *store.Store
	checkpoint *control.Checkpoint // nil if no server has the store
}

// OpenSource opens the store in a directory, or has its server make a checkpoint and opens that. The error may be one of package
// store, or an UnreachableError.
func OpenSource(dir string) (*Source, error) {
	s, err := open(dir)
	if err == nil {
		return &Source{Dir: dir, store: s}, nil
	}
	if !errors.Is(err, store.ErrLocked) {
		return nil, err
	}
	checkpoint, refused := control.TakeCheckpoint(dir)
	if refused != nil {
		return nil, &UnreachableError{err, refused}
	}
	if s, err = open(checkpoint.Dir); err != nil {
		return nil, errors.Join(err, checkpoint.Close())
	}
	return &Source{checkpoint.Dir, s, checkpoint}, nil
}

func open(dir string) (*store.Store, error) {
	return store.Open(store.Options{Dir: dir, ReadOnly: true})
}

// Close lets the store go.
func (s *Source) Close() error {
	err := s.store.Close()
	if s.checkpoint != nil {
		err = errors.Join(err, s.checkpoint.Close())
	}
	return err
}
