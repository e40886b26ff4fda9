// Package memnet is a stream network in memory, for tests.
//
// A [Listener] hands out connections as a TCP or unix listener would: they are
// buffered, each direction has a bounded buffer that blocks a writer whose peer
// does not read, and each direction can be closed by itself. Nothing here
// touches the operating system and every wait is on a [sync.Cond] or a channel,
// so in a testing/synctest bubble a goroutine waiting for the network is durably
// blocked and fake time can pass.
package memnet

import (
	"net"
	"sync"
)

// DefaultBuffer is the number of bytes that each direction of a connection
// holds before its writer blocks.
const DefaultBuffer = 64 << 10

// backlog is the number of dialled connections that wait for Accept before
// Dial blocks.
const backlog = 1024

// Addr is the address of everything in memory.
type Addr struct{}

// Network returns "memory".
func (Addr) Network() string { return "memory" }

// String returns "memory".
func (Addr) String() string { return "memory" }

// Listener is the server's end of the network. Its methods may be called from
// any goroutine.
type Listener struct {
	buffer int
	queue  chan *Conn
	closed chan struct{}
	once   sync.Once
}

var _ net.Listener = (*Listener)(nil)

// Listen returns a listener whose connections hold up to DefaultBuffer bytes in
// each direction.
func Listen() *Listener { return ListenBuffer(DefaultBuffer) }

// ListenBuffer returns a listener whose connections hold up to n bytes in each
// direction. It panics if n is not positive, as no byte could ever pass.
func ListenBuffer(n int) *Listener {
	if n <= 0 {
		panic("memnet: a buffer needs at least one byte")
	}
	return &Listener{
		buffer: n,
		queue:  make(chan *Conn, backlog),
		closed: make(chan struct{}),
	}
}

// Accept waits for the next connection. After Close it returns net.ErrClosed.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
		return nil, opError("accept", net.ErrClosed)
	default:
	}
	select {
	case c := <-l.queue:
		return c, nil
	case <-l.closed:
		return nil, opError("accept", net.ErrClosed)
	}
}

// Dial returns the client's end of a new connection, which Accept will hand to
// the server. After Close it returns net.ErrClosed.
func (l *Listener) Dial() (*Conn, error) {
	select {
	case <-l.closed:
		return nil, opError("dial", net.ErrClosed)
	default:
	}
	up, down := newStream(l.buffer), newStream(l.buffer)
	client := &Conn{in: down, out: up}
	server := &Conn{in: up, out: down}
	select {
	case l.queue <- server:
	case <-l.closed:
		return nil, opError("dial", net.ErrClosed)
	}
	select {
	case <-l.closed:
		// Close may have emptied the queue before this connection joined it.
		l.Close()
	default:
	}
	return client, nil
}

// Close ends Accept and Dial and closes connections nobody has accepted.
// Accepted connections live on. It may be called more than once.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	for {
		select {
		case c := <-l.queue:
			c.Close()
		default:
			return nil
		}
	}
}

// Addr returns the address of the network in memory.
func (l *Listener) Addr() net.Addr { return Addr{} }

func opError(op string, err error) error {
	return &net.OpError{Op: op, Net: "memory", Addr: Addr{}, Err: err}
}
