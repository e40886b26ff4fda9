package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
)

// hangUpGrace is how long a reserve that is given up waits for the server to
// acknowledge it, and for a reply that is on its way when a deadline passes.
const hangUpGrace = time.Second

// pollInterval is how often a server is asked in the last fraction of a second
// before a deadline, as it waits for whole seconds only.
const pollInterval = 50 * time.Millisecond

// Reserve waits for a job in one of the tubes watched, and takes it. The job is
// this connection's until it is deleted, released or buried, its time to run is
// over, or the connection ends.
//
// A deadline of the context is the time to wait: the server is told to wait the
// whole seconds, and is asked every 50 ms in the fraction that remains. When it
// passes without a job the error is [ErrTimedOut], and the connection goes on. With a
// deadline that has passed already, the server is not asked.
//
// Cancelling the context hangs up: the protocol knows no other way to end a wait.
// The client closes its sending side, waits up to a second for the server to close the
// other one, and closes the connection. If the server has reserved a job in the meantime, it makes
// that job ready again when it closes its side, at once and with neither its timeouts nor
// its releases counted; so when Reserve returns, the job is already there for others. No
// job is lost. Other jobs held by the connection are given back in the same way.
//
// It returns [ErrDeadlineSoon] if a job held by this connection has less than a second
// left and none is ready.
func (c *Conn) Reserve(ctx context.Context) (*Job, error) {
	job, err := c.reserve(ctx, nil, -1)
	return job, c.wrap(protocol.Reserve, err)
}

// ReserveWithTimeout is Reserve with a time to wait that does not come from the
// context: whole seconds, rounded up, at most 2147483647; 0 does not wait. A
// deadline of the context counts as well, if it is earlier.
func (c *Conn) ReserveWithTimeout(ctx context.Context, wait time.Duration) (*Job, error) {
	n, err := wholeSeconds(wait, uint64(protocol.MaxTimeout/time.Second))
	if err != nil {
		return nil, c.wrap(protocol.ReserveWithTimeout, err)
	}
	job, err := c.reserve(ctx, nil, int64(n))
	return job, c.wrap(protocol.ReserveWithTimeout, err)
}

// ReserveJob takes a certain job that is ready, delayed or buried, whatever its
// tube. It never waits. beanstalkd knows it since 1.12; earlier ones answer with
// [ErrBadFormat].
func (c *Conn) ReserveJob(ctx context.Context, id uint64) (*Job, error) {
	r, err := c.do(ctx, command(protocol.ReserveJob, id), protocol.Reserved)
	if err != nil {
		return nil, err
	}
	return c.job(r), nil
}

// ReserveAll waits for a job as Reserve does, and takes with it up to most-1 more
// that are ready at the time, in one further write; 513 in all at most.
func (c *Conn) ReserveAll(ctx context.Context, most int) ([]*Job, error) {
	first, err := c.Reserve(ctx)
	if err != nil || most <= 1 {
		if err != nil {
			return nil, err
		}
		return []*Job{first}, nil
	}
	return c.more(ctx, first, most)
}

// more takes jobs that are ready, up to most with the first.
func (c *Conn) more(ctx context.Context, first *Job, most int) ([]*Job, error) {
	jobs := []*Job{first}
	if err := c.take(ctx); err != nil {
		return jobs, nil // there is a job, and it must reach the caller
	}
	defer c.giveTurn()
	qs := make([]request, min(most-1, batchCount))
	for i := range qs {
		qs[i] = command(protocol.ReserveWithTimeout, 0)
	}
	if err := c.exchange(ctx, qs); err != nil {
		if c.Err() == nil {
			return jobs, nil // the context ended before anything was sent
		}
		return nil, c.wrap(protocol.ReserveWithTimeout, err)
	}
	for i := range qs {
		if qs[i].reply.word == protocol.Reserved {
			job := c.job(qs[i].reply)
			job.Tube, job.lastGone = first.Tube, first.lastGone
			jobs = append(jobs, job)
		}
	}
	return jobs, nil
}

// job makes a job of a reply to reserve. The owner of the turn calls it, or who
// does not need to know the tube.
func (c *Conn) job(r reply) *Job {
	c.held.Add(1)
	return &Job{ID: r.number, Body: r.data, conn: c}
}

// reserve takes a job from the tubes, or from those watched if there are none.
// seconds is the time to wait; below 0 it is for ever.
func (c *Conn) reserve(ctx context.Context, tubes []string, seconds int64) (*Job, error) {
	if err := c.take(ctx); err != nil {
		return nil, err
	}
	defer c.giveTurn()
	deadline, hasDeadline := ctx.Deadline()
	for asked := false; ; asked = true {
		ask, last := seconds, true
		if hasDeadline {
			left := int64(max(0, time.Until(deadline)) / time.Second)
			if seconds < 0 || left < seconds {
				ask, last = min(left, int64(protocol.MaxTimeout/time.Second)), false
			}
		}
		job, err := c.await(ctx, tubes, ask)
		if asked && errors.Is(err, errNotSent) && errors.Is(err, context.DeadlineExceeded) {
			return nil, ErrTimedOut
		}
		if last || !errors.Is(err, ErrTimedOut) {
			return job, err
		}
		if seconds > 0 {
			seconds = max(0, seconds-ask)
		}
		if time.Until(deadline) <= 0 {
			return nil, ErrTimedOut
		}
		if time.Until(deadline) < time.Second {
			if err := c.pause(ctx, deadline); err != nil {
				return nil, err
			}
		}
	}
}

// pause waits a moment within the last second before a deadline.
func (c *Conn) pause(ctx context.Context, deadline time.Time) error {
	left := time.Until(deadline)
	err := sleep(ctx, min(left, pollInterval))
	if errors.Is(err, context.DeadlineExceeded) || left <= pollInterval && err == nil {
		return ErrTimedOut
	}
	return err
}

// await sends one reserve, with what makes the watch list right before it, and
// waits for its reply.
func (c *Conn) await(ctx context.Context, tubes []string, seconds int64) (*Job, error) {
	if err := c.ready(ctx); err != nil {
		return nil, err
	}
	var few [1]request
	qs := few[:0]
	if tubes != nil {
		qs = c.watchRequests(tubes)
	}
	if seconds < 0 {
		qs = append(qs, command(protocol.Reserve))
	} else {
		qs = append(qs, command(protocol.ReserveWithTimeout, uint64(seconds)))
	}
	c.waitLimit(seconds)
	if err := c.waitFor(ctx, qs); err != nil {
		return nil, err
	}
	for i := range qs[:len(qs)-1] {
		if err := qs[i].result(protocol.Watching); err != nil {
			c.fail(err) // so that nobody reserves from the wrong tubes
			return nil, err
		}
	}
	q := &qs[len(qs)-1]
	if err := q.result(protocol.Reserved); err != nil {
		return nil, err
	}
	job := c.job(q.reply)
	if len(c.watched) == 1 {
		job.Tube = c.watched[0]
	}
	return job, nil
}

// waitFor makes the round trip of a reserve, and hangs up when the context ends.
func (c *Conn) waitFor(ctx context.Context, qs []request) error {
	if ctx.Done() == nil {
		return c.roundTrip(qs)
	}
	hungUp := make(chan bool, 1)
	stop := context.AfterFunc(ctx, func() { hungUp <- c.hangUp(ctx) })
	err := c.roundTrip(qs)
	if stop() {
		return err
	}
	c.limit = time.Time{} // hangUp has set another
	if gone := <-hungUp; gone || err != nil {
		c.drain()
		c.fail(ctx.Err())
		return ctx.Err()
	}
	return nil
}

// waitLimit sets how long the reply to a reserve may take.
func (c *Conn) waitLimit(seconds int64) {
	if seconds >= 0 && c.timeout > 0 {
		c.setLimit(time.Duration(seconds)*time.Second+c.timeout, c.timeout/4)
		return
	}
	c.limit = time.Time{}
	_ = c.nc.SetDeadline(time.Time{})
}

// hangUp ends a wait and tells whether the connection is done for. Where a
// deadline is over, the server's answer is due any moment and only that is waited for.
func (c *Conn) hangUp(ctx context.Context) bool {
	_ = c.nc.SetDeadline(time.Now().Add(hangUpGrace))
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return false
	}
	half, ok := c.nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		_ = c.nc.Close()
	}
	return true
}

// drain reads until the server has closed its side, so that it has given back
// what it had reserved.
func (c *Conn) drain() {
	_, err := io.Copy(io.Discard, c.in)
	if err != nil && !errors.Is(err, net.ErrClosed) {
		c.fail(fmt.Errorf("giving up a reserve: %w", err))
	}
}
