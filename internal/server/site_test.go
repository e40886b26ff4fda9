package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/haricotq/haricot/internal/memnet"
	"github.com/haricotq/haricot/internal/protocol"
)

// setting is a way to reach a server.
type setting struct {
	name     string
	portable bool
	network  string // tcp, unix, or memory: then in a bubble with fake time
}

func (w setting) fakeTime() bool { return w.network == "memory" }

// settings are all ways: both shells, and the networks that each can have.
var settings = []setting{
	{"loop over TCP", false, "tcp"},
	{"loop over unix", false, "unix"},
	{"streams over TCP", true, "tcp"},
	{"streams over unix", true, "unix"},
	{"streams in a bubble", true, "memory"},
}

// everywhere runs a test in each setting that it is fit for, or all.
func everywhere(t *testing.T, test func(t *testing.T, w setting), fit ...func(setting) bool) {
	t.Helper()
next:
	for _, w := range settings {
		for _, f := range fit {
			if !f(w) {
				continue next
			}
		}
		t.Run(w.name, func(t *testing.T) {
			if w.fakeTime() {
				synctest.Test(t, func(t *testing.T) { test(t, w) })
			} else {
				test(t, w)
			}
		})
	}
}

func byTCP(w setting) bool    { return w.network == "tcp" }
func byLoop(w setting) bool   { return !w.portable }
func inBubble(w setting) bool { return w.fakeTime() }

// site is a running server.
type site struct {
	t       *testing.T
	setting setting
	server  *Server
	ln      net.Listener
	cancel  context.CancelFunc
	ended   chan struct{}
	failure error // what Run returned, once ended is closed
}

// patience is how long a test waits for what must happen. It runs out in
// failing tests only.
const patience = 20 * time.Second

// open starts a server, and stops it at the end of the test at the latest.
func (w setting) open(t *testing.T, config Config) *site {
	t.Helper()
	s := w.prepare(t, config)
	s.run()
	return s
}

// prepare makes a server that does not run yet.
func (w setting) prepare(t *testing.T, config Config) *site {
	t.Helper()
	if config.MaxJobSize == 0 {
		config.MaxJobSize = protocol.DefaultMaxJobSize
	}
	config.Portable = w.portable
	server, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, setting: w, server: server, ln: w.listen(t), ended: make(chan struct{})}
	if err := server.Serve(s.ln); err != nil {
		t.Fatal(err)
	}
	return s
}

func (w setting) listen(t *testing.T) net.Listener {
	t.Helper()
	address := "127.0.0.1:0"
	switch w.network {
	case "memory":
		return memnet.Listen()
	case "unix":
		address = filepath.Join(t.TempDir(), "s")
	}
	ln, err := net.Listen(w.network, address)
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

func (s *site) run() {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go func() {
		defer close(s.ended)
		s.failure = s.server.Run(ctx)
	}()
	s.t.Cleanup(func() { s.stop() })
}

// stop stops the server and waits until it has ended.
func (s *site) stop() {
	s.t.Helper()
	s.cancel()
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.t.Fatal("Run does not return")
	}
	if s.failure != nil {
		s.t.Errorf("Run: %v", s.failure)
	}
}

func (s *site) dial() (net.Conn, error) {
	if ln, ok := s.ln.(*memnet.Listener); ok {
		conn, err := ln.Dial()
		if err != nil {
			return nil, err
		}
		return conn, nil
	}
	return net.Dial(s.ln.Addr().Network(), s.ln.Addr().String())
}

// client connects.
func (s *site) client() *client {
	s.t.Helper()
	conn, err := s.dial()
	if err != nil {
		s.t.Fatal(err)
	}
	c := newClient(s.t, conn)
	s.t.Cleanup(func() { conn.Close() })
	return c
}

// client is one client of a server, whose methods fail the test if the server
// does not do as it should.
type client struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func newClient(t *testing.T, conn net.Conn) *client {
	return &client{t, conn, bufio.NewReader(conn)}
}

// send sends a text, which the server must take.
func (c *client) send(text string) {
	c.t.Helper()
	c.conn.SetWriteDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c.conn, text); err != nil {
		c.t.Fatalf("sending %.60q: %v", text, err)
	}
}

// push sends as much of a text as the server and the network take without
// delay.
func (c *client) push(text string) {
	c.conn.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
	io.WriteString(c.conn, text)
	c.conn.SetWriteDeadline(time.Time{})
}

// expect reads as many bytes as the text has and compares.
func (c *client) expect(want string) {
	c.t.Helper()
	got := make([]byte, len(want))
	c.conn.SetReadDeadline(time.Now().Add(patience))
	n, err := io.ReadFull(c.in, got)
	if string(got[:n]) != want {
		c.t.Fatalf("got %.300q (%v), want %.300q", got[:n], err, want)
	}
}

func (c *client) ask(command, want string) {
	c.t.Helper()
	c.send(command)
	c.expect(want)
}

// rest reads up to the end of the stream. That it is reset is an end too.
func (c *client) rest() string {
	c.t.Helper()
	c.conn.SetReadDeadline(time.Now().Add(patience))
	b, err := io.ReadAll(c.in)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("the server does not close the connection; got %.300q", b)
	}
	return string(b)
}

func (c *client) expectEnd() {
	c.t.Helper()
	if got := c.rest(); got != "" {
		c.t.Fatalf("got %.300q, want the end", got)
	}
}

// document asks for one and returns it.
func (c *client) document(command string) string {
	c.t.Helper()
	c.send(command + "\r\n")
	c.conn.SetReadDeadline(time.Now().Add(patience))
	head, err := c.in.ReadString('\n')
	size, ok := strings.CutPrefix(strings.TrimSpace(head), "OK ")
	n, bad := strconv.Atoi(size)
	if err != nil || !ok || bad != nil {
		c.t.Fatalf("%s: got %q, %v", command, head, err)
	}
	text := make([]byte, n+2)
	if _, err := io.ReadFull(c.in, text); err != nil {
		c.t.Fatal(err)
	}
	return string(text[:n])
}

// stat is a number in stats.
func (c *client) stat(name string) int {
	c.t.Helper()
	return number(c.t, c.document("stats"), name)
}

func number(t *testing.T, document, name string) int {
	t.Helper()
	_, rest, ok := strings.Cut(document, "\n"+name+": ")
	value, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(value)
	if !ok || err != nil {
		t.Fatalf("no number %s in\n%s", name, document)
	}
	return n
}

// until asks for stats until a number in it is as wanted.
func (c *client) until(name string, want int) {
	c.t.Helper()
	var got int
	for start := time.Now(); time.Since(start) < patience; {
		if got = c.stat(name); got == want {
			return
		}
		if c.bubbled() {
			synctest.Wait() // what else is to be done is done at once
			if got = c.stat(name); got == want {
				return
			}
			break
		}
	}
	c.t.Fatalf("%s is %d, want %d", name, got, want)
}

func (c *client) bubbled() bool {
	_, ok := c.conn.(*memnet.Conn)
	return ok
}

func (c *client) halfClose() {
	c.t.Helper()
	if err := c.conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		c.t.Fatal(err)
	}
}

// reset closes so that the server sees an error, where the network has that.
func (c *client) reset() {
	if tcp, ok := c.conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	c.conn.Close()
}

func put(body string) string { return fmt.Sprintf("put 0 0 60 %d\r\n%s\r\n", len(body), body) }

func insertions(from, to int) string {
	var b bytes.Buffer
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "INSERTED %d\r\n", i)
	}
	return b.String()
}
