package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// client is a connection to the server under load. Its socket does not block, and is registered once, for edges.
type client struct {
	driver *driver
	role   role
	fd     int

	out    []byte // commands to send, of which sent bytes are sent
	sent   int
	queued int  // commands in out that no attempt to send has been made of
	dirty  bool // in driver.dirty
	// due is since when the commands in out should have been under way, if that is earlier than when they are sent; 0 is not.
	due time.Duration

	// waiting are the commands that are not answered, the oldest first, in groups that were sent together. Those before head are
	// answered.
	waiting []group
	head    int
	kept    []byte // a reply that has not arrived whole
}

// group is a number of commands sent at a moment.
type group struct {
	commands int
	at       time.Duration
}

// dial connects. The socket is made by package net, which knows all forms of addresses, and then taken from it.
func dial(ctx context.Context, address string) (fd int, err error) {
	network, path := "tcp", address
	if len(address) > 5 && address[:5] == "unix:" {
		network, path = "unix", address[5:]
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, path)
	if err != nil {
		return -1, err
	}
	defer conn.Close() // its descriptor is taken over
	holder, ok := conn.(interface{ File() (*os.File, error) })
	if !ok {
		return -1, fmt.Errorf("a connection of type %T has no descriptor", conn)
	}
	file, err := holder.File()
	if err != nil {
		return -1, err
	}
	defer file.Close() // as above
	fd, err = unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("keeping a connection: %w", err)
	}
	return fd, unix.SetNonblock(fd, true)
}

// receive reads what has arrived, lets the role react to each reply, and sends what follows.
func (c *client) receive() error {
	for {
		buffer := c.driver.buffer
		n := copy(buffer, c.kept)
		got, err := readSocket(c.fd, buffer[n:])
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case err != nil:
			return fmt.Errorf("load: reading from the server: %w", err)
		case got == 0:
			return fmt.Errorf("load: the server closed a connection: %w", io.ErrUnexpectedEOF)
		}
		if err := c.digest(buffer[:n+got], c.driver.clock()); err != nil {
			return err
		}
		if err := c.flush(); err != nil {
			return err
		}
		// Less than there was room for means that nothing is left: what comes next brings an event.
		if n+got < len(buffer) {
			return nil
		}
	}
}

// digest deals with all whole replies of the input, which arrived at a moment, and keeps the rest.
func (c *client) digest(input []byte, now time.Duration) error {
	d := c.driver
	for {
		used, err := d.reply.scan(input)
		if err != nil {
			return err
		}
		if used == 0 {
			break
		}
		sent, ok := c.answered()
		if !ok {
			return fmt.Errorf("%w: a reply without a command: %q", ErrReply, input[:used])
		}
		d.tally[d.reply.kind].Record(now - sent)
		if err := c.role.react(c, &d.reply); err != nil {
			return err
		}
		input = input[used:]
	}
	if len(input) == len(d.buffer) {
		return d.grow(c, input)
	}
	c.kept = append(c.kept[:0], input...)
	return nil
}

// answered takes the oldest unanswered command off the list and returns when it was sent.
func (c *client) answered() (sent time.Duration, ok bool) {
	if c.head == len(c.waiting) {
		return 0, false
	}
	g := &c.waiting[c.head]
	sent = g.at
	if g.commands--; g.commands == 0 {
		c.head++
		if c.head == len(c.waiting) {
			c.waiting, c.head = c.waiting[:0], 0
		} else if c.head >= 64 {
			c.waiting = c.waiting[:copy(c.waiting, c.waiting[c.head:])]
			c.head = 0
		}
	}
	return sent, true
}

// flushLater has what other clients' replies made this one say sent in one go.
func (c *client) flushLater() {
	if !c.dirty {
		c.dirty = true
		c.driver.dirty = append(c.driver.dirty, c)
	}
}

// flush sends what the socket takes; the rest goes when it takes more.
func (c *client) flush() error {
	if c.queued > 0 {
		at := c.driver.clock()
		if c.due != 0 {
			at, c.due = c.due, 0
		}
		c.waiting = append(c.waiting, group{c.queued, at})
		c.queued = 0
	}
	for c.sent < len(c.out) {
		n, err := writeSocket(c.fd, c.out[c.sent:])
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case err != nil:
			return fmt.Errorf("load: writing to the server: %w", err)
		}
		c.sent += n
	}
	c.out, c.sent = c.out[:0], 0
	return nil
}

// The calls below go past Go's scheduler: they cannot block, and telling it would cost more than they do.

func readSocket(fd int, p []byte) (int, error) {
	return socketCall(unix.SYS_READ, fd, p)
}

func writeSocket(fd int, p []byte) (int, error) {
	return socketCall(unix.SYS_WRITE, fd, p)
}

func socketCall(number uintptr, fd int, p []byte) (int, error) {
	for {
		n, _, errno := unix.RawSyscall(number, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
		case unix.EAGAIN:
			return 0, unix.EAGAIN // without making an error value of it
		default:
			return 0, errno
		}
	}
}
