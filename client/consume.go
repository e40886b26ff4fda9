package client

import (
	"context"
	"errors"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
)

// Reserve waits for a job in one of the tubes, or in "default" if none is named,
// on any of the servers, and takes it. The job keeps a connection for itself until it is
// deleted, released or buried, so every job must be ended in one of these ways. The
// connection is not touched meanwhile; who takes longer than the job's time to run
// calls Touch, or lets a [Worker] do that.
//
// The context's deadline is the time to wait, as for [Conn.Reserve]: if it passes the
// error is [ErrTimedOut], or what kept all servers from being reached. Cancelling the
// context ends the wait, and a job that was reserved at that moment is given back.
//
// With several servers, all are asked at first without waiting, each call beginning
// with another one. If none has a job, the call waits at all of them at once, takes
// the first job that comes, and hangs up on the other servers. That costs a new
// connection to each; a [Worker] has connections to each server instead.
func (p *Pool) Reserve(ctx context.Context, tubes ...string) (*Job, error) {
	if len(tubes) == 0 {
		tubes = []string{protocol.DefaultTube}
	}
	if err := checkTubes(tubes); err != nil {
		return nil, &Error{protocol.Reserve.String(), "no server", err}
	}
	bound, cancel := p.bind(ctx)
	defer cancel()
	if len(p.backends) == 1 {
		job, err := p.backends[0].reserve(bound, tubes)
		return job, p.closed(err)
	}
	if job := p.reserveReady(bound, tubes); job != nil {
		return job, nil
	}
	job, err := p.reserveFirst(bound, tubes)
	return job, p.closed(err)
}

// ReserveAll waits for a job as Reserve does, and takes with it up to most-1 more
// that are ready at the same server at the time; 513 in all at most. They share a
// connection, which is free again when all of them are ended. [DeleteAll] ends them in
// one write.
func (p *Pool) ReserveAll(ctx context.Context, most int, tubes ...string) ([]*Job, error) {
	first, err := p.Reserve(ctx, tubes...)
	if err != nil {
		return nil, err
	}
	if most <= 1 {
		return []*Job{first}, nil
	}
	bound, cancel := p.bind(ctx)
	defer cancel()
	jobs, err := first.conn.more(bound, first, most)
	if err != nil {
		first.giveBack() // with what the connection may hold besides
		return nil, p.closed(err)
	}
	return jobs, nil
}

// waitStep is for how many seconds a server is told to wait at most. When they are
// over it is told again, so that a server that has gone without a word is found out.
const waitStep = 300

// expired tells whether a context's deadline has passed.
func expired(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) <= 0
}

// reserve waits for a job, and reconnects as often as it must.
func (b *backend) reserve(ctx context.Context, tubes []string) (*Job, error) {
	for {
		c, err := b.acquire(ctx)
		if err != nil {
			return nil, err
		}
		job, err := c.reserve(ctx, tubes, waitStep)
		if err == nil {
			job.lastGone = func() { b.putBack(c) }
			return job, nil
		}
		b.putBack(c)
		if again := errors.Is(err, ErrTimedOut) && !expired(ctx); again {
			continue
		}
		if c.Err() == nil || ctx.Err() != nil {
			return nil, c.wrap(protocol.Reserve, err)
		}
	}
}

// reserveReady asks each reachable server once, without waiting.
func (p *Pool) reserveReady(ctx context.Context, tubes []string) *Job {
	p.mu.Lock()
	first := p.next
	p.next = (p.next + 1) % len(p.backends)
	p.mu.Unlock()
	for i := range p.backends {
		b := p.backends[(first+i)%len(p.backends)]
		c := b.takeIdle()
		if c == nil {
			if left, _ := b.claim(); left > 0 {
				continue
			}
			var err error
			if c, err = b.connect(ctx); err != nil {
				continue
			}
		}
		job, err := c.reserve(ctx, tubes, 0)
		if err == nil {
			job.lastGone = func() { b.putBack(c) }
			return job
		}
		b.putBack(c)
	}
	return nil
}

// reserveFirst waits at all servers at once.
func (p *Pool) reserveFirst(ctx context.Context, tubes []string) (*Job, error) {
	waiting, hangUp := context.WithCancel(ctx)
	defer hangUp()
	type outcome struct {
		job *Job
		err error
	}
	outcomes := make(chan outcome, len(p.backends))
	for _, b := range p.backends {
		go func() {
			job, err := b.reserve(waiting, tubes)
			outcomes <- outcome{job, err}
		}()
	}
	var job *Job
	var errs []error
	for range p.backends { // wait for all that was started
		switch o := <-outcomes; {
		case o.err != nil:
			errs = append(errs, o.err)
		case job == nil:
			job = o.job
			hangUp()
		default:
			o.job.giveBack()
		}
	}
	if job != nil {
		return job, nil
	}
	return nil, errors.Join(errs...)
}

// giveBack closes the job's connection, so that the server makes the job ready
// again without counting a release.
func (j *Job) giveBack() {
	_ = j.conn.Close()
	j.end()
}
