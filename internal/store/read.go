package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// progressEvery is after how many jobs progress is reported.
const progressEvery = 10_000

// Recover brings everything that the store has back into a queue. The bodies
// stay where they are.
func (s *Store) Recover(into *queue.Restoration) (jobs int, err error) {
	err = s.Headers(func(r *queue.Record) error {
		jobs++
		if jobs%progressEvery == 0 && s.options.Progress != nil {
			s.options.Progress(jobs)
		}
		return into.Job(r)
	})
	if err == nil {
		err = s.recoverPauses(into)
	}
	if err == nil {
		s.nextID, err = s.NextID()
	}
	if err != nil {
		return jobs, fmt.Errorf("store %s: %w", s.options.Dir, err)
	}
	into.End(s.nextID)
	return jobs, nil
}

// Headers calls yield for every job, in the order of the ids.
func (s *Store) Headers(yield func(*queue.Record) error) error {
	return s.each(headerPrefix, func(key, value []byte) error {
		id, err := idOf(key)
		if err != nil {
			return err
		}
		record, err := readHeader(id, value)
		if err != nil {
			return err
		}
		return yield(&record)
	})
}

// Pauses calls yield for every paused tube.
func (s *Store) Pauses(yield func(queue.PauseRecord) error) error {
	return s.each(pausePrefix, func(key, value []byte) error {
		pause, err := readPause(string(key[1:]), value)
		if err != nil {
			return err
		}
		return yield(pause)
	})
}

// Body reads the body of a job.
func (s *Store) Body(id protocol.JobID, size uint32) ([]byte, error) {
	return readBody(s.db, id, size)
}

// NextID reads the lowest id that no job has had.
func (s *Store) NextID() (protocol.JobID, error) {
	value, closer, err := s.db.Get(nextKey)
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, damaged(err)
	}
	defer closer.Close() // it has nothing to report
	if len(value) != 8 {
		return 0, fmt.Errorf("%w: the next id has %d bytes", ErrDamaged, len(value))
	}
	return protocol.JobID(binary.BigEndian.Uint64(value)), nil
}

// recoverPauses brings pauses back and removes those that are over or have no
// tube any more.
func (s *Store) recoverPauses(into *queue.Restoration) error {
	var over []string
	err := s.Pauses(func(pause queue.PauseRecord) error {
		if !into.Pause(pause) {
			over = append(over, pause.Tube)
		}
		return nil
	})
	if err != nil || s.options.ReadOnly || len(over) == 0 {
		return err
	}
	for _, tube := range over {
		err = errors.Join(err, s.batch.Delete(pauseKey(nil, tube), nil))
	}
	err = errors.Join(err, s.db.Apply(s.batch, pebble.NoSync))
	s.batch.Reset()
	return err
}

// each calls yield for every key with a prefix.
func (s *Store) each(prefix byte, yield func(key, value []byte) error) (err error) {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{prefix}, UpperBound: []byte{prefix + 1}})
	if err != nil {
		return damaged(err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for valid := it.First(); valid; valid = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return damaged(err)
		}
		if err := yield(it.Key(), value); err != nil {
			return err
		}
	}
	if err := it.Error(); err != nil {
		return damaged(err)
	}
	return nil
}

// readBody reads the body of a job and makes sure that it has the size that
// the header says.
func readBody(from pebble.Reader, id protocol.JobID, size uint32) ([]byte, error) {
	if size == 0 {
		return nil, nil
	}
	value, closer, err := from.Get(jobKey(nil, bodyPrefix, id))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, fmt.Errorf("%w: job %d has no body", ErrDamaged, id)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the body of job %d: %w", id, damaged(err))
	}
	body := append([]byte(nil), value...)
	if err := closer.Close(); err != nil {
		return nil, fmt.Errorf("reading the body of job %d: %w", id, err)
	}
	if len(body) != int(size) {
		return nil, fmt.Errorf("%w: the body of job %d has %d bytes instead of %d", ErrDamaged, id, len(body), size)
	}
	return body, nil
}
