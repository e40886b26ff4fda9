package conformance

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/haricotq/haricot/internal/memnet"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/server"
)

// TestFakeTime plays every script against haricot over a network in memory, in
// a bubble whose time passes only when everybody waits. So nothing is left to
// chance: what a script expects is there when the server has gone quiet.
func TestFakeTime(t *testing.T) {
	for _, s := range scripts(t) {
		t.Run(scriptName(s), func(t *testing.T) {
			if s.Heavy && !*long {
				t.Skip("needs -long")
			}
			synctest.Test(t, func(t *testing.T) {
				ln := memnet.Listen()
				h := startHaricot(t, s.Setting, ln)
				if err := s.Play(Haricot, h); err != nil {
					t.Error(err)
				}
				h.stop()
			})
		})
	}
}

// TestTCP plays the scripts against haricot over real connections.
func TestTCP(t *testing.T) { overSockets(t, "tcp") }

// TestUnix plays the scripts against haricot over real unix sockets.
func TestUnix(t *testing.T) { overSockets(t, "unix") }

func overSockets(t *testing.T, network string) {
	for _, s := range scripts(t) {
		t.Run(scriptName(s), func(t *testing.T) {
			t.Parallel()
			if s.Duration(Haricot) > 10*longestSleep {
				t.Skip("played in fake time only")
			}
			if !*long && (s.Heavy || s.Duration(Haricot) > longestSleep) {
				t.Skip("needs -long")
			}
			playPatiently(t, s, Haricot, func(t *testing.T, grace time.Duration) Target {
				return startChild(t, s.Setting, network, grace)
			})
		})
	}
}

// haricot is a server of ours in a bubble.
type haricot struct {
	t      *testing.T
	server *server.Server
	ln     *memnet.Listener
	cancel context.CancelFunc
	ended  chan error
}

func startHaricot(t *testing.T, set Settings, ln *memnet.Listener) *haricot {
	t.Helper()
	config := configOf(set)
	config.Portable = true
	s, err := server.New(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(ln); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	h := &haricot{t, s, ln, cancel, make(chan error, 1)}
	go func() { h.ended <- s.Run(ctx) }()
	return h
}

func configOf(set Settings) server.Config {
	config := server.Config{MaxJobSize: protocol.DefaultMaxJobSize, MemoryLimit: set.MemoryLimit}
	if set.MaxJobSize != 0 || set.EmptyOnly {
		config.MaxJobSize = set.MaxJobSize
	}
	return config
}

// stop ends the server and waits for it.
func (h *haricot) stop() {
	h.cancel()
	if err := <-h.ended; err != nil {
		h.t.Error("the server ended with", err)
	}
}

func (h *haricot) Dial() (net.Conn, error) { return h.ln.Dial() }

func (h *haricot) Drain(on bool) error {
	h.server.Drain(on)
	h.Settle()
	return nil
}

func (h *haricot) Settle() { synctest.Wait() }

func (h *haricot) Patience() time.Duration { return 0 }
