package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A backend is what a pool knows of one server.
type backend struct {
	pool    *Pool
	address string
	line    line        // shared by small puts
	failing atomic.Bool // failures is not 0

	// mu guards what follows. It is held for moments, never while waiting.
	mu       sync.Mutex
	open     map[*Conn]struct{} // all connections, for Close
	idle     []*Conn            // those nobody uses, the last used at the end
	closed   bool
	failures int       // attempts that failed in a row, since the server last answered
	failedAt time.Time // when the last of them ended
	due      time.Time // when the next may be made
	cause    error     // why it failed
}

func newBackend(p *Pool, address string) *backend {
	b := &backend{pool: p, address: address, open: make(map[*Conn]struct{})}
	b.line.backend = b
	return b
}

// claim returns how long the server is to be left alone, and why. When the time is
// over, one caller gets to try it; the others are told to wait for the outcome.
func (b *backend) claim() (time.Duration, error) {
	if !b.failing.Load() {
		return 0, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if left := b.due.Sub(now); left > 0 {
		return left, b.cause
	}
	b.due = now.Add(b.pool.config.Reconnect.Delay(b.failures))
	return 0, nil
}

// connect makes one attempt.
func (b *backend) connect(ctx context.Context) (*Conn, error) {
	began := time.Now()
	c, err := b.pool.config.Dialer.DialContext(ctx, b.address)
	if err != nil {
		if ctx.Err() == nil {
			b.failed(began, err)
		}
		return nil, fmt.Errorf("%w: %w", errNotSent, err)
	}
	c.firstReply = b.alive
	b.mu.Lock()
	closed := b.closed
	if !closed {
		b.open[c] = struct{}{}
	}
	b.mu.Unlock()
	if closed {
		_ = c.Close()
		return nil, fmt.Errorf("%w: %w", errNotSent, ErrClosed)
	}
	if f := b.pool.config.Hooks.Connected; f != nil {
		f(b.address)
	}
	return c, nil
}

// alive notes that the server answers.
func (b *backend) alive() {
	if !b.failing.Load() {
		return
	}
	b.mu.Lock()
	failures := b.failures
	b.failures, b.cause = 0, nil
	b.failing.Store(false)
	b.mu.Unlock()
	if failures > 0 {
		b.pool.answersAgain()
		b.pool.config.Logger.Info("the server answers again", "server", b.address, "failures", failures)
	}
}

// failed notes an attempt. Those made at the same time count as one.
func (b *backend) failed(began time.Time, err error) {
	if f := b.pool.config.Hooks.ConnectFailed; f != nil {
		f(b.address, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cause = err
	if b.failures > 0 && began.Before(b.failedAt) {
		return
	}
	b.failures++
	b.failing.Store(true)
	b.failedAt = time.Now()
	wait := b.pool.config.Reconnect.Delay(b.failures)
	b.due = b.failedAt.Add(wait)
	if b.failures == 1 {
		b.pool.config.Logger.Warn("cannot reach the server, trying again", "server", b.address, "after", wait, "error", err)
	}
}

// acquire returns a connection that nobody else uses, and waits for the server as
// long as the context lasts.
func (b *backend) acquire(ctx context.Context) (*Conn, error) {
	for {
		if c := b.takeIdle(); c != nil {
			return c, nil
		}
		b.pool.mu.Lock()
		back := b.pool.back
		b.pool.mu.Unlock()
		b.mu.Lock()
		var left time.Duration
		if b.failures > 0 {
			left = time.Until(b.due)
		}
		cause := b.cause
		b.mu.Unlock()
		if left > 0 {
			if err := b.pool.wait(ctx, left, back); err != nil {
				return nil, &Error{"dial", b.address, fmt.Errorf("%w: %w: %w", errNotSent, err, cause)}
			}
		}
		c, err := b.connect(ctx)
		if err == nil || ctx.Err() != nil || errors.Is(err, ErrClosed) {
			return c, err
		}
	}
}

// takeIdle returns a connection that is there and alive, or nil.
func (b *backend) takeIdle() *Conn {
	for {
		b.mu.Lock()
		n := len(b.idle)
		if n == 0 {
			b.mu.Unlock()
			return nil
		}
		c := b.idle[n-1]
		b.idle = b.idle[:n-1]
		b.mu.Unlock()
		if c.ready(context.Background()) == nil {
			return c
		}
		b.forget(c)
	}
}

// putBack takes back a connection, unless jobs are held by it: closing it is how
// they are given back.
func (b *backend) putBack(c *Conn) {
	b.mu.Lock()
	keep := c.Err() == nil && c.held.Load() == 0 && !b.closed && len(b.idle) < b.pool.config.MaxIdle
	if keep {
		b.idle = append(b.idle, c)
	}
	b.mu.Unlock()
	if !keep {
		b.forget(c)
	}
}

// forget closes a connection. If it broke without a single reply, that counts as
// a failure to connect: a proxy may take connections for a server that is gone.
func (b *backend) forget(c *Conn) {
	if err := c.Err(); c.faulty.Load() && !c.replied.Load() {
		b.failed(c.opened, err)
	}
	_ = c.Close()
	b.mu.Lock()
	delete(b.open, c)
	b.mu.Unlock()
}

// close closes all connections, and keeps new ones from being made.
func (b *backend) close() {
	b.mu.Lock()
	b.closed = true
	conns := make([]*Conn, 0, len(b.open))
	for c := range b.open {
		conns = append(conns, c)
	}
	b.idle = nil
	b.mu.Unlock()
	for _, c := range conns {
		b.forget(c)
	}
}
