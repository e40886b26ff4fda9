//go:build unix

package client_test

import (
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// proxy stands between a client and a server and spoils what goes through it.
type proxy struct {
	server string // a unix socket's path
	ln     net.Listener
	wg     sync.WaitGroup

	delay  atomic.Int64 // before each piece that is passed on, in ns
	halve  atomic.Bool  // pass on everything in two pieces
	mute   atomic.Bool  // pass on commands and keep the replies
	refuse atomic.Bool  // close connections as soon as they are made
	cutIn  atomic.Int64 // cut each connection that has passed on this many bytes of replies; 0 never

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	made  int // connections so far
}

func startProxy(t *testing.T, s *target) *proxy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{server: s.path, ln: ln, conns: make(map[net.Conn]struct{})}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		_ = ln.Close()
		p.cut()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) address() string { return p.ln.Addr().String() }

func (p *proxy) accept() {
	for {
		near, err := p.ln.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("unix", p.server)
		if err != nil || p.refuse.Load() {
			_ = near.Close()
			if err == nil {
				_ = far.Close()
			}
			continue
		}
		p.mu.Lock()
		p.conns[near], p.conns[far] = struct{}{}, struct{}{}
		p.made++
		p.mu.Unlock()
		p.wg.Go(func() { p.pass(near, far, false) })
		p.wg.Go(func() { p.pass(far, near, true) })
	}
}

// pass copies one direction.
func (p *proxy) pass(from, to net.Conn, replies bool) {
	defer func() {
		if half, ok := to.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
			_ = to.Close()
		}
		if replies { // the server has closed
			_ = from.Close()
			_ = to.Close()
		}
	}()
	buffer := make([]byte, 32<<10)
	passed := int64(0)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		time.Sleep(time.Duration(p.delay.Load())) //nolint:forbidigo // sockets live in real time
		if replies && p.mute.Load() {
			continue
		}
		piece := buffer[:n]
		if limit := p.cutIn.Load(); replies && limit > 0 && passed+int64(n) > limit {
			_, _ = to.Write(piece[:max(0, limit-passed)])
			_ = to.Close()
			_ = from.Close()
			return
		}
		passed += int64(n)
		if p.halve.Load() && n > 1 {
			if _, err := to.Write(piece[:n/2]); err != nil {
				return
			}
			time.Sleep(time.Duration(rand.IntN(int(time.Millisecond)))) //nolint:forbidigo // as above
			piece = piece[n/2:]
		}
		if _, err := to.Write(piece); err != nil {
			return
		}
	}
}

// cut cuts all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		_ = conn.Close()
	}
	clear(p.conns)
}

// connections is how many were made so far.
func (p *proxy) connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.made
}
