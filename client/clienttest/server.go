//go:build unix

package clienttest

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"

	"github.com/haricotq/haricot/client"
	"github.com/haricotq/haricot/internal/memnet"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/server"
)

// Address is the address of the first server of a test; the others have a number.
const Address = "clienttest"

// A Server is a haricot in the test's own process, on a network in memory. Its
// methods may be called from any goroutine.
type Server struct {
	tb         testing.TB
	maxJobSize uint32

	mu       sync.Mutex
	listener *memnet.Listener // nil while stopped
	conns    map[net.Conn]struct{}
	drain    func(bool)
	cancel   context.CancelFunc
	ended    chan struct{}
}

// NewServer starts a server that ends with the test. In a bubble of testing/synctest
// it must be called inside the bubble.
func NewServer(tb testing.TB) *Server {
	tb.Helper()
	return NewServerSize(tb, protocol.DefaultMaxJobSize)
}

// NewServerSize is NewServer with another limit for bodies, in bytes, than the
// usual 65535.
func NewServerSize(tb testing.TB, maxJobSize uint32) *Server {
	tb.Helper()
	s := &Server{tb: tb, maxJobSize: maxJobSize}
	s.Start()
	tb.Cleanup(s.Stop)
	return s
}

// Start starts the server again after Stop, with nothing in it.
func (s *Server) Start() {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		return
	}
	srv, err := server.New(server.Config{MaxJobSize: s.maxJobSize, Portable: true})
	if err != nil {
		s.tb.Fatalf("clienttest: %v", err)
	}
	listener := memnet.Listen()
	if err := srv.Serve(listener); err != nil {
		s.tb.Fatalf("clienttest: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := srv.Run(ctx); err != nil {
			s.tb.Errorf("clienttest: %v", err)
		}
	}()
	s.listener, s.cancel, s.ended, s.drain = listener, cancel, ended, srv.Drain
	s.conns = make(map[net.Conn]struct{})
}

// Stop cuts all connections and ends the server with all that is in it. Until
// Start, connecting fails. Stopping again does nothing.
func (s *Server) Stop() {
	s.mu.Lock()
	if s.listener == nil {
		s.mu.Unlock()
		return
	}
	s.cut()
	s.cancel()
	ended := s.ended
	s.listener = nil
	s.mu.Unlock()
	<-ended
}

// Cut cuts all connections; the server gives back the jobs held by them.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut()
}

func (s *Server) cut() {
	for conn := range s.conns {
		_ = conn.Close()
	}
	clear(s.conns)
}

// Drain makes the server refuse puts, or take them again.
func (s *Server) Drain(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		s.drain(on)
	}
}

// Dial connects to the server, whatever the network and address. It is made for
// [client.Dialer].
func (s *Server) Dial(context.Context, string, string) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return nil, &net.OpError{Op: "dial", Net: "memory", Addr: memnet.Addr{}, Err: errors.New("the server is stopped")}
	}
	conn, err := s.listener.Dial()
	if err != nil {
		return nil, err
	}
	s.conns[conn] = struct{}{}
	return conn, nil
}

// Conn returns a connection to the server that is closed when the test ends.
func (s *Server) Conn(tb testing.TB) *client.Conn {
	tb.Helper()
	conn, err := s.Dial(context.Background(), "", "")
	if err != nil {
		tb.Fatalf("clienttest: %v", err)
	}
	c := client.NewConn(conn, Address)
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

// Pool returns a pool of this server that is closed when the test ends. The servers
// and the dialer's function of the config are replaced.
func (s *Server) Pool(tb testing.TB, config client.Config) *client.Pool {
	tb.Helper()
	return Pool(tb, config, s)
}

// Pool returns a pool of several servers that is closed when the test ends. The
// servers and the dialer's function of the config are replaced; the addresses are
// clienttest, clienttest2, clienttest3 and so on.
func Pool(tb testing.TB, config client.Config, servers ...*Server) *client.Pool {
	tb.Helper()
	byAddress := make(map[string]*Server)
	config.Servers = nil
	for i, s := range servers {
		address := addressOf(i)
		byAddress[net.JoinHostPort(address, client.DefaultPort)] = s
		config.Servers = append(config.Servers, address)
	}
	config.Dialer.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		return byAddress[address].Dial(ctx, network, address)
	}
	pool, err := client.NewPool(config)
	if err != nil {
		tb.Fatalf("clienttest: %v", err)
	}
	tb.Cleanup(func() { _ = pool.Close() })
	return pool
}
