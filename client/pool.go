package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Config says how a [Pool] works. Servers is all that must be set.
type Config struct {
	// Servers are the addresses of one or more servers, in the forms that
	// [Dialer] takes.
	Servers []string
	// Dialer makes the connections.
	Dialer Dialer
	// Reconnect is how long a server is left alone after failed attempts to
	// connect. What is not set is 50 ms, at most 5 s, with a jitter of 0.5.
	Reconnect Backoff
	// MaxIdle is how many connections to each server are kept for later; the
	// one for puts is not counted. 0 means 16, a negative number none.
	MaxIdle int
	// RepeatUncertainPuts has Put put a job again when a connection failed
	// before the reply came. Then no put is lost to a failing connection, and
	// some jobs are there twice. Without it, and in PutAll, such a put returns
	// [ErrUncertain] and the caller decides.
	RepeatUncertainPuts bool
	// Logger gets a line when a server is lost and when it is back. nil discards.
	Logger *slog.Logger
	// Hooks are called when something happens.
	Hooks PoolHooks
}

// PoolHooks are functions for metrics. Each may be nil. They are called by
// several goroutines at once, and what they take the caller waits for.
type PoolHooks struct {
	// Connected is called when a connection was made.
	Connected func(server string)
	// ConnectFailed is called when one could not be made.
	ConnectFailed func(server string, err error)
	// Put is called at the end of each Put and for each job of a PutAll. The
	// server is empty if none was reached.
	Put func(ctx context.Context, tube string, ref Ref, took time.Duration, err error)
}

// defaultMaxIdle is how many connections to each server are kept.
const defaultMaxIdle = 16

// A Pool is connections to one or more servers, made when they are needed. All
// methods may be called by several goroutines at once.
//
// Jobs are put to the servers in turn, leaving out those that cannot be reached,
// and are reserved from all of them. Small puts by several goroutines share one
// connection to each server, and one write.
//
// Nothing has to be restored after a reconnect: every call names its tubes, and a
// connection is told which tube to use and which to watch when that differs from
// what it was told before.
//
// # When a server cannot be reached
//
// A call waits for a server, for as long as its context lasts, and then returns an
// error that wraps the context's and that of the last attempt. A call to which the
// connection broke is repeated if it is certain that the server has seen nothing of
// it, or if to repeat it does no harm, as with Reserve: the jobs of a broken
// connection are given back by the server.
type Pool struct {
	config   Config
	backends []*backend
	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	wg       sync.WaitGroup

	mu   sync.Mutex    // held for moments
	next int           // the backend whose turn it is
	back chan struct{} // closed, and made anew, when a server answers again
}

// NewPool makes a pool. It does not connect yet. It returns an error if an
// address is malformed or given twice.
func NewPool(config Config) (*Pool, error) {
	if len(config.Servers) == 0 {
		return nil, errors.New("client: a pool needs at least one server")
	}
	config.Reconnect = config.Reconnect.withDefaults(Backoff{50 * time.Millisecond, 5 * time.Second, 0.5})
	if config.MaxIdle == 0 {
		config.MaxIdle = defaultMaxIdle
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Pool{config: config, back: make(chan struct{})}
	for i, address := range config.Servers {
		if _, err := parseAddress(address); err != nil {
			return nil, fmt.Errorf("client: %w", err)
		}
		if slices.Contains(config.Servers[:i], address) {
			return nil, fmt.Errorf("client: server %q is given twice", address)
		}
		p.backends = append(p.backends, newBackend(p, address))
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p, nil
}

// Servers returns the addresses as they were given.
func (p *Pool) Servers() []string { return slices.Clone(p.config.Servers) }

// Close closes all connections and returns when all that the pool started has
// ended. Calls in progress return [ErrClosed]. Servers give back the jobs that
// are still held.
func (p *Pool) Close() error {
	p.cancel()
	for _, b := range p.backends {
		b.close()
	}
	p.wg.Wait()
	return nil
}

// bind makes a context that also ends when the pool is closed.
func (p *Pool) bind(ctx context.Context) (context.Context, context.CancelFunc) {
	bound, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(p.ctx, func() { cancel(ErrClosed) })
	return bound, func() {
		stop()
		cancel(nil)
	}
}

// closed makes an error say that the pool was closed, if it was.
func (p *Pool) closed(err error) error {
	if err == nil || p.ctx.Err() == nil || errors.Is(err, ErrClosed) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrClosed, err)
}

// choose returns the next server in turn that is not left alone after a failure,
// and waits if all are.
func (p *Pool) choose(ctx context.Context) (*backend, error) {
	var cause error
	for {
		wait := time.Duration(-1)
		p.mu.Lock()
		first, back := p.next, p.back
		p.next = (p.next + 1) % len(p.backends)
		p.mu.Unlock()
		for i := range p.backends {
			b := p.backends[(first+i)%len(p.backends)]
			left, err := b.claim()
			if left <= 0 {
				return b, nil
			}
			cause = err
			if wait < 0 || left < wait {
				wait = left
			}
		}
		if err := p.wait(ctx, wait, back); err != nil {
			return nil, fmt.Errorf("%w: %w", err, cause)
		}
	}
}

// wait sleeps until a server is due or answers again, the context ends or the
// pool is closed.
func (p *Pool) wait(ctx context.Context, d time.Duration, back <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-back:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.ctx.Done():
		return ErrClosed
	}
}

// answersAgain wakes those who wait for a server.
func (p *Pool) answersAgain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.back)
	p.back = make(chan struct{})
}

// backend finds a server by its address.
func (p *Pool) backend(server string) (*backend, error) {
	for _, b := range p.backends {
		if b.address == server {
			return b, nil
		}
	}
	return nil, fmt.Errorf("client: the pool has no server %q", server)
}

// On lends a connection to a server for as long as f runs, for whatever the pool
// has no method for. It waits for the server as any call does. f may use and watch
// what it likes; jobs that f has reserved and not finished are given back when it
// returns.
func (p *Pool) On(ctx context.Context, server string, f func(*Conn) error) error {
	b, err := p.backend(server)
	if err != nil {
		return err
	}
	bound, cancel := p.bind(ctx)
	defer cancel()
	c, err := b.acquire(bound)
	if err != nil {
		return p.closed(err)
	}
	defer b.putBack(c)
	return f(c)
}

// onJob runs a command about a job, once more if the server has seen nothing of
// the first.
func (p *Pool) onJob(ctx context.Context, ref Ref, f func(*Conn) error) error {
	for {
		err := p.On(ctx, ref.Server, f)
		if !errors.Is(err, errNotSent) || ctx.Err() != nil || p.ctx.Err() != nil {
			return err
		}
	}
}

// Delete removes a job that is ready, delayed or buried.
func (p *Pool) Delete(ctx context.Context, ref Ref) error {
	return p.onJob(ctx, ref, func(c *Conn) error { return c.Delete(ctx, ref.ID) })
}

// KickJob makes a job ready that is buried or delayed.
func (p *Pool) KickJob(ctx context.Context, ref Ref) error {
	return p.onJob(ctx, ref, func(c *Conn) error { return c.KickJob(ctx, ref.ID) })
}

// Peek looks at a job, whatever its state and tube.
func (p *Pool) Peek(ctx context.Context, ref Ref) (job Peeked, err error) {
	err = p.onJob(ctx, ref, func(c *Conn) error {
		job, err = c.Peek(ctx, ref.ID)
		return err
	})
	return job, err
}

// StatsJob asks for a job's statistics.
func (p *Pool) StatsJob(ctx context.Context, ref Ref) (stats *JobStats, err error) {
	err = p.onJob(ctx, ref, func(c *Conn) error {
		stats, err = c.StatsJob(ctx, ref.ID)
		return err
	})
	return stats, err
}
