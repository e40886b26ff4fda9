package client

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
)

// Use chooses the tube that puts go to, and that PeekReady, PeekDelayed,
// PeekBuried and Kick look at. At first it is "default".
func (c *Conn) Use(ctx context.Context, tube string) error {
	if err := checkTube(tube); err != nil {
		return c.wrap(protocol.Use, err)
	}
	_, err := c.do(ctx, onTube(protocol.Use, tube), protocol.Using)
	return err
}

// Watch adds a tube to those that Reserve takes jobs from, and returns how many
// they are. At first it is "default" alone.
func (c *Conn) Watch(ctx context.Context, tube string) (int, error) {
	return c.list(ctx, protocol.Watch, tube)
}

// Ignore takes a tube from those that Reserve takes jobs from, and returns how
// many are left. The last one cannot be ignored: [ErrNotIgnored].
func (c *Conn) Ignore(ctx context.Context, tube string) (int, error) {
	return c.list(ctx, protocol.Ignore, tube)
}

func (c *Conn) list(ctx context.Context, verb protocol.Verb, tube string) (int, error) {
	if err := checkTube(tube); err != nil {
		return 0, c.wrap(verb, err)
	}
	r, err := c.do(ctx, onTube(verb, tube), protocol.Watching)
	return int(r.number), err
}

// WatchOnly makes the tubes, at least one, all that Reserve takes jobs from, in
// one write.
func (c *Conn) WatchOnly(ctx context.Context, tubes ...string) error {
	if err := checkTubes(tubes); err != nil {
		return c.wrap(protocol.Watch, err)
	}
	if len(tubes) == 0 {
		return c.wrap(protocol.Watch, ErrNotIgnored)
	}
	if err := c.take(ctx); err != nil {
		return c.wrap(protocol.Watch, err)
	}
	defer c.giveTurn()
	qs := c.watchRequests(tubes)
	if len(qs) == 0 {
		return c.wrap(protocol.Watch, c.ready(ctx))
	}
	err := c.exchange(ctx, qs)
	for i := range qs {
		if err == nil {
			err = qs[i].result(protocol.Watching)
		}
	}
	return c.wrap(protocol.Watch, err)
}

// Put puts a job into the tube used, and returns its id. A body has at most as
// many bytes as the server allows, 65535 unless it was told otherwise, else
// [ErrJobTooBig]; it is not kept. A body of 8 KiB or more is not copied.
//
// [ErrBuried] comes with the job's id. After [ErrUncertain] the job may be in the
// tube or not; putting it again may make two.
func (c *Conn) Put(ctx context.Context, body []byte, options ...Option) (uint64, error) {
	s, err := apply(options)
	if err == nil {
		err = checkBody(body)
	}
	if err != nil {
		return 0, c.wrap(protocol.Put, err)
	}
	r, err := c.do(ctx, s.putRequest(body), protocol.Inserted)
	return r.number, err
}

// PutAll puts jobs into the tube used, as many in one write as is safe, and
// returns their ids in order. If some fail, their ids are 0 and the error is a
// [*BatchError]; the others are in the tube.
func (c *Conn) PutAll(ctx context.Context, bodies [][]byte, options ...Option) ([]uint64, error) {
	s, err := apply(options)
	if err != nil {
		return nil, c.wrap(protocol.Put, err)
	}
	qs := make([]request, len(bodies))
	for i, body := range bodies {
		if err := checkBody(body); err != nil {
			return nil, c.wrap(protocol.Put, err)
		}
		qs[i] = s.putRequest(body)
	}
	errs := c.batch(ctx, qs, protocol.Inserted)
	ids := make([]uint64, len(qs))
	for i := range qs {
		ids[i] = qs[i].reply.number
	}
	return ids, batchError(errs)
}

func checkBody(body []byte) error {
	if uint64(len(body)) > math.MaxUint32 {
		return fmt.Errorf("a body of %d bytes: %w", len(body), ErrRange)
	}
	return nil
}

// A batch goes out in portions, so that the server's replies, which nobody reads
// meanwhile, fit into the buffers between, and neither side waits for ever.
const (
	batchCount = 512
	batchBytes = 1 << 20
)

// portions cuts requests into what may be sent at once.
func portions(qs []request) iter.Seq[[]request] {
	return func(yield func([]request) bool) {
		for len(qs) > 0 {
			n, size := 0, 0
			for n < len(qs) && n < batchCount && (n == 0 || size+len(qs[n].body) <= batchBytes) {
				size += len(qs[n].body)
				n++
			}
			if !yield(qs[:n]) {
				return
			}
			qs = qs[n:]
		}
	}
}

// batch carries out requests of which none waits, and returns an error for each.
func (c *Conn) batch(ctx context.Context, qs []request, want protocol.Word) []error {
	sent := 0 // how many may have been sent
	err := c.take(ctx)
	if err == nil {
		for part := range portions(qs) {
			sent += len(part)
			if err = c.exchange(ctx, part); err != nil {
				break
			}
		}
		c.giveTurn()
	}
	errs := make([]error, len(qs))
	for i := range qs {
		one := err
		switch {
		case qs[i].answered:
			one = qs[i].result(want)
		case i >= sent:
			one = fmt.Errorf("%w: %w", errNotSent, err)
		}
		errs[i] = c.wrap(qs[i].verb, one)
	}
	return errs
}

// Delete removes a job that is ready, delayed, buried, or held by this connection.
func (c *Conn) Delete(ctx context.Context, id uint64) error {
	_, err := c.do(ctx, command(protocol.Delete, id), protocol.Deleted)
	return err
}

// Kick makes up to most jobs of the tube used ready: buried ones, the longest
// buried first, or delayed ones if none is buried. It returns how many.
func (c *Conn) Kick(ctx context.Context, most uint32) (int, error) {
	r, err := c.do(ctx, command(protocol.Kick, uint64(most)), protocol.Kicked)
	return int(r.number), err
}

// KickJob makes a job ready that is buried or delayed.
func (c *Conn) KickJob(ctx context.Context, id uint64) error {
	_, err := c.do(ctx, command(protocol.KickJob, id), protocol.Kicked)
	return err
}

// PauseTube keeps jobs of a tube from being reserved for a time: whole seconds,
// rounded up, at most 4294967295; 0 ends a pause.
func (c *Conn) PauseTube(ctx context.Context, tube string, d time.Duration) error {
	n, err := wholeSeconds(d, math.MaxUint32)
	if err == nil {
		err = checkTube(tube)
	}
	if err != nil {
		return c.wrap(protocol.PauseTube, err)
	}
	_, err = c.do(ctx, onTube(protocol.PauseTube, tube, n), protocol.Paused)
	return err
}

// Peeked is a job that was looked at and not taken.
type Peeked struct {
	ID   uint64
	Body []byte // belongs to the caller
}

// Peek looks at a job, whatever its state and tube.
func (c *Conn) Peek(ctx context.Context, id uint64) (Peeked, error) {
	return c.peek(ctx, command(protocol.Peek, id))
}

// PeekReady looks at the next ready job of the tube used.
func (c *Conn) PeekReady(ctx context.Context) (Peeked, error) {
	return c.peek(ctx, command(protocol.PeekReady))
}

// PeekDelayed looks at the delayed job of the tube used that is due next.
func (c *Conn) PeekDelayed(ctx context.Context) (Peeked, error) {
	return c.peek(ctx, command(protocol.PeekDelayed))
}

// PeekBuried looks at the job of the tube used that was buried first.
func (c *Conn) PeekBuried(ctx context.Context) (Peeked, error) {
	return c.peek(ctx, command(protocol.PeekBuried))
}

func (c *Conn) peek(ctx context.Context, q request) (Peeked, error) {
	r, err := c.do(ctx, q, protocol.Found)
	return Peeked{r.number, r.data}, err
}

// ListTubes lists the tubes that exist.
func (c *Conn) ListTubes(ctx context.Context) ([]string, error) {
	return c.tubes(ctx, protocol.ListTubes)
}

// ListTubesWatched lists the tubes that Reserve takes jobs from.
func (c *Conn) ListTubesWatched(ctx context.Context) ([]string, error) {
	return c.tubes(ctx, protocol.ListTubesWatched)
}

// ListTubeUsed returns the tube that puts go to.
func (c *Conn) ListTubeUsed(ctx context.Context) (string, error) {
	r, err := c.do(ctx, command(protocol.ListTubeUsed), protocol.Using)
	return r.text, err
}

func (c *Conn) tubes(ctx context.Context, verb protocol.Verb) ([]string, error) {
	r, err := c.do(ctx, command(verb), protocol.OK)
	if err != nil {
		return nil, err
	}
	var list []string
	for line := range strings.Lines(string(r.data)) {
		if name, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "- "); ok {
			list = append(list, protocol.Unquote(name))
		}
	}
	return slices.Clip(list), nil
}

// Stats asks for the server's statistics.
func (c *Conn) Stats(ctx context.Context) (*ServerStats, error) {
	return ask(ctx, c, command(protocol.Stats), new(ServerStats))
}

// StatsTube asks for a tube's statistics.
func (c *Conn) StatsTube(ctx context.Context, tube string) (*TubeStats, error) {
	if err := checkTube(tube); err != nil {
		return nil, c.wrap(protocol.StatsTube, err)
	}
	return ask(ctx, c, onTube(protocol.StatsTube, tube), new(TubeStats))
}

// StatsJob asks for a job's statistics.
func (c *Conn) StatsJob(ctx context.Context, id uint64) (*JobStats, error) {
	return ask(ctx, c, command(protocol.StatsJob, id), new(JobStats))
}

func ask[T any](ctx context.Context, c *Conn, q request, into *T) (*T, error) {
	r, err := c.do(ctx, q, protocol.OK)
	if err != nil {
		return nil, err
	}
	decodeStats(r.data, into)
	return into, nil
}
