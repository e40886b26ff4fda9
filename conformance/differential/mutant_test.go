//go:build linux

package differential

import (
	"bytes"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// A mutant is a wrong server: the reference behind a proxy that changes what passes. It shows that the lockstep sees differences.
type mutant struct {
	contestant
	at     address
	ln     net.Listener
	change func(toServer bool, p []byte) []byte
	active sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn // everything to close at the end
}

func mutate(start starter, change func(toServer bool, p []byte) []byte) starter {
	return func(maxJobSize int) (contestant, error) {
		srv, err := start(maxJobSize)
		if err != nil {
			return nil, err
		}
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			srv.stop()
			return nil, err
		}
		m := &mutant{contestant: srv, ln: ln, at: address{port: ln.Addr().(*net.TCPAddr).Port}, change: change}
		m.active.Go(m.accept)
		return m, nil
	}
}

func (m *mutant) connect() (*link, error) { return connect(m.at) }

func (m *mutant) stop() {
	_ = m.ln.Close()
	m.contestant.stop()
	m.mu.Lock()
	for _, c := range m.conns {
		_ = c.Close()
	}
	m.mu.Unlock()
	m.active.Wait()
}

func (m *mutant) accept() {
	for {
		front, err := m.ln.Accept()
		if err != nil {
			return
		}
		back, err := m.contestant.connect()
		if err != nil {
			_ = front.Close()
			return
		}
		m.forward(front.(*net.TCPConn), back)
	}
}

// forward couples a client's connection with one to the reference, both ways; each direction ends on its own.
func (m *mutant) forward(front *net.TCPConn, back *link) {
	file := back.file()
	conn, err := net.FileConn(file)
	_ = file.Close()
	if err != nil {
		_ = front.Close()
		return
	}
	m.mu.Lock()
	m.conns = append(m.conns, front, conn)
	m.mu.Unlock()
	pass := func(to, from *net.TCPConn, toServer bool) {
		block := make([]byte, 128<<10)
		for {
			n, err := from.Read(block)
			if _, errWrite := to.Write(m.change(toServer, bytes.Clone(block[:n]))); errWrite != nil {
				return
			}
			if err != nil && toServer {
				_ = to.CloseWrite() // A half-close goes on to the server.
			}
			if err != nil && !toServer {
				_ = to.Close()
			}
			if err != nil {
				return
			}
		}
	}
	m.active.Go(func() { pass(conn.(*net.TCPConn), front, true) })
	m.active.Go(func() { pass(front, conn.(*net.TCPConn), false) })
}

func onWay(toServer bool, from, to string) func(bool, []byte) []byte {
	return func(way bool, p []byte) []byte {
		if way != toServer {
			return p
		}
		return bytes.ReplaceAll(p, []byte(from), []byte(to))
	}
}

// TestMutantsAreFound: each of these wrong servers is found out, and the session that does it can be shrunk and played again.
func TestMutantsAreFound(t *testing.T) {
	reference := program(oracle(t), "tcp", t.TempDir(), true)
	halved := func(maxJobSize int) (contestant, error) { return reference(max(maxJobSize/2, 1) + 7) }
	for _, m := range []struct {
		name   string
		tested starter
		// shows is in the text of the mismatch. It is empty for changes that show in one way or another, depending on how the text
		// was cut into packets; these are also not sure to show when the session is played again.
		shows string
	}{
		{"another word", mutate(reference, onWay(false, "BURIED\r\n", "BURRIED\r\n")), "BURRIED"},
		{"a key missing", mutate(reference, onWay(false, "\npause: 0\n", "\n")), "OK "},
		{"one reply too many", mutate(reference, onWay(false, "TOUCHED\r\n", "TOUCHED\r\nTOUCHED\r\n")), "TOUCHED"},
		{"a reply never sent", mutate(reference, onWay(false, "KICKED 1\r\n", "")), "KICKED"},
		{"another limit", halved, "max-job-size"},
		{"a job kicked too few", mutate(reference, onWay(true, "kick 10\r\n", "kick 1\r\n")), ""},
		{"another priority", mutate(reference, onWay(true, "put 1024 ", "put 1025 ")), ""},
		{"another tube paused", mutate(reference, onWay(true, "pause-tube a ", "pause-tube b ")), ""},
	} {
		t.Run(m.name, func(t *testing.T) {
			e := newEpisode(1, 3, 2500, reference, m.tested)
			e.patience = 500 * time.Millisecond
			err := e.run(2500)
			var found *mismatch
			if !errors.As(err, &found) {
				t.Fatalf("after %d steps the answer was %v, not a mismatch", len(e.taken), err)
			}
			if !strings.Contains(found.text, m.shows) {
				t.Errorf("the mismatch does not show %q: %s", m.shows, found.text)
			}
			if m.shows == "" {
				return
			}
			short := e.shrink(e.taken, found.late, 2*time.Second)
			if _, err := e.replay(short, time.Second); !errors.As(err, &found) {
				t.Errorf("the shrunk session shows %v, not a mismatch:\n%v", err, short)
			}
		})
	}
}

// TestProxyChangesNothing: what the mutants are made with is not what makes them differ.
func TestProxyChangesNothing(t *testing.T) {
	reference := program(oracle(t), "tcp", t.TempDir(), true)
	e := newEpisode(1, 3, 2500, reference, mutate(reference, onWay(true, "", "")))
	if err := e.run(1000); err != nil {
		t.Fatal(e.report(err, 10*time.Second))
	}
}
