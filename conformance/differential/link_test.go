//go:build linux

package differential

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// A reply is one whole answer of a server: its line without CRLF, and the body if the line announces one.
type reply struct {
	line    string
	body    []byte
	hasBody bool
}

// A link is one client connection to one server. It never blocks, so that one goroutine can look at all connections of both
// servers; what has arrived waits in input until the lockstep takes it reply by reply.
type link struct {
	fd    int
	input []byte
	ended bool // the server has closed its side
}

// connect opens a link to a server; a TCP link sends its pieces at once.
func connect(a address) (*link, error) {
	fd, err := unix.Socket(a.family(), unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	if err := unix.Connect(fd, a.sockaddr()); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("connect %s: %w", a, err)
	}
	if a.family() == unix.AF_INET {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
			_ = unix.Close(fd)
			return nil, fmt.Errorf("nodelay: %w", err)
		}
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("nonblock: %w", err)
	}
	return &link{fd: fd}, nil
}

// write sends all of p. A server that has closed the connection takes nothing more: that is no fault here, since the end of
// the stream is compared like any other answer.
func (l *link) write(p []byte) error {
	for patience := 0; len(p) > 0; {
		n, err := unix.Write(l.fd, p)
		switch {
		case err == nil:
			p = p[n:]
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EPIPE), errors.Is(err, unix.ECONNRESET):
			return nil
		case errors.Is(err, unix.EAGAIN) && patience < 100:
			patience++
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLOUT}}, 100)
		default:
			return fmt.Errorf("write: %w", err)
		}
	}
	return nil
}

// drain takes in whatever has arrived.
func (l *link) drain() error {
	var block [16 << 10]byte
	for !l.ended {
		n, err := unix.Read(l.fd, block[:])
		switch {
		case err == nil && n > 0:
			l.input = append(l.input, block[:n]...)
			if n < len(block) {
				return nil
			}
		case err == nil, errors.Is(err, unix.ECONNRESET), errors.Is(err, unix.EPIPE):
			l.ended = true
		case errors.Is(err, unix.EAGAIN):
			return nil
		case errors.Is(err, unix.EINTR):
		default:
			return fmt.Errorf("read: %w", err)
		}
	}
	return nil
}

// next is the first whole reply that has arrived and the number of bytes it takes, or false.
func (l *link) next() (reply, int, bool) {
	end := bytes.Index(l.input, []byte("\r\n"))
	if end < 0 {
		return reply{}, 0, false
	}
	r := reply{line: string(l.input[:end])}
	size, ok := bodySize(r.line)
	if !ok {
		return r, end + 2, true
	}
	total := end + 2 + size + 2
	if len(l.input) < total {
		return reply{}, 0, false
	}
	r.hasBody = true
	r.body = bytes.Clone(l.input[end+2 : total-2])
	if !bytes.Equal(l.input[total-2:total], []byte("\r\n")) {
		r.line += " (body not followed by CRLF)"
	}
	return r, total, true
}

func (l *link) take(n int) { l.input = l.input[n:] }

// bodySize is the number that a line which announces a body ends in.
func bodySize(line string) (int, bool) {
	words := bytes.Split([]byte(line), []byte(" "))
	switch string(words[0]) {
	case "OK", "RESERVED", "FOUND":
		n, err := strconv.Atoi(string(words[len(words)-1]))
		return n, err == nil && n >= 0 && len(words) > 1
	}
	return 0, false
}

// ask sends one command on a link that has nothing outstanding and waits for its answer.
func (l *link) ask(command string, patience time.Duration) (reply, error) {
	if err := l.write([]byte(command)); err != nil {
		return reply{}, err
	}
	for start := time.Now(); ; {
		if err := l.drain(); err != nil {
			return reply{}, err
		}
		if r, n, ok := l.next(); ok {
			l.take(n)
			return r, nil
		}
		if l.ended {
			return reply{}, fmt.Errorf("connection closed instead of an answer to %q", command)
		}
		if time.Since(start) > patience {
			return reply{}, fmt.Errorf("no answer to %q within %v", command, patience)
		}
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}}, 10)
	}
}

func (l *link) halfClose() { _ = unix.Shutdown(l.fd, unix.SHUT_WR) }

func (l *link) close() { _ = unix.Close(l.fd) }

// file gives the connection away.
func (l *link) file() *os.File { return os.NewFile(uintptr(l.fd), "link") }
