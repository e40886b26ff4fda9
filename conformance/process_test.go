package conformance

import (
	"net"
	"os"
	"testing"
	"time"
)

// process is a server that runs in a process of its own with a real clock.
type process struct {
	addr  net.Addr
	os    *os.Process
	grace time.Duration
}

// Dial connects to the server.
func (p *process) Dial() (net.Conn, error) { return net.Dial(p.addr.Network(), p.addr.String()) }

// Settle gives the server its grace.
func (p *process) Settle() { time.Sleep(p.grace) }

// Patience is long enough for the busiest machine.
func (p *process) Patience() time.Duration { return patience }

// patience ends a test whose reply never comes.
const patience = 10 * time.Second

func (p *process) signal(sig os.Signal) error {
	if err := p.os.Signal(sig); err != nil {
		return err
	}
	p.Settle()
	return nil
}

// handOver closes a listener and returns its address and its file, for a process
// to take over. The file is closed when the test ends.
func handOver(t *testing.T, ln interface {
	net.Listener
	File() (*os.File, error)
},
) (net.Addr, *os.File) {
	t.Helper()
	f, err := ln.File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	return ln.Addr(), f
}
