package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Defaults of a [Worker].
const (
	DefaultConcurrency = 10
	DefaultStopTimeout = 10 * time.Second
	DefaultMaxAttempts = 10
)

// ErrStopping is the cause of the end of a handler's context when the worker
// stops and does not wait any longer.
var ErrStopping = errors.New("the worker is stopping")

// ErrHandlerRunning is found when a worker has stopped although a handler had not
// returned.
var ErrHandlerRunning = errors.New("a handler has not returned")

// errExhausted is why a job is buried that was reserved too often.
var errExhausted = errors.New("reserved as often as allowed, and never finished")

// A Retry says how often a job is tried, and how long it waits in between.
type Retry struct {
	// MaxAttempts is how often a job is tried. 0 means [DefaultMaxAttempts], a
	// negative number that there is no limit.
	//
	// The server counts the attempts, and it counts reservations: an attempt cut
	// off by a crash or a stop is one as well, so that a job that kills its worker
	// does not do so for ever. A job that was kicked since gets one attempt.
	MaxAttempts int
	// Backoff says how long a job waits after how many attempts. The server counts
	// in whole seconds and each wait is rounded up to them. What is not set is 1 s,
	// at most an hour, with a jitter of 0.25.
	Backoff Backoff
}

func (r Retry) withDefaults(d Retry) Retry {
	if r.MaxAttempts == 0 {
		r.MaxAttempts = d.MaxAttempts
	}
	r.Backoff = r.Backoff.withDefaults(d.Backoff)
	return r
}

// exhausted tells whether there is no attempt after the n-th.
func (r Retry) exhausted(n uint64) bool {
	return r.MaxAttempts > 0 && n >= uint64(r.MaxAttempts)
}

// WorkerConfig says how a [Worker] works. The zero value is ready to use.
type WorkerConfig struct {
	// Concurrency is how many jobs of each server are handled at once, and how
	// many connections to it there are. 0 means [DefaultConcurrency].
	Concurrency int
	// StopTimeout is how long a stopping worker waits for handlers before it
	// ends their contexts. 0 means [DefaultStopTimeout], a negative number that it
	// does so at once.
	StopTimeout time.Duration
	// Retry is what is done after errors in tubes that have no settings.
	Retry Retry
	// DeadSuffix, if not empty, is what the name of a tube gets at its end to
	// name the tube where jobs go for which there is no further attempt, as a [Dead]
	// each: it has the reason beside the body. Without it they are buried where they
	// are, and the reason is in the log and in the outcome given to Hooks.
	DeadSuffix string
	// Middleware is put around all handlers.
	Middleware []Middleware
	// Periodic jobs are put while the worker runs.
	Periodic []Periodic
	// Logger gets a line for a job that is tried again, lost, or given up, and
	// nothing for one that is done. nil discards.
	Logger *slog.Logger
	// Hooks are called when something happens.
	Hooks WorkerHooks
}

// TubeSettings say how the jobs of one tube are handled.
type TubeSettings struct {
	// Concurrency is how many of the jobs that a worker handles at once, of each
	// server, may be of this tube. 0 means that only the worker's limit holds.
	//
	// A limit is never passed. The price is that a place that becomes free may stay
	// so for up to a second when the worker has nothing else to do.
	Concurrency int
	// Retry replaces what is set in it of the worker's.
	Retry Retry
}

// A Worker reserves jobs from all servers of a pool and handles them.
//
// While a handler runs, its job is touched as often as needed. What the worker does
// with a job afterwards is said at [Handler]. No job is lost, whatever fails: it is
// deleted only after its handler has returned nil, and until then the server gives it
// back. It can be done twice, when the worker loses the server, or stalls for longer than
// the job's time to run, before the job is deleted.
type Worker struct {
	pool   *Pool
	config WorkerConfig

	// tubes are complete before Run.
	tubes  []*handledTube
	byTube map[string]*handledTube

	mu    sync.Mutex
	stop  context.CancelFunc // ends Run's reserving
	hurry context.CancelFunc // ends Run's waiting for handlers
	ended chan struct{}      // closed when Run returns
}

// handledTube is a tube that the worker has a handler for.
type handledTube struct {
	name     string
	handler  Handler
	settings TubeSettings
}

// NewWorker makes a worker, which does nothing before Run.
func NewWorker(p *Pool, config WorkerConfig) *Worker {
	if config.Concurrency <= 0 {
		config.Concurrency = DefaultConcurrency
	}
	if config.StopTimeout == 0 {
		config.StopTimeout = DefaultStopTimeout
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	config.Retry = config.Retry.withDefaults(Retry{DefaultMaxAttempts, Backoff{time.Second, time.Hour, 0.25}})
	return &Worker{pool: p, config: config, byTube: make(map[string]*handledTube)}
}

// Handle has the jobs of a tube handled by h. It panics if the tube's name is
// not valid, or has a handler already, and after Run.
func (w *Worker) Handle(tube string, h Handler, settings TubeSettings) {
	if err := checkTubes([]string{tube, tube + w.config.DeadSuffix}); err != nil {
		panic(fmt.Sprintf("client: handling a tube: %v", err))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byTube[tube] != nil || w.ended != nil {
		panic(fmt.Sprintf("client: tube %s gets a second handler, or one after Run", tube))
	}
	for i := len(w.config.Middleware) - 1; i >= 0; i-- {
		h = w.config.Middleware[i](h)
	}
	settings.Retry = settings.Retry.withDefaults(w.config.Retry)
	t := &handledTube{tube, h, settings}
	w.tubes = append(w.tubes, t)
	w.byTube[tube] = t
}

// HandleFunc has the jobs of a tube handled by a function. It panics as Handle does.
func (w *Worker) HandleFunc(tube string, f func(ctx context.Context, job *Job) error) {
	w.Handle(tube, HandlerFunc(f), TubeSettings{})
}

// Run handles jobs until the context ends or Stop is called, and then stops: it
// reserves nothing more, and what was being reserved at that moment the server takes back;
// waits for handlers for StopTimeout; then ends their contexts, and gives back the jobs of
// those that return an error because of it. A handler that has not returned a second later is
// left alone, its job is given back, and the error is [ErrHandlerRunning]. Otherwise all
// that Run started has ended when it returns.
//
// It returns nil after a stop, [ErrClosed] if the pool was closed before, and an error
// at once if there is nothing to handle. It can be called once.
func (w *Worker) Run(ctx context.Context) error {
	reserving, stop := context.WithCancel(ctx)
	defer stop()
	patience, hurry := context.WithCancel(context.WithoutCancel(ctx))
	defer hurry()
	w.mu.Lock()
	again := w.ended != nil
	if !again {
		w.stop, w.hurry, w.ended = stop, hurry, make(chan struct{})
		defer close(w.ended)
	}
	w.mu.Unlock()
	if again {
		return errors.New("client: the worker was run before")
	}
	scheduler, err := NewScheduler(w.pool, w.config.Logger, w.config.Periodic...)
	if err != nil {
		return err
	}
	if len(w.tubes) == 0 && len(w.config.Periodic) == 0 {
		return errors.New("client: the worker has no handler")
	}
	return w.run(reserving, patience, hurry, scheduler)
}

// run starts a goroutine for each job that may be handled at once, and waits for
// all of them.
func (w *Worker) run(reserving, patience context.Context, hurry func(), scheduler *Scheduler) error {
	handling, giveUp := context.WithCancelCause(context.WithoutCancel(reserving))
	defer giveUp(nil)
	gaveUp := make(chan struct{})
	undo := context.AfterFunc(reserving, func() {
		defer close(gaveUp)
		if w.config.StopTimeout > 0 {
			_ = sleep(patience, w.config.StopTimeout)
		}
		giveUp(ErrStopping)
	})
	defer func() {
		if !undo() {
			hurry()
			<-gaveUp
		}
	}()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var stuck []string
	if len(w.config.Periodic) > 0 {
		wg.Go(func() { _ = scheduler.Run(reserving) })
	}
	for _, b := range w.pool.backends {
		g := newGate(w.tubes)
		for range w.config.Concurrency {
			if len(w.tubes) == 0 {
				continue
			}
			s := &slot{worker: w, backend: b, gate: g, handling: handling}
			wg.Go(func() {
				if tube := s.run(reserving); tube != "" {
					mu.Lock()
					stuck = append(stuck, tube)
					mu.Unlock()
				}
			})
		}
	}
	wg.Wait()
	switch {
	case len(stuck) > 0:
		return fmt.Errorf("client: %w: %s", ErrHandlerRunning, strings.Join(stuck, ", "))
	case reserving.Err() == nil:
		return ErrClosed
	}
	return nil
}

// Stop has Run stop, and returns when it has. When the context ends, the worker
// waits no longer for its handlers, as after StopTimeout. Before Run it does
// nothing.
func (w *Worker) Stop(ctx context.Context) error {
	w.mu.Lock()
	stop, hurry, ended := w.stop, w.hurry, w.ended
	w.mu.Unlock()
	if ended == nil {
		return nil
	}
	stop()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		hurry()
		<-ended
		return ctx.Err()
	}
}
