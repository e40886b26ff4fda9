package wire

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// server is what a server sends, whatever it is told, and a record of that.
type server struct {
	io.Reader
	told bytes.Buffer
}

func (s *server) Write(p []byte) (int, error) { return s.told.Write(p) }
func (s *server) Close() error                { return nil }

func serving(replies string) (*Conn, *server) {
	s := &server{Reader: strings.NewReader(replies)}
	return New(s), s
}

func TestReplies(t *testing.T) {
	c, _ := serving("INSERTED 18446744073709551615\r\nRESERVED 7 4\r\n\r\n\r\n\r\nFOUND 8 0\r\n\r\nOK 6\r\n---\na\n\r\nUSING 12\r\nTIMED_OUT\r\n")
	want := []Reply{
		{Word: "INSERTED", Text: "18446744073709551615", Numbers: []uint64{1<<64 - 1}},
		{Word: "RESERVED", Text: "7 4", Numbers: []uint64{7}, Data: []byte("\r\n\r\n")},
		{Word: "FOUND", Text: "8 0", Numbers: []uint64{8}, Data: []byte{}},
		{Word: "OK", Text: "6", Numbers: []uint64{}, Data: []byte("---\na\n")},
		{Word: "USING", Text: "12", Numbers: []uint64{12}},
		{Word: "TIMED_OUT"},
	}
	for _, w := range want {
		got, err := c.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(w, got); diff != "" {
			t.Error(diff)
		}
	}
	if _, err := c.Receive(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("after the last reply: %v", err)
	}
	if id := want[0].ID(); id != 1<<64-1 {
		t.Errorf("id %d", id)
	}
	if got := (Reply{Word: "TIMED_OUT"}).ID(); got != 0 {
		t.Errorf("id %d of a reply without one", got)
	}
}

func TestNoReplies(t *testing.T) {
	for _, text := range []string{"HELLO\n", "OK\r\n", "OK 99999999999\r\n", "FOUND 1 3\r\nabcdef"} {
		c, _ := serving(text)
		if r, err := c.Receive(); !errors.Is(err, ErrReply) {
			t.Errorf("%q: %v, %v", text, r, err)
		}
	}
	for _, text := range []string{"", "OK 5\r\nab", "INSER"} {
		c, _ := serving(text)
		if r, err := c.Receive(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q: %v, %v", text, r, err)
		}
	}
}

// TestPipelined: commands wait until a reply is asked for.
func TestPipelined(t *testing.T) {
	c, s := serving("USING x\r\nINSERTED 1\r\n")
	c.Send("use %s", "x")
	c.Put(1<<32-1, 2, 3, []byte("a\r\nb"))
	if s.told.Len() > 0 {
		t.Errorf("sent already: %q", &s.told)
	}
	for range 2 {
		if _, err := c.Receive(); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := s.told.String(), "use x\r\nput 4294967295 2 3 4\r\na\r\nb\r\n"; got != want {
		t.Errorf("sent %q, want %q", got, want)
	}
}

func TestDocuments(t *testing.T) {
	fields := Stats([]byte("---\nid: 1\ntube: \"1e3\"\nversion: \"1.12\"\nos: #1 SMP: x\n"))
	if diff := cmp.Diff(map[string]string{"id": "1", "tube": "1e3", "version": "1.12", "os": "#1 SMP: x"}, fields); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"default", "123", "a-b"}, List([]byte("---\n- default\n- \"123\"\n- a-b\n"))); diff != "" {
		t.Error(diff)
	}
}
