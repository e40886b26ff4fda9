package client

import (
	"context"
	"errors"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
)

// Put puts a job into a tube of the next server in turn, and returns the job's
// name. Servers that cannot be reached, and those that are draining, are left out.
//
// A body of less than 8 KiB goes over the connection shared by all puts; a larger
// one over one of its own, without being copied. The body is not kept.
//
// A context that ends before the put was sent withdraws it. One that ends later
// leaves it uncertain: the error is [ErrUncertain] too. A put that is alone on its
// connection then closes it; one of many leaves it to the others.
//
// [ErrBuried] comes with the job's name.
func (p *Pool) Put(ctx context.Context, tube string, body []byte, options ...Option) (Ref, error) {
	began := p.clock()
	ref, err := p.put(ctx, tube, body, options)
	p.putDone(ctx, tube, ref, began, err)
	return ref, err
}

// clock returns the time if somebody wants to know how long a put takes.
func (p *Pool) clock() (now time.Time) {
	if p.config.Hooks.Put != nil {
		now = time.Now()
	}
	return now
}

func (p *Pool) putDone(ctx context.Context, tube string, ref Ref, began time.Time, err error) {
	if f := p.config.Hooks.Put; f != nil {
		f(ctx, tube, ref, time.Since(began), err)
	}
}

func (p *Pool) put(ctx context.Context, tube string, body []byte, options []Option) (Ref, error) {
	s, err := apply(options)
	if err == nil {
		err = checkTube(tube)
	}
	if err == nil {
		err = checkBody(body)
	}
	if err != nil {
		return Ref{}, &Error{protocol.Put.String(), "no server", err}
	}
	for tried := 1; ; tried++ {
		b, err := p.choose(ctx)
		if err != nil {
			return Ref{}, &Error{protocol.Put.String(), "no server", err}
		}
		q := s.putRequest(body)
		if len(body) < largeBody {
			err = b.line.put(ctx, tube, &q)
		} else {
			err = b.putLarge(ctx, tube, &q)
		}
		if err == nil {
			b.alive()
			err = q.result(protocol.Inserted)
		}
		if !p.again(ctx, err, tried) {
			if err != nil {
				err = &Error{protocol.Put.String(), b.address, p.closed(err)}
			}
			return Ref{b.address, q.reply.number}, err
		}
	}
}

// again tells whether a put that ended so should be tried at the next server.
func (p *Pool) again(ctx context.Context, err error, tried int) bool {
	switch {
	case err == nil || ctx.Err() != nil || p.ctx.Err() != nil:
		return false
	case errors.Is(err, errNotSent):
		return true
	case errors.Is(err, ErrUncertain):
		return p.config.RepeatUncertainPuts
	case errors.Is(err, ErrDraining):
		return tried < len(p.backends)
	}
	return false
}

// putLarge puts a job over a connection of its own.
func (b *backend) putLarge(ctx context.Context, tube string, q *request) error {
	bound, cancel := b.pool.bind(ctx)
	defer cancel()
	c := b.takeIdle()
	if c == nil {
		var err error
		if c, err = b.connect(bound); err != nil {
			return err
		}
	}
	defer b.putBack(c)
	if c.used != tube {
		if err := c.Use(bound, tube); err != nil {
			if c.Err() != nil || bound.Err() != nil {
				return errors.Join(errNotSent, err)
			}
			return err
		}
	}
	if err := c.take(bound); err != nil {
		return err
	}
	defer c.giveTurn()
	qs := [1]request{*q}
	err := c.exchange(bound, qs[:])
	*q = qs[0]
	return err
}

// PutAll puts jobs into a tube of the next server in turn, all of them to the same,
// as many in one write as is safe, and returns their names in order. If some fail,
// the error is a [*BatchError], their names have the ID 0, and the others are in the tube.
func (p *Pool) PutAll(ctx context.Context, tube string, bodies [][]byte, options ...Option) ([]Ref, error) {
	began := p.clock()
	refs := make([]Ref, len(bodies))
	for tried := 1; ; tried++ {
		b, err := p.choose(ctx)
		if err != nil {
			return refs, &Error{protocol.Put.String(), "no server", err}
		}
		ids, err := b.putAll(ctx, tube, bodies, options)
		if ids == nil && !errors.Is(err, ErrUncertain) && p.again(ctx, err, tried) {
			continue
		}
		var batch *BatchError
		errors.As(err, &batch)
		for i := range refs {
			one := err
			if ids != nil {
				refs[i] = Ref{b.address, ids[i]}
				one = nil
			}
			if batch != nil {
				one = batch.Errs[i]
			}
			p.putDone(ctx, tube, refs[i], began, one)
		}
		return refs, p.closed(err)
	}
}

// putAll puts a batch over a connection of its own. Without ids nothing was put,
// or it is not known.
func (b *backend) putAll(ctx context.Context, tube string, bodies [][]byte, options []Option) ([]uint64, error) {
	bound, cancel := b.pool.bind(ctx)
	defer cancel()
	c := b.takeIdle()
	if c == nil {
		var err error
		if c, err = b.connect(bound); err != nil {
			return nil, err
		}
	}
	defer b.putBack(c)
	if c.used != tube {
		if err := c.Use(bound, tube); err != nil {
			if c.Err() != nil {
				err = errors.Join(errNotSent, err)
			}
			return nil, err
		}
	}
	ids, err := c.PutAll(bound, bodies, options...)
	for _, id := range ids {
		if id > 0 {
			return ids, err
		}
	}
	if len(bodies) == 0 {
		return ids, err
	}
	return nil, err
}
