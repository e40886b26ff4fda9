package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/haricotq/haricot/client"
)

// ErrNoJob says that no job came in the time there was.
var ErrNoJob = errors.New("no job came")

// Config says what a worker does. Dial, Tubes and Command must be set.
type Config struct {
	// Dial connects to the server.
	Dial func(ctx context.Context) (*client.Conn, error)
	// Tubes are whose jobs are taken.
	Tubes []string
	// Command is the path of a program and its arguments.
	Command []string
	// Output and Errors are what the command writes to.
	Output, Errors *os.File

	// Concurrency is how many commands may run at once; 0 means 1.
	Concurrency int
	// Tries is after how many reservations a job that fails is buried; 0 is never. The server counts them, and those that were cut
	// off by a stop are counted too.
	Tries int
	// Backoff says how long a failed job waits after how many tries. It is rounded up to whole seconds.
	Backoff client.Backoff
	// Limit is how long a command may take before it is stopped and counts as failed; 0 is for ever.
	Limit time.Duration
	// Grace is how long a command that is told to stop (SIGTERM) may take before it is killed (SIGKILL).
	Grace time.Duration

	// Once ends the worker after one job. Wait is how long it waits for it, 0 for ever, and then Run returns ErrNoJob.
	Once bool
	Wait time.Duration
	// UntilEmpty ends the worker when no job is ready and no command runs.
	UntilEmpty bool

	// Finished is told what has become of each job, by one goroutine at a time. It may be nil.
	Finished func(*Outcome)
	// Lost is told that the server cannot be reached any more, and nil when it can be again. It may be nil.
	Lost func(err error)
}

// Summary counts what has become of jobs.
type Summary struct {
	Done, Retried, Buried, GivenBack, Lost int
}

// Worker runs a command for each job.
type Worker struct {
	config Config
	killed chan struct{} // closed by Kill
	kill   sync.Once

	mu      sync.Mutex // over the following
	summary Summary
	idle    int  // places that have found nothing
	away    bool // the server cannot be reached
}

// New makes a worker.
func New(c Config) *Worker {
	if c.Concurrency < 1 || c.Once {
		c.Concurrency = 1
	}
	if c.Finished == nil {
		c.Finished = func(*Outcome) {}
	}
	if c.Lost == nil {
		c.Lost = func(error) {}
	}
	return &Worker{config: c, killed: make(chan struct{})}
}

// Kill has commands that are told to stop killed at once, now and later.
func (w *Worker) Kill() { w.kill.Do(func() { close(w.killed) }) }

// Run works until the context ends, or there is no more to do. Then commands that run are told to stop, their jobs are ended or
// given back, and all that was started has ended when it returns. If the server cannot be reached at the start, that is the
// error; later it is tried again and again.
func (w *Worker) Run(ctx context.Context) (Summary, error) {
	first, err := w.config.Dial(ctx)
	if err != nil {
		return w.summary, err
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	var places sync.WaitGroup
	errs := make([]error, w.config.Concurrency)
	for i := range w.config.Concurrency {
		p := &place{worker: w, stop: stop}
		if i == 0 {
			p.conn = first
		}
		places.Go(func() { errs[i] = p.run(working) })
	}
	places.Wait()
	return w.summary, errors.Join(errs...)
}

// finished counts and tells what has become of a job.
func (w *Worker) finished(o *Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch o.Result {
	case Done:
		w.summary.Done++
	case Retried:
		w.summary.Retried++
	case Buried:
		w.summary.Buried++
	case GivenBack:
		w.summary.GivenBack++
	case Lost:
		w.summary.Lost++
	}
	w.config.Finished(o)
}

// turnedIdle counts a place that has found no job, or has found one again. It tells whether all are without.
func (w *Worker) turnedIdle(by int) (all bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle += by
	return w.idle == w.config.Concurrency
}

// reached notes whether the server can be reached, and tells of changes.
func (w *Worker) reached(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if away := err != nil; away != w.away {
		w.away = away
		w.config.Lost(err)
	}
}

// place handles one job after the other, over a connection of its own.
type place struct {
	worker *Worker
	stop   context.CancelFunc // ends the worker
	conn   *client.Conn       // nil if there is none at the moment
	idle   bool
	failed int // attempts to connect, in a row
}

// reconnect says how long the server is left alone after attempts to reach it.
var reconnect = client.Backoff{Min: 50 * time.Millisecond, Max: 5 * time.Second, Jitter: 0.5}

// run works until the context ends.
func (p *place) run(ctx context.Context) error {
	defer func() {
		if p.conn != nil {
			_ = p.conn.Close() // It holds no job any more.
		}
	}()
	for ctx.Err() == nil {
		if err := p.connect(ctx); err != nil {
			if err := pause(ctx, reconnect.Delay(p.failed)); err != nil {
				return nil // The end of the context is the end.
			}
			continue
		}
		job, err := p.conn.ReserveWithTimeout(ctx, p.patience())
		switch {
		case err == nil:
			p.busy()
			p.handle(ctx, job)
			if p.worker.config.Once {
				p.stop()
			}
		case errors.Is(err, client.ErrTimedOut):
			if err := p.foundNothing(); err != nil {
				return err
			}
		case p.conn.Err() == nil && ctx.Err() == nil: // The server refuses, and will do so again.
			p.stop()
			return fmt.Errorf("reserving a job: %w", err)
		}
	}
	return nil
}

// foundNothing notes that no job was there. The last place that has none ends the worker, if that is what it is to do.
func (p *place) foundNothing() error {
	c := &p.worker.config
	if c.Once && (c.UntilEmpty || c.Wait > 0) {
		p.stop()
		return ErrNoJob
	}
	if c.UntilEmpty && !p.idle {
		p.idle = true
		if p.worker.turnedIdle(1) {
			p.stop()
		}
	}
	return nil
}

// busy notes that there was a job.
func (p *place) busy() {
	if p.idle {
		p.idle = false
		p.worker.turnedIdle(-1)
	}
}

// waitStep is how long the server is told to wait at most, so that one that has gone without a word is found out.
const waitStep = 5 * time.Minute

// patience is how long to wait for a job.
func (p *place) patience() time.Duration {
	c := &p.worker.config
	switch {
	case c.UntilEmpty && p.idle:
		return time.Second // The commands that still run may put jobs.
	case c.UntilEmpty:
		return 0
	case c.Once && c.Wait > 0:
		return c.Wait
	}
	return waitStep
}

// connect sees to it that there is a connection that watches the tubes.
func (p *place) connect(ctx context.Context) error {
	if p.conn != nil && p.conn.Err() != nil {
		p.worker.reached(p.conn.Err())
		p.conn = nil
	}
	if p.conn == nil {
		conn, err := p.worker.config.Dial(ctx)
		if err != nil {
			p.failed++
			if ctx.Err() == nil {
				p.worker.reached(err)
			}
			return err
		}
		p.conn = conn
	}
	if err := p.conn.WatchOnly(ctx, p.worker.config.Tubes...); err != nil {
		_ = p.conn.Close() // It is of no use.
		p.failed++
		return err
	}
	p.failed = 0
	p.worker.reached(nil)
	return nil
}

// pause waits for a time, or for the end of the context.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
