package docs_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience bounds every wait for a server. It only ends a test that has failed already.
const patience = 20 * time.Second

// A stage plays one example against one server: it owns the connections that the example names.
type stage struct {
	t       *testing.T
	e       example
	srv     instance
	conns   map[string]*wire
	waiting map[string]bool
	puts    int   // lines of put sent so far
	control *wire // opened for the first step that has to look inside the server
}

func newStage(t *testing.T, e example, srv instance) *stage {
	return &stage{t: t, e: e, srv: srv, conns: map[string]*wire{}, waiting: map[string]bool{}}
}

func (s *stage) play() {
	skip := map[string]bool{}
	for _, st := range s.e.steps {
		var err error
		switch st.kind {
		case stepSend:
			if strings.HasPrefix(st.text, "put ") {
				s.puts++
			}
			_, err = io.WriteString(s.conn(st.conn), st.text)
		case stepSkip:
			skip[st.conn] = true
		case stepExpect:
			delete(s.waiting, st.conn)
			err = s.conn(st.conn).expect(st.text, skip[st.conn])
			delete(skip, st.conn)
		case stepAct:
			err = s.act(st.conn, st.text)
		}
		if err != nil {
			s.t.Fatalf("%s:%d: %s: %v", s.e.file, st.line, st.conn, err)
		}
	}
	s.end()
}

// end holds the example to its word: nothing may have been sent that it does not show.
func (s *stage) end() {
	for name := range s.waiting {
		s.t.Errorf("%s:%d: %s is left waiting", s.e.file, s.e.line, name)
	}
	for name, w := range s.conns {
		if w.closed {
			continue
		}
		if err := w.halfClose(); err != nil {
			s.t.Errorf("%s:%d: %s: %v", s.e.file, s.e.line, name, err)
			continue
		}
		if err := w.expectClosed(); err != nil {
			s.t.Errorf("%s:%d: %s: %v", s.e.file, s.e.line, name, err)
		}
	}
}

func (s *stage) conn(name string) *wire {
	w := s.conns[name]
	if w == nil {
		w = dialWire(s.t, s.srv)
		s.conns[name] = w
	}
	return w
}

func (s *stage) act(who, what string) error {
	switch who + " " + what {
	case "server drains":
		if err := s.until("draining", "false"); err != nil { // a process must have come as far as to handle signals
			return err
		}
		s.srv.drain(true)
		return s.until("draining", "true")
	case "server ends draining":
		s.srv.drain(false)
		return s.until("draining", "false")
	case "server stops":
		s.srv.stop()
		return nil
	}
	switch what {
	case "waits":
		s.waiting[who] = true
		return s.until("current-waiting", strconv.Itoa(len(s.waiting)))
	case "is half received":
		return s.until("cmd-put", strconv.Itoa(s.puts))
	case "closes":
		delete(s.waiting, who)
		w := s.conn(who)
		w.closed = true
		return w.Close()
	case "half-closes":
		return s.conn(who).halfClose()
	case "is closed":
		w := s.conn(who)
		w.closed = true
		return w.expectClosed()
	}
	return fmt.Errorf("unknown act %q", what)
}

// until asks for the server's statistics until the field has the value: there is no other way to know that a connection waits.
func (s *stage) until(field, value string) error {
	if s.control == nil {
		s.control = dialWire(s.t, s.srv)
	}
	last := ""
	for end := time.Now().Add(patience); time.Now().Before(end); {
		fields, err := s.control.stats("stats")
		if err != nil {
			return err
		}
		for _, f := range fields {
			if f.key == field {
				last = f.value
			}
		}
		if last == value {
			return nil
		}
	}
	return fmt.Errorf("%s stayed %s, want %s", field, last, value)
}

// A wire is one connection whose replies are read whole, lengths and line ends checked, and handed out line by line.
type wire struct {
	net.Conn
	in     *bufio.Reader
	lines  []string
	closed bool
}

func dialWire(t *testing.T, srv instance) *wire {
	t.Helper()
	c, err := net.Dial(srv.network, srv.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // an example may have closed it
	return &wire{Conn: c, in: bufio.NewReader(c)}
}

func (w *wire) halfClose() error {
	return w.Conn.(interface{ CloseWrite() error }).CloseWrite()
}

func (w *wire) expect(want string, skip bool) error {
	var seen []string
	for {
		got, err := w.next()
		switch {
		case err != nil && len(seen) > 0:
			return fmt.Errorf("want %q, got %q, then %w", want, seen, err)
		case err != nil:
			return fmt.Errorf("want %q: %w", want, err)
		case matches(want, got):
			return nil
		case !skip:
			return fmt.Errorf("want %q, got %q", want, got)
		}
		seen = append(seen, got)
	}
}

func (w *wire) expectClosed() error {
	if len(w.lines) > 0 {
		return fmt.Errorf("lines nobody expected: %q", w.lines)
	}
	if err := w.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	rest, err := io.ReadAll(w.in)
	if len(rest) > 0 {
		return fmt.Errorf("bytes nobody expected: %q", rest)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("still open: %w", err)
	}
	return nil // a reset closes as well as an end of file does
}

func (w *wire) next() (string, error) {
	if len(w.lines) == 0 {
		lines, err := w.reply()
		if err != nil {
			return "", err
		}
		w.lines = lines
	}
	line := w.lines[0]
	w.lines = w.lines[1:]
	return line, nil
}

// reply reads one whole reply and returns its first line and the lines of its body.
func (w *wire) reply() ([]string, error) {
	if err := w.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	line, err := w.in.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", line, err)
	}
	first, ok := strings.CutSuffix(line, "\r\n")
	if !ok {
		return nil, fmt.Errorf("reply %q does not end in CRLF", line)
	}
	words := strings.Fields(first)
	size := -1
	switch {
	case len(words) == 2 && words[0] == "OK":
		size, err = strconv.Atoi(words[1])
	case len(words) == 3 && (words[0] == "RESERVED" || words[0] == "FOUND"):
		size, err = strconv.Atoi(words[2])
	}
	if err != nil || size < 0 {
		return []string{first}, err
	}
	body := make([]byte, size+2)
	if _, err := io.ReadFull(w.in, body); err != nil {
		return nil, fmt.Errorf("body of %q: %w", first, err)
	}
	text, ok := strings.CutSuffix(string(body), "\r\n")
	if !ok {
		return nil, fmt.Errorf("the body of %q does not end in CRLF: %q", first, body)
	}
	if words[0] != "OK" {
		return []string{first, text}, nil
	}
	text, ok = strings.CutSuffix(text, "\n")
	if !ok {
		return nil, fmt.Errorf("the last line of %q has no end: %q", first, text)
	}
	return append([]string{first}, strings.Split(text, "\n")...), nil
}

// A field is one line of a statistics reply.
type field struct{ key, value string }

// stats sends a statistics command and returns the fields in the server's order.
func (w *wire) stats(command string) ([]field, error) {
	lines, err := w.ask(command)
	if err != nil {
		return nil, err
	}
	if len(lines) < 2 || lines[1] != "---" {
		return nil, fmt.Errorf("%s: %q is no dictionary", command, lines)
	}
	var all []field
	for _, line := range lines[2:] {
		key, value, ok := strings.Cut(line, ": ")
		if !ok {
			return nil, fmt.Errorf("%s: no field: %q", command, line)
		}
		all = append(all, field{key, value})
	}
	return all, nil
}

// ask sends one command, of which the text may hold the body of a put, and returns the lines of its reply.
func (w *wire) ask(command string) ([]string, error) {
	if _, err := io.WriteString(w, command+"\r\n"); err != nil {
		return nil, err
	}
	return w.reply()
}
