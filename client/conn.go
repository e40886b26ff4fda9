package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
)

// A Conn is one connection to one server, for full control: it uses one tube
// for puts, watches a list of tubes for reserves, and holds the jobs reserved
// by it. It does not reconnect; [Pool] does.
//
// All methods may be called by several goroutines at once. Commands are carried
// out one after the other, so one that waits in Reserve keeps the others waiting,
// a Touch among them.
//
// # Contexts
//
// A context that ends while a command other than a reserve waits for its reply
// closes the connection, as nobody could tell later whose reply arrives, and the
// error is [ErrUncertain] as well as the context's. Reserve says itself what happens
// there. Whatever closes a connection, the server then gives back all jobs held by
// it: they become ready at once, with none of their counters changed.
//
// # Errors
//
// Methods return an [*Error], in which [errors.Is] finds the cause. After a
// refusal, such as [ErrNotFound], the connection goes on; after any other error
// it is closed and everything further is [ErrClosed].
type Conn struct {
	server  string
	timeout time.Duration // for a reply; set before the first command
	opened  time.Time
	// firstReply, if not nil, is called when the first reply has come.
	firstReply func()
	replied    atomic.Bool

	// nc is safe for concurrent use; closing it is how a wait is ended.
	nc     net.Conn
	broken atomic.Pointer[error] // why it is closed
	faulty atomic.Bool           // it was not closed on purpose
	once   sync.Once
	held   atomic.Int64 // jobs reserved and not finished

	// turn has room for one: who put something in owns all that follows. A
	// mutex would not end with a context, and would stop the fake time of tests.
	turn    chan struct{}
	in      *bufio.Reader
	out     []byte
	splits  []split
	used    string
	watched []string
	spoke   time.Time // when the last reply came
	limit   time.Time // the deadline set on nc; zero if it is not known
}

// staleAfter is how long a connection may be silent before it is looked at
// whether the server has closed it meanwhile.
const staleAfter = 50 * time.Millisecond

// readBuffer is enough for replies and small bodies; larger ones bypass it.
const readBuffer = 8 << 10

// NewConn makes a Conn of a connection that is already there. server is the name
// by which errors and jobs will know it. The connection then belongs to the Conn.
func NewConn(conn net.Conn, server string) *Conn {
	now := time.Now()
	return &Conn{
		server:  server,
		opened:  now,
		timeout: DefaultCommandTimeout,
		nc:      conn,
		turn:    make(chan struct{}, 1),
		in:      bufio.NewReaderSize(conn, readBuffer),
		used:    protocol.DefaultTube,
		watched: []string{protocol.DefaultTube},
		spoke:   now,
	}
}

// Server returns the server's address as it was given.
func (c *Conn) Server() string { return c.server }

// Close closes the connection; a command that waits returns ErrClosed. The
// server gives back the jobs held. Closing again does nothing.
func (c *Conn) Close() error {
	c.fail(nil)
	return nil
}

// fail closes the connection for good. The first cause is kept.
func (c *Conn) fail(cause error) {
	c.once.Do(func() {
		err := ErrClosed
		if cause != nil {
			c.faulty.Store(true)
			err = fmt.Errorf("%w: %w", ErrClosed, cause)
		}
		c.broken.Store(&err)
		_ = c.nc.Close()
	})
}

// Err returns nil while the connection is open, and then an error that is
// ErrClosed and wraps the fault that closed it, if one did.
func (c *Conn) Err() error {
	if err := c.broken.Load(); err != nil {
		return *err
	}
	return nil
}

func (c *Conn) wrap(verb protocol.Verb, err error) error {
	if err == nil {
		return nil
	}
	return &Error{verb.String(), c.server, err}
}

// take waits for the turn.
func (c *Conn) take(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", errNotSent, ctx.Err())
	}
}

func (c *Conn) giveTurn() { <-c.turn }

// do carries out one command that does not wait, and expects one word.
func (c *Conn) do(ctx context.Context, q request, want protocol.Word) (reply, error) {
	if err := c.take(ctx); err != nil {
		return reply{}, c.wrap(q.verb, err)
	}
	defer c.giveTurn()
	qs := [1]request{q}
	err := c.exchange(ctx, qs[:])
	if err == nil {
		err = qs[0].result(want)
	}
	return qs[0].reply, c.wrap(q.verb, err)
}

// exchange sends requests in one write and reads their replies. None of them
// may wait. It is called by the owner of the turn. After an error, those requests
// that were answered have their replies, and the connection is closed.
func (c *Conn) exchange(ctx context.Context, qs []request) error {
	if err := c.ready(ctx); err != nil {
		return err
	}
	if c.timeout > 0 {
		c.setLimit(c.timeout, c.timeout/4)
	}
	if ctx.Done() == nil {
		return c.roundTrip(qs)
	}
	cut := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(cut)
		_ = c.nc.SetDeadline(time.Unix(1, 0))
	})
	err := c.roundTrip(qs)
	if !stop() {
		<-cut
		if err != nil {
			return fmt.Errorf("%w: %w", err, ctx.Err())
		}
		c.limit = time.Time{}
		_ = c.nc.SetDeadline(time.Time{})
	}
	return err
}

// ready tells whether a command may be sent.
func (c *Conn) ready(ctx context.Context) error {
	if err := c.Err(); err != nil {
		return fmt.Errorf("%w: %w", errNotSent, err)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", errNotSent, err)
	}
	if time.Since(c.spoke) > staleAfter && stale(c.nc) {
		c.fail(errors.New("the server has closed the connection"))
		return fmt.Errorf("%w: %w", errNotSent, c.Err())
	}
	return nil
}

// setLimit sees to it that all input and output fails after d, give or take
// some slack: to set a deadline for every command would cost more than the rest.
func (c *Conn) setLimit(d, slack time.Duration) {
	now := time.Now()
	if left := c.limit.Sub(now); left > d || left < d-slack {
		c.limit = now.Add(d)
		_ = c.nc.SetDeadline(c.limit)
	}
}

// roundTrip closes the connection if it fails.
func (c *Conn) roundTrip(qs []request) error {
	begun, err := c.send(qs)
	for i := 0; err == nil && i < len(qs); i++ {
		err = c.receive(&qs[i])
	}
	if err == nil {
		c.spoke = time.Now()
		if !c.replied.Load() {
			c.replied.Store(true)
			if c.firstReply != nil {
				c.firstReply()
			}
		}
		return nil
	}
	c.fail(err)
	if !begun {
		return fmt.Errorf("%w: %w", errNotSent, c.Err())
	}
	if closed := c.Err(); !errors.Is(err, ErrProtocol) && !errors.Is(closed, err) {
		err = closed // closed by somebody else, for another reason
	}
	return fmt.Errorf("%w: %w", ErrUncertain, err)
}

// note keeps account of what the server knows of this connection.
func (c *Conn) note(q *request) {
	switch {
	case q.reply.word == protocol.Using && q.verb == protocol.Use:
		c.used = q.tube
	case q.reply.word == protocol.Watching && q.verb == protocol.Watch:
		if !slices.Contains(c.watched, q.tube) {
			c.watched = append(c.watched, q.tube)
		}
	case q.reply.word == protocol.Watching && q.verb == protocol.Ignore:
		c.watched = slices.DeleteFunc(c.watched, func(tube string) bool { return tube == q.tube })
	}
}

// watchRequests are the commands that make the watch list what is wanted.
func (c *Conn) watchRequests(tubes []string) []request {
	var qs []request
	for _, tube := range tubes {
		if !slices.Contains(c.watched, tube) {
			qs = append(qs, onTube(protocol.Watch, tube))
		}
	}
	for _, tube := range c.watched {
		if !slices.Contains(tubes, tube) {
			qs = append(qs, onTube(protocol.Ignore, tube))
		}
	}
	return qs
}
