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
	// MemoryLimit is how many bytes jobs may take before puts are refused with
	// OUT_OF_MEMORY; 0 is no limit.
	MemoryLimit int64
	// Logger gets a line for what an operator must know, and at debug level one
	// when a connection comes and goes. nil discards.
	Logger *slog.Logger
	// Portable makes the server use goroutines where it would use epoll. It is
	// for tests in a synctest bubble.
	Portable bool
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

// New makes a server with an empty queue.
func New(config Config) (*Server, error) {
	if config.MaxJobSize > protocol.MaxJobSizeLimit {
		return nil, fmt.Errorf("server: a maximal job size of %d bytes is above the limit of %d", config.MaxJobSize, protocol.MaxJobSizeLimit)
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	clock := engine.NewClock()
	process, err := newProcess(clock)
	if err != nil {
		return nil, err
	}
	poll, err := newPoller(config)
	if err != nil {
		return nil, err
	}
	e := engine.New(engine.Config{
		MaxJobSize:  config.MaxJobSize,
		MemoryLimit: config.MemoryLimit,
		Process:     process.stats,
	})
	return &Server{
		logger: config.Logger,
		loop:   &loop{engine: e, clock: clock, poller: poll, logger: config.Logger, grace: stopGrace, accepted: make(chan struct{})},
	}, nil
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
