// Package wire is the client's side of the protocol, as far as the program's own
// commands need it: commands out, as many as one likes before the first reply,
// and replies in, in their order. It works with every server that speaks the
// protocol, and knows no sockets.
package wire

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/haricotq/haricot/internal/protocol"
)

// ErrReply says that the server has sent something that is no reply.
var ErrReply = errors.New("wire: the server sent something that is not a reply of the beanstalk protocol")

// Conn is a connection to a server. It belongs to one goroutine.
type Conn struct {
	conn io.ReadWriteCloser
	in   *bufio.Reader
	out  *bufio.Writer
}

// New makes a Conn of an open connection and takes it over.
func New(conn io.ReadWriteCloser) *Conn {
	return &Conn{conn, bufio.NewReaderSize(conn, 64<<10), bufio.NewWriterSize(conn, 64<<10)}
}

// Close closes the connection. Jobs reserved by it are ready again then.
func (c *Conn) Close() error { return c.conn.Close() }

// Send sends a command, without its CRLF. It may wait in the buffer until the next
// Receive, which also tells of errors.
func (c *Conn) Send(format string, args ...any) {
	fmt.Fprintf(c.out, format, args...) // the buffer keeps the error for Flush
	c.out.WriteString("\r\n")           //nolint:errcheck // likewise
}

// Put sends a put. Times are in whole seconds.
func (c *Conn) Put(priority protocol.Priority, delay, ttr uint64, body []byte) {
	c.Send("put %d %d %d %d", priority, delay, ttr, len(body))
	c.out.Write(body)         //nolint:errcheck // the buffer keeps the error for Flush
	c.out.WriteString("\r\n") //nolint:errcheck // likewise
}

// Reply is a reply.
type Reply struct {
	Word string
	// Numbers are what follows the word, the size of Data apart.
	Numbers []uint64
	// Text is what follows the word, as it stands.
	Text string
	// Data is a job's body, or statistics.
	Data []byte
}

// ID is the reply's first number, which is the job's id where there is one.
func (r Reply) ID() protocol.JobID {
	if len(r.Numbers) == 0 {
		return 0
	}
	return protocol.JobID(r.Numbers[0])
}

// String is the reply without its data.
func (r Reply) String() string { return strings.TrimSpace(r.Word + " " + r.Text) }

// Receive sends what waits in the buffer and reads the next reply.
func (c *Conn) Receive() (Reply, error) {
	if c.out.Buffered() > 0 {
		if err := c.out.Flush(); err != nil {
			return Reply{}, fmt.Errorf("wire: sending a command: %w", err)
		}
	}
	line, err := c.in.ReadString('\n')
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // A reply was due.
		}
		return Reply{}, fmt.Errorf("wire: reading a reply: %w", err)
	}
	text, ok := strings.CutSuffix(line, "\r\n")
	if !ok {
		return Reply{}, fmt.Errorf("%w: %.80q", ErrReply, line)
	}
	var r Reply
	r.Word, r.Text, _ = strings.Cut(text, " ")
	for _, field := range strings.Fields(r.Text) {
		if n, err := strconv.ParseUint(field, 10, 64); err == nil {
			r.Numbers = append(r.Numbers, n)
		}
	}
	switch r.Word {
	case "RESERVED", "FOUND", "OK":
		return r, c.data(&r)
	}
	return r, nil
}

// data reads what comes behind a reply's line.
func (c *Conn) data(r *Reply) error {
	last := len(r.Numbers) - 1
	if last < 0 || r.Numbers[last] > 1<<31 {
		return fmt.Errorf("%w: %.80q", ErrReply, r.String())
	}
	p := make([]byte, r.Numbers[last]+2)
	if _, err := io.ReadFull(c.in, p); err != nil {
		return fmt.Errorf("wire: reading the data of a reply: %w", err)
	}
	r.Numbers, r.Data = r.Numbers[:last], p[:len(p)-2]
	if string(p[len(p)-2:]) != "\r\n" {
		return fmt.Errorf("%w: %.80q has more data than it says", ErrReply, r.String())
	}
	return nil
}

// Ask sends a command and reads its reply. Replies to earlier commands must have
// been read.
func (c *Conn) Ask(format string, args ...any) (Reply, error) {
	c.Send(format, args...)
	return c.Receive()
}

// Stats reads the data of stats, stats-job and stats-tube.
func Stats(data []byte) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); ok {
			fields[key] = plain(value)
		}
	}
	return fields
}

// List reads the data of list-tubes.
func List(data []byte) []string {
	var items []string
	for line := range strings.Lines(string(data)) {
		if item, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "- "); ok {
			items = append(items, plain(item))
		}
	}
	return items
}

// plain takes the quotes from a scalar.
func plain(value string) string {
	if text, err := strconv.Unquote(value); err == nil {
		return text
	}
	return value
}
