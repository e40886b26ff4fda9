package clienttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/haricotq/haricot/client"
	"github.com/haricotq/haricot/internal/memnet"
)

// addressOf names the i-th server of a test, from 0.
func addressOf(i int) string {
	if i == 0 {
		return "clienttest"
	}
	return "clienttest" + strconv.Itoa(i+1)
}

// A Script is a server that expects what it was told and nothing else.
//
// Its text has a line for each line on the wire; both ends of the wire end theirs
// with CRLF, which is not written:
//
//	> put 1024 0 60 5        the client must send this next
//	> hello
//	< INSERTED 1             and is then sent this
//	cut                      the server closes the connection
//	eof                      the client must close it, or its sending side
//
// Escapes of Go's strings stand for other bytes. Lines that are empty or begin
// with # are left out, and so are blanks around a line.
//
// The text is one conversation. Each "cut" or "eof" ends a connection, and what
// follows happens on the next one.
type Script struct {
	tb     testing.TB
	mu     sync.Mutex
	steps  []step
	next   int
	conn   net.Conn // the one that is open, or nil
	failed bool     // a step has gone wrong
	wg     sync.WaitGroup
}

type step struct {
	line int    // in the text, from 1
	kind byte   // > < c e
	data []byte // with its CRLF
}

// NewScript reads a script, and fails the test if it is malformed. At the test's end
// it fails the test if a step is left over.
func NewScript(tb testing.TB, text string) *Script {
	tb.Helper()
	s := &Script{tb: tb}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		one, err := parseStep(line)
		if err != nil {
			tb.Fatalf("clienttest: line %d of the script: %v", number, err)
		}
		one.line = number
		s.steps = append(s.steps, one)
	}
	tb.Cleanup(s.finish)
	return s
}

func parseStep(line string) (step, error) {
	switch {
	case line == "cut":
		return step{kind: 'c'}, nil
	case line == "eof":
		return step{kind: 'e'}, nil
	case line[0] == '>' || line[0] == '<':
		quoted := strings.ReplaceAll(strings.TrimPrefix(line[1:], " "), `"`, `\"`)
		data, err := strconv.Unquote(`"` + quoted + `"`)
		if err != nil {
			return step{}, fmt.Errorf("%q: %w", line, err)
		}
		return step{kind: line[0], data: []byte(data + "\r\n")}, nil
	}
	return step{}, fmt.Errorf("%q begins with neither > nor <, and is neither cut nor eof", line)
}

// lastWait is how long the end of a test waits for a client that has not closed
// its connection.
const lastWait = 5 * time.Second

// finish waits for the last connection, and fails the test for what is left over.
func (s *Script) finish() {
	s.mu.Lock()
	if s.conn != nil {
		_ = s.conn.SetReadDeadline(time.Now().Add(lastWait))
	}
	s.mu.Unlock()
	s.wg.Wait()
	if s.next < len(s.steps) && !s.failed {
		s.tb.Errorf("clienttest: line %d of the script was not reached: %s", s.steps[s.next].line, s.steps[s.next])
	}
}

// String returns the step as it is in a text.
func (s step) String() string {
	switch s.kind {
	case 'c':
		return "cut"
	case 'e':
		return "eof"
	}
	return fmt.Sprintf("%c %q", s.kind, s.data)
}

// Dial begins, or goes on with, the conversation on a new connection. It is made
// for [client.Dialer]. While a connection is open, and when the script has
// ended, it fails, and so does the test.
func (s *Script) Dial(context.Context, string, string) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil || s.next == len(s.steps) {
		s.tb.Errorf("clienttest: the script expects no connection (%d of %d steps were played)", s.next, len(s.steps))
		return nil, errors.New("clienttest: the script expects no connection")
	}
	ln := memnet.Listen()
	near, err := ln.Dial()
	if err != nil {
		return nil, err
	}
	far, err := ln.Accept()
	if err != nil {
		return nil, err
	}
	s.conn = far
	s.wg.Go(func() { s.play(far) })
	return near, nil
}

// Conn returns a connection to the script that is closed when the test ends.
func (s *Script) Conn(tb testing.TB) *client.Conn {
	tb.Helper()
	conn, err := s.Dial(context.Background(), "", "")
	if err != nil {
		tb.Fatal(err)
	}
	c := client.NewConn(conn, addressOf(0))
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

// Pool returns a pool of this script as its only server that is closed when the test ends.
func (s *Script) Pool(tb testing.TB, config client.Config) *client.Pool {
	tb.Helper()
	config.Servers = []string{addressOf(0)}
	config.Dialer.Dial = s.Dial
	pool, err := client.NewPool(config)
	if err != nil {
		tb.Fatalf("clienttest: %v", err)
	}
	tb.Cleanup(func() { _ = pool.Close() })
	return pool
}

// play plays the steps of one connection.
func (s *Script) play(conn net.Conn) {
	defer func() {
		_ = conn.Close()
		s.mu.Lock()
		s.conn = nil
		s.mu.Unlock()
	}()
	for {
		s.mu.Lock()
		if s.next == len(s.steps) {
			s.mu.Unlock()
			s.nothingMore(conn)
			return
		}
		one := s.steps[s.next]
		s.mu.Unlock()
		if err := one.play(conn); err != nil {
			s.mu.Lock()
			s.failed = true
			s.mu.Unlock()
			s.tb.Errorf("clienttest: line %d of the script, %s: %v", one.line, one, err)
			return
		}
		s.mu.Lock()
		s.next++
		s.mu.Unlock()
		if one.kind == 'c' || one.kind == 'e' {
			return
		}
	}
}

// nothingMore waits for the client to close the connection.
func (s *Script) nothingMore(conn net.Conn) {
	rest, _ := io.ReadAll(conn)
	if len(rest) > 0 {
		s.tb.Errorf("clienttest: behind the end of the script the client sent %q", rest)
	}
}

func (s step) play(conn net.Conn) error {
	switch s.kind {
	case '<':
		_, err := conn.Write(s.data)
		return err
	case 'e':
		rest, err := io.ReadAll(conn)
		if len(rest) > 0 {
			return fmt.Errorf("the client sent %q", rest)
		}
		return err
	case 'c':
		return nil
	}
	got := make([]byte, len(s.data))
	n, err := io.ReadFull(conn, got)
	if n > 0 && !bytes.Equal(got[:n], s.data[:n]) {
		return fmt.Errorf("the client sent %q", got[:n])
	}
	return err
}
