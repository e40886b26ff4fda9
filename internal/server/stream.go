package server

import (
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/haricotq/haricot/internal/engine"
)

// accept takes connections from a listener until it is closed.
func (l *loop) accept(ln net.Listener) {
	backOff := minBackOff
	for {
		conn, err := ln.Accept()
		switch {
		case err == nil:
			backOff = minBackOff
			if !l.post(func() { l.open(conn) }) {
				_ = conn.Close()
			}
		case errors.Is(err, net.ErrClosed):
			return
		default:
			l.logger.Warn("cannot accept a connection, trying again", "error", err, "after", backOff)
			select {
			case <-time.After(backOff):
			case <-l.accepted:
				return
			}
			backOff = min(2*backOff, maxBackOff)
		}
	}
}

// After a failed accept, new connections are left alone for a while. Those that
// wait in the listener's queue are served when it succeeds again.
const (
	minBackOff = 10 * time.Millisecond
	maxBackOff = time.Second
)

// open starts to serve a connection.
func (l *loop) open(conn net.Conn) {
	if l.stopping {
		_ = conn.Close()
		return
	}
	s := &stream{
		loop: l,
		conn: conn,
		more: make(chan struct{}, 1),
		out:  make(chan []byte, 1),
	}
	s.session = l.engine.Open(s)
	if l.streams == nil {
		l.streams = make(map[*stream]struct{})
	}
	l.streams[s] = struct{}{}
	l.logger.Debug("connection opened", "peer", peerName(conn.RemoteAddr()))
	l.wg.Go(s.read)
	l.wg.Go(s.write)
}

// stream is a connection served by two goroutines: one reads and hands the
// bytes to the loop, and reads on when the loop has room for more; the other
// writes what the loop hands to it.
type stream struct {
	loop    *loop
	conn    net.Conn
	session *engine.Session

	more chan struct{} // to the reader: go on
	out  chan []byte   // to the writer

	// The loop's:
	writing bool // the writer has not finished
	paused  bool // the reader waits for Resume
	closed  bool
	// stopping tells that the session is to stop when a read brings nothing,
	// lastCall that such a read is under way.
	stopping, lastCall bool
}

// streamBuffer is how much a stream reads at once.
const streamBuffer = 16 << 10

// read runs in a goroutine of its own.
func (s *stream) read() {
	buffer := make([]byte, streamBuffer)
	for {
		n, err := s.conn.Read(buffer)
		s.loop.post(func() { s.received(buffer[:n], err) })
		if _, open := <-s.more; !open {
			return
		}
	}
}

// received is called in the loop with what the reader got.
func (s *stream) received(p []byte, err error) {
	if s.closed {
		return
	}
	s.session.Receive(p)
	switch {
	case err == nil:
	case errors.Is(err, os.ErrDeadlineExceeded):
		if s.lastCall {
			s.session.Stop()
			s.stopping, s.lastCall = false, false
			_ = s.conn.SetReadDeadline(time.Time{}) // for the rest of a command
		}
	case errors.Is(err, io.EOF):
		s.session.End()
		return
	default:
		s.session.Drop()
		return
	}
	if s.session.Wants() {
		s.readOn()
	} else {
		s.paused = true
	}
}

// readOn lets the reader read again.
func (s *stream) readOn() {
	if s.stopping {
		s.lastCall = true
		_ = s.conn.SetReadDeadline(time.Now().Add(lastCall))
	}
	s.more <- struct{}{}
}

// write runs in a goroutine of its own.
func (s *stream) write() {
	for p := range s.out {
		_, err := s.conn.Write(p)
		s.loop.post(func() { s.written(err) })
	}
	// The conversation is over and everything is written.
	_ = s.conn.Close()
}

// written is called in the loop when the writer has finished.
func (s *stream) written(err error) {
	s.writing = false
	switch {
	case s.closed:
	case err != nil:
		s.session.Drop()
	default:
		s.session.Writable()
	}
}

// lastCall is how long a read of a stopping server waits for commands that are
// on their way.
const lastCall = 20 * time.Millisecond

// stop ends a wait, and has the session stopped when its client says nothing
// more. That it waits must not keep the rest of what it says from being read.
func (s *stream) stop() {
	s.session.HalfClose()
	s.stopping = true
	_ = s.conn.SetReadDeadline(time.Now()) // ends the read under way
}

// Send hands bytes to the writer unless it is busy.
func (s *stream) Send(p []byte) (int, error) {
	if s.writing {
		return 0, nil
	}
	s.writing = true
	s.out <- append([]byte(nil), p...)
	return len(p), nil
}

// Resume has the reader go on.
func (s *stream) Resume() {
	if s.paused {
		s.paused = false
		s.readOn()
	}
}

// Close ends both goroutines, the writer when it has written what it has.
func (s *stream) Close() {
	s.closed = true
	delete(s.loop.streams, s)
	close(s.out)
	close(s.more)
	if s.writing {
		// A client that does not read must not keep the goroutine for ever.
		_ = s.conn.SetWriteDeadline(time.Now().Add(stopGrace))
	} else {
		_ = s.conn.Close()
	}
	s.loop.logger.Debug("connection closed", "peer", peerName(s.conn.RemoteAddr()))
}

// peerName is how a log names the other end.
func peerName(a net.Addr) string {
	if a == nil || a.String() == "" || a.String() == "@" {
		return "unix socket"
	}
	return a.String()
}

// Peer tells who is at the other end.
func (s *stream) Peer() engine.Peer {
	if a := s.conn.RemoteAddr(); a != nil && a.Network() != "unix" {
		return engine.Peer{Address: a.String()}
	}
	return engine.Peer{}
}
