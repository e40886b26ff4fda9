package client

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/haricotq/haricot/internal/protocol"
)

// A line is the connection to a server that small puts share. Whoever comes while
// nobody uses it carries out its own put, in its own goroutine. Those who come in the
// meantime queue up, and a goroutine, the driver, carries out all that has queued up in one
// write, again and again until the queue is empty. So a single producer pays for no
// hand-over, and many pay for one write and one read together.
//
//	       put ──────────► busy (the caller drives) ──────┐
//	idle ◄── queue empty ──┤                              │ queue not empty
//	                       └── queue empty ◄─ the driver ◄┘
type line struct {
	backend *backend
	free    sync.Pool // of *entry; not shared between pools, so that each may live in a bubble of synctest

	mu    sync.Mutex // held for moments
	queue []*entry
	busy  bool

	// Whoever made the line busy owns these.
	conn  *Conn
	batch []*entry
	qs    []request
}

// An entry is a put that queues up. Its body is a copy, as its caller may leave
// before the driver has finished with it.
type entry struct {
	tube string
	q    request
	copy []byte
	err  error
	done chan struct{} // has room for one
}

// put puts a job, whose request's reply says what came of it unless there is an
// error. One that is errNotSent means that the server has seen nothing.
func (l *line) put(ctx context.Context, tube string, q *request) error {
	l.mu.Lock()
	if !l.busy {
		l.busy = true
		l.mu.Unlock()
		defer l.handOver()
		return l.putAlone(ctx, tube, q)
	}
	e, _ := l.free.Get().(*entry)
	if e == nil {
		e = &entry{done: make(chan struct{}, 1)}
	}
	e.tube, e.q, e.err = tube, *q, nil
	e.copy = append(e.copy[:0], q.body...)
	e.q.body = e.copy
	l.queue = append(l.queue, e)
	l.mu.Unlock()
	select {
	case <-e.done:
	case <-ctx.Done():
		return l.leave(ctx, e)
	}
	q.reply, q.answered = e.q.reply, e.q.answered
	err := e.err
	l.free.Put(e)
	return err
}

// leave takes an entry from the queue, if it is still there.
func (l *line) leave(ctx context.Context, e *entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.queue, e); i >= 0 {
		l.queue = slices.Delete(l.queue, i, i+1)
		return fmt.Errorf("%w: %w", errNotSent, ctx.Err())
	}
	return fmt.Errorf("%w: %w", ErrUncertain, ctx.Err())
}

// putAlone carries out one put in its caller's goroutine.
func (l *line) putAlone(ctx context.Context, tube string, q *request) error {
	if err := l.connect(ctx); err != nil {
		return err
	}
	if err := l.conn.take(ctx); err != nil {
		return err
	}
	defer l.conn.giveTurn()
	qs := append(l.qs[:0], *q)
	if l.conn.used != tube {
		qs = append(l.qs[:0], onTube(protocol.Use, tube), *q)
	}
	l.qs = qs
	err := l.conn.exchange(ctx, qs)
	if len(qs) == 2 && qs[0].answered && qs[0].reply.word != protocol.Using {
		return l.wrongTube(qs[0].result(protocol.Using))
	}
	if last := &qs[len(qs)-1]; last.answered {
		*q = *last
		err = nil
	}
	clear(qs)
	return err
}

// wrongTube gives up the connection because a server out of memory did not make
// the tube: what was sent behind went to the tube used before.
func (l *line) wrongTube(err error) error {
	l.conn.fail(err)
	return fmt.Errorf("%w: %w", ErrUncertain, err)
}

// connect sees to it that there is a connection. It makes one attempt.
func (l *line) connect(ctx context.Context) error {
	if l.conn != nil {
		if l.conn.ready(context.Background()) == nil {
			return nil
		}
		l.backend.forget(l.conn)
		l.conn = nil
	}
	c, err := l.backend.connect(ctx)
	l.conn = c
	return err
}

// handOver ends the use of the line by a caller.
func (l *line) handOver() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.busy = false
		return
	}
	l.backend.pool.wg.Go(l.drive)
}

// drive runs in a goroutine of its own until nobody queues up any more.
func (l *line) drive() {
	for {
		// Those whose puts were just answered are about to come with the next.
		// Without letting them, every second write would carry a single put.
		runtime.Gosched()
		if !l.takeBatch() {
			return
		}
		l.carry(l.backend.pool.ctx)
		for i, e := range l.batch {
			l.batch[i] = nil
			e.done <- struct{}{}
		}
	}
}

// takeBatch takes from the queue what may be sent at once. If it is empty, the
// line is idle.
func (l *line) takeBatch() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.busy = false
		return false
	}
	n := min(len(l.queue), batchCount/2) // each may need a use before it
	l.batch = append(l.batch[:0], l.queue[:n]...)
	l.queue = slices.Delete(l.queue, 0, n)
	return true
}

// carry carries out a batch.
func (l *line) carry(ctx context.Context) {
	err := l.connect(ctx)
	if err == nil {
		err = l.conn.take(ctx)
	}
	if err != nil {
		for _, e := range l.batch {
			e.err = err
		}
		return
	}
	defer l.conn.giveTurn()
	qs, tube := l.qs[:0], l.conn.used
	for _, e := range l.batch {
		if e.tube != tube {
			tube = e.tube
			qs = append(qs, onTube(protocol.Use, tube))
		}
		qs = append(qs, e.q)
	}
	l.qs = qs
	err = l.conn.exchange(ctx, qs)
	i := 0
	var astray error
	for _, e := range l.batch {
		if qs[i].verb == protocol.Use {
			if qs[i].answered && qs[i].reply.word != protocol.Using {
				astray = l.wrongTube(qs[i].result(protocol.Using))
			}
			i++
		}
		switch {
		case astray != nil:
			e.err = astray
		case qs[i].answered:
			e.q.reply, e.q.answered = qs[i].reply, true
		default:
			e.err = err
		}
		i++
	}
	clear(qs)
}
