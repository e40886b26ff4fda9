package docs_test

import (
	"context"
	"log/slog"
	"net"
	"testing"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/server"
)

// requireHaricot has nothing to ask for: the server runs inside the test.
func requireHaricot(*testing.T) {}

func startHaricot(t *testing.T, maxJobSize uint32) instance {
	t.Helper()
	if maxJobSize == 0 {
		maxJobSize = protocol.DefaultMaxJobSize
	}
	srv, err := server.New(server.Config{MaxJobSize: maxJobSize, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr()
	if err := srv.Serve(ln); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- srv.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return instance{network: addr.Network(), address: addr.String(), drain: srv.Drain, stop: stop}
}
