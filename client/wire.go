package client

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strconv"

	"github.com/haricotq/haricot/internal/protocol"
)

// largeBody is the size in bytes from which a body is not copied to stand with
// its command, but handed to the system where it is.
const largeBody = 8 << 10

// keptBuffer is the size in bytes up to which a write buffer is kept.
const keptBuffer = 64 << 10

// split is a place in the write buffer before which a large body goes out.
type split struct {
	at   int
	body []byte
}

// send writes all requests at once. begun tells whether any byte went out.
func (c *Conn) send(qs []request) (begun bool, err error) {
	c.out, c.splits = c.out[:0], c.splits[:0]
	for i := range qs {
		q := &qs[i]
		c.out = q.appendLine(c.out)
		if q.verb != protocol.Put {
			continue
		}
		if len(q.body) < largeBody {
			c.out = append(c.out, q.body...)
		} else {
			c.splits = append(c.splits, split{len(c.out), q.body})
		}
		c.out = append(c.out, "\r\n"...)
	}
	var n int64
	if len(c.splits) == 0 {
		var written int
		written, err = c.nc.Write(c.out)
		n = int64(written)
	} else {
		parts := make(net.Buffers, 0, 2*len(c.splits)+1)
		from := 0
		for _, s := range c.splits {
			parts = append(parts, c.out[from:s.at], s.body)
			from = s.at
		}
		parts = append(parts, c.out[from:])
		n, err = parts.WriteTo(c.nc)
		clear(c.splits)
	}
	if cap(c.out) > keptBuffer {
		c.out = nil
	}
	return n > 0, err
}

// words finds a reply's word.
var words = func() map[string]protocol.Word {
	m := make(map[string]protocol.Word)
	for _, w := range protocol.Words() {
		m[w.String()] = w
	}
	return m
}()

// receive reads the reply to one request.
func (c *Conn) receive(q *request) error {
	line, err := readLine(c.in)
	if err != nil {
		return err
	}
	first, rest, _ := bytes.Cut(line, []byte(" "))
	q.reply = reply{word: words[string(first)]}
	switch q.reply.word {
	case 0:
		return fmt.Errorf("%w: %.60q", ErrProtocol, line)
	case protocol.Inserted, protocol.Watching:
		q.reply.number, err = number(rest)
	case protocol.Kicked, protocol.Buried:
		if len(rest) > 0 { // both words are also said without a number
			q.reply.number, err = number(rest)
		}
	case protocol.Using:
		q.reply.text = string(rest)
	case protocol.Reserved, protocol.Found:
		id, size, _ := bytes.Cut(rest, []byte(" "))
		if q.reply.number, err = number(id); err == nil {
			q.reply.data, err = c.readSized(size)
		}
	case protocol.OK:
		q.reply.data, err = c.readSized(rest)
	}
	if err == nil {
		q.answered = true
		c.note(q)
	}
	return err
}

// readLine reads up to CRLF, which it cuts off. The line is valid until the next
// read.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("%w: a line without an end", ErrProtocol)
	case err != nil && len(line) > 0 && errors.Is(err, io.EOF):
		return nil, io.ErrUnexpectedEOF
	case err != nil:
		return nil, err
	case len(line) < 2 || line[len(line)-2] != '\r':
		return nil, fmt.Errorf("%w: %.60q", ErrProtocol, line)
	}
	return line[:len(line)-2], nil
}

// readSized reads a body and the CRLF behind it into memory of its own.
func (c *Conn) readSized(size []byte) ([]byte, error) {
	n, err := number(size)
	if err != nil {
		return nil, err
	}
	if n > math.MaxUint32 {
		return nil, fmt.Errorf("%w: a body of %d bytes", ErrProtocol, n)
	}
	data, err := readBody(c.in, int(n)+2)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	if data[n] != '\r' || data[n+1] != '\n' {
		return nil, fmt.Errorf("%w: no end behind a body", ErrProtocol)
	}
	return data[:n:n], nil
}

// trusted is how many bytes are allocated because a server says that they will
// come. Beyond, memory grows as they do come.
const trusted = 1 << 20

func readBody(r io.Reader, n int) ([]byte, error) {
	if n <= trusted {
		data := make([]byte, n)
		_, err := io.ReadFull(r, data)
		return data, err
	}
	var grown bytes.Buffer
	grown.Grow(trusted)
	if _, err := io.CopyN(&grown, r, int64(n)); err != nil {
		return nil, err
	}
	return grown.Bytes(), nil
}

func number(text []byte) (uint64, error) {
	n, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %.60q where a number should be", ErrProtocol, text)
	}
	return n, nil
}
