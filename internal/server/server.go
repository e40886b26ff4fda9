package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/haricotq/haricot/internal/engine"
	"github.com/haricotq/haricot/internal/protocol"
)

// Config says how a server works. The zero value is ready to use.
type Config struct {
	// MaxJobSize is the largest body in bytes that a put may bring, at most
	// [protocol.MaxJobSizeLimit]. 0 allows empty bodies only; what a server
	// does when nobody asks is [protocol.DefaultMaxJobSize].
	MaxJobSize uint32
	// MemoryLimit is how many bytes jobs may take in memory; 0 is no limit.
	// Without a store puts beyond it are refused with OUT_OF_MEMORY; with one
	// bodies beyond it are in the store only.
	MemoryLimit int64
	// TubeMaxJobs and TubeMaxBytes are how many jobs, and bytes of bodies, a
	// tube may have before puts are refused with OUT_OF_MEMORY; 0 is no limit.
	TubeMaxJobs  uint64
	TubeMaxBytes uint64
	// Store keeps what must survive; nil keeps nothing. The server uses it
	// until Run returns, and does not close it.
	Store Store
	// Logger gets a line for what an operator must know, and at debug level one
	// when a connection comes and goes. nil discards.
	Logger *slog.Logger
	// Observed has the server note what Operate's steps may ask for beyond what
	// clients can: how long jobs wait and run, and how long commits take.
	Observed bool
	// Portable makes the server use goroutines where it would use epoll. It is
	// for tests in a synctest bubble.
	Portable bool
}

// Store is what the engine needs of a store, and what stats tells of it.
type Store interface {
	engine.Store
	LogStats() protocol.LogStats
}

// stopGrace is how long a stopping server waits for commands that have begun
// to arrive, and for clients to take their replies.
const stopGrace = time.Second

// Server serves the queue on any number of listeners.
type Server struct {
	logger    *slog.Logger
	loop      *loop
	listeners []net.Listener
	running   atomic.Bool
}

// New makes a server. Its queue has the jobs of the store, or is empty.
func New(config Config) (*Server, error) {
	if config.MaxJobSize > protocol.MaxJobSizeLimit {
		return nil, fmt.Errorf("server: a maximal job size of %d bytes is above the limit of %d", config.MaxJobSize, protocol.MaxJobSizeLimit)
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	clock := engine.NewClock()
	process, err := newProcess(clock, config.Store)
	if err != nil {
		return nil, err
	}
	poll, err := newPoller(config)
	if err != nil {
		return nil, err
	}
	l := &loop{
		clock: clock, poller: poll, logger: config.Logger, grace: stopGrace,
		accepted: make(chan struct{}), ended: make(chan struct{}),
	}
	l.engine = engine.New(engine.Config{
		Limits: engine.Limits{
			MaxJobSize: config.MaxJobSize,
			Memory:     config.MemoryLimit,
			TubeJobs:   config.TubeMaxJobs,
			TubeBytes:  config.TubeMaxBytes,
		},
		Store: config.Store,
		Post:  func(f func()) { l.post(f) },
		Unreadable: func(id protocol.JobID, err error) {
			l.logger.Error("a job cannot be read and is buried if it was reserved", "job", uint64(id), "error", err)
		},
		Process:  process.stats,
		Observed: config.Observed,
	})
	s := &Server{logger: config.Logger, loop: l}
	jobs, err := l.engine.Recover(clock.Now())
	if err != nil {
		return nil, errors.Join(err, l.abandon())
	}
	if config.Store != nil {
		s.logger.Info("jobs recovered", "jobs", jobs, "took", clock.Running().Round(time.Millisecond))
	}
	return s, nil
}

// Serve adds a listener, which then belongs to the server. It must be called
// before Run.
func (s *Server) Serve(ln net.Listener) error {
	if s.running.Load() {
		return errors.New("server: Serve after Run")
	}
	s.listeners = append(s.listeners, ln)
	return nil
}

// Drain makes the server refuse puts, or take them again. It may be called at
// any time by any goroutine.
func (s *Server) Drain(on bool) {
	s.loop.post(func() { s.loop.engine.SetDraining(on) })
}

// Run serves until the context ends, and then stops: no connection is accepted
// any more, commands that have arrived are carried out and answered, waits for
// jobs are answered with TIMED_OUT, and connections are closed. What is not
// done after a second is cut off.
//
// It returns when all that it started has ended: nil, unless the system keeps
// it from serving.
func (s *Server) Run(ctx context.Context) error {
	s.running.Store(true)
	for i, ln := range s.listeners {
		if err := s.loop.listen(ln); err != nil {
			for _, rest := range s.listeners[i:] {
				_ = rest.Close()
			}
			return errors.Join(err, s.loop.abandon())
		}
		s.logger.Info("listening", "address", ln.Addr().String())
	}
	undo := context.AfterFunc(ctx, func() { s.loop.post(s.loop.stop) })
	defer undo()
	return s.loop.run()
}
