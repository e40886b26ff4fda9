//go:build linux

package differential

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/server"
)

// An inProcess server is haricot in the process of the test, so that the race detector and coverage see it.
type inProcess struct {
	srv    *server.Server
	at     address
	cancel context.CancelFunc
	ended  chan error
}

// underTest starts the server that the flags name.
func underTest(t *testing.T, dir string) starter {
	t.Helper()
	if *testedPath != "" {
		return program(*testedPath, *network, dir, false)
	}
	return func(maxJobSize int) (contestant, error) { return startInProcess(*network, dir, maxJobSize) }
}

func startInProcess(network, dir string, maxJobSize int) (*inProcess, error) {
	var at address
	name := "127.0.0.1:0"
	if network == "unix" {
		at.path = filepath.Join(dir, fmt.Sprintf("s%d", sockets.Add(1)))
		name = at.path
	}
	ln, err := net.Listen(network, name)
	if err != nil {
		return nil, err
	}
	if tcp, ok := ln.Addr().(*net.TCPAddr); ok {
		at.port = tcp.Port
	}
	srv, err := server.New(server.Config{MaxJobSize: uint32(maxJobSize), Portable: *portable})
	if err != nil {
		_ = ln.Close()
		return nil, err
	}
	if err := srv.Serve(ln); err != nil {
		_ = ln.Close()
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &inProcess{srv: srv, at: at, cancel: cancel, ended: make(chan error, 1)}
	go func() { p.ended <- srv.Run(ctx) }()
	return p, nil
}

func (p *inProcess) connect() (*link, error) { return connect(p.at) }

func (p *inProcess) drain() error {
	p.srv.Drain(true)
	return nil
}

func (p *inProcess) idle() bool { return true }

// stop ends the server and waits; a server that does not end is a fault that no test may hide.
func (p *inProcess) stop() {
	p.cancel()
	select {
	case err := <-p.ended:
		if err != nil {
			panic(fmt.Sprintf("the server ended with %v", err))
		}
	case <-time.After(30 * time.Second):
		panic("the server does not end")
	}
}
