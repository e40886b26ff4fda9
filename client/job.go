package client

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/haricotq/haricot/internal/protocol"
)

// A Ref names a job among several servers, each of which counts its own.
type Ref struct {
	Server string // the address as it was given
	ID     uint64 // from 1; 0 is no job
}

// String returns server#id.
func (r Ref) String() string { return fmt.Sprintf("%s#%d", r.Server, r.ID) }

// A Job is a job that was reserved. It is held until it is deleted, released or
// buried, its time to run is over, or its connection ends; the server then gives
// it to somebody else. So a job may be worked on more than once, and a worker must
// allow for that.
//
// Delete, Release, Bury and Touch return [ErrJobLost], and whatever else the error
// is, if the job is not held any more.
type Job struct {
	ID   uint64
	Body []byte // belongs to the caller
	// Tube is where the job comes from, if that is known: a reservation does not
	// say it. It is set where one tube was watched, and always in a [Worker].
	Tube string
	// Attempt counts how often the job was reserved, this time included. It is set
	// in a [Worker] only, and 0 elsewhere.
	Attempt int

	conn    *Conn
	settled atomic.Bool // no longer held
	ended   atomic.Bool // deleted, released or buried through this Job
	// lastGone, if not nil, is called when this was the last job held by the
	// connection.
	lastGone func()
}

// Server returns the address of the job's server.
func (j *Job) Server() string { return j.conn.server }

// Ref returns the job's name among several servers.
func (j *Job) Ref() Ref { return Ref{j.conn.server, j.ID} }

// Delete removes the job for good: it is done.
func (j *Job) Delete(ctx context.Context) error {
	_, err := j.conn.do(ctx, command(protocol.Delete, j.ID), protocol.Deleted)
	return j.finish(err)
}

// Release gives the job back, to become ready at once or after [WithDelay].
// [WithPriority] changes its priority; without it, the priority is asked for
// first. [WithTTR] has no meaning here.
func (j *Job) Release(ctx context.Context, options ...Option) error {
	s, err := j.settings(ctx, options)
	if err != nil {
		return err
	}
	q := command(protocol.Release, j.ID, s.priority, s.delay)
	_, err = j.conn.do(ctx, q, protocol.Released)
	return j.finish(err)
}

// Bury sets the job aside until somebody kicks it. [WithPriority] changes its
// priority; without it, the priority is asked for first.
func (j *Job) Bury(ctx context.Context, options ...Option) error {
	s, err := j.settings(ctx, options)
	if err != nil {
		return err
	}
	_, err = j.conn.do(ctx, command(protocol.Bury, j.ID, s.priority), protocol.Buried)
	return j.finish(err)
}

// Touch starts the job's time to run anew.
func (j *Job) Touch(ctx context.Context) error {
	_, err := j.conn.do(ctx, command(protocol.Touch, j.ID), protocol.Touched)
	if err == nil {
		return nil
	}
	return j.finish(err)
}

// Stats asks for the job's statistics.
func (j *Job) Stats(ctx context.Context) (*JobStats, error) {
	return j.conn.StatsJob(ctx, j.ID)
}

// settings adds the present priority to options that name none.
func (j *Job) settings(ctx context.Context, options []Option) (settings, error) {
	s, err := apply(options)
	if err != nil || s.hasPriority {
		return s, err
	}
	stats, err := j.Stats(ctx)
	if err != nil {
		if j.conn.Err() != nil || errors.Is(err, ErrNotFound) {
			err = j.finish(err)
		}
		return s, err
	}
	s.priority = uint64(stats.Priority)
	return s, nil
}

// finish settles the job after the command that should end it, unless it is
// still held.
func (j *Job) finish(err error) error {
	switch {
	case err == nil:
		j.ended.Store(true)
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrUncertain), errors.Is(err, ErrClosed):
		err = fmt.Errorf("%w: %w", ErrJobLost, err)
	case errors.Is(err, ErrBuried): // a release for which the server lacked memory
	default:
		return err
	}
	j.end()
	return err
}

// end notes that the job is no longer held.
func (j *Job) end() {
	if !j.settled.CompareAndSwap(false, true) {
		return
	}
	left := j.conn.held.Add(-1)
	if j.lastGone != nil && left == 0 {
		j.lastGone()
	}
}

// DeleteAll deletes jobs, those of the same connection in one write. If some
// fail, the error is a [*BatchError] in the order of the jobs.
func DeleteAll(ctx context.Context, jobs ...*Job) error {
	errs := make([]error, len(jobs))
	var conns []*Conn
	of := make(map[*Conn][]int)
	for i, j := range jobs {
		if of[j.conn] == nil {
			conns = append(conns, j.conn)
		}
		of[j.conn] = append(of[j.conn], i)
	}
	for _, c := range conns {
		qs := make([]request, len(of[c]))
		for n, i := range of[c] {
			qs[n] = command(protocol.Delete, jobs[i].ID)
		}
		for n, err := range c.batch(ctx, qs, protocol.Deleted) {
			i := of[c][n]
			errs[i] = jobs[i].finish(err)
		}
	}
	return batchError(errs)
}
