package memnet

import (
	"net"
	"time"
)

// Conn is one end of a connection. Its methods may be called from any
// goroutine; one goroutine may read while another writes.
type Conn struct {
	in  *stream // written by the peer, read here
	out *stream // written here, read by the peer
}

var _ net.Conn = (*Conn)(nil)

// Read waits for at least one byte. When the peer has closed its writing side
// and everything was read it returns io.EOF; after Close, net.ErrClosed; after
// the read deadline, os.ErrDeadlineExceeded.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	return n, wrap("read", err)
}

// Write returns when all of p is in the peer's buffer. If the peer has closed
// the connection it returns syscall.EPIPE; after Close or CloseWrite,
// net.ErrClosed; after the write deadline, os.ErrDeadlineExceeded. n tells how
// many bytes went out before the error.
func (c *Conn) Write(p []byte) (n int, err error) {
	n, err = c.out.write(p)
	return n, wrap("write", err)
}

// Close closes both directions. The peer still reads what was written before.
func (c *Conn) Close() error {
	c.out.closeWriter()
	c.in.closeReader()
	return nil
}

// CloseWrite closes the direction written here: the peer reads what was
// written and then io.EOF. Reading goes on.
func (c *Conn) CloseWrite() error {
	c.out.closeWriter()
	return nil
}

// LocalAddr returns the address of the network in memory.
func (c *Conn) LocalAddr() net.Addr { return Addr{} }

// RemoteAddr returns the address of the network in memory.
func (c *Conn) RemoteAddr() net.Addr { return Addr{} }

// SetDeadline sets both deadlines; the zero time removes them.
func (c *Conn) SetDeadline(t time.Time) error {
	c.in.readBy.set(t)
	c.out.writeBy.set(t)
	return nil
}

// SetReadDeadline sets the time after which Read fails, a waiting one included;
// the zero time removes it.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.in.readBy.set(t)
	return nil
}

// SetWriteDeadline sets the time after which Write fails, a waiting one
// included; the zero time removes it.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.out.writeBy.set(t)
	return nil
}
