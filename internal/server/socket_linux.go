package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/haricotq/haricot/internal/engine"
)

// socket is a connection served by the loop itself.
type socket struct {
	fd      int
	poller  *epoll
	session *engine.Session
	logger  *slog.Logger
	peer    string // for the log; empty if that is not at debug level

	// unread tells that there may be something to read, hungUp that the client
	// has closed its side, which is there to be read at the end.
	unread bool
	hungUp bool
	// urgent tells that TCP has marked a byte as urgent. It is no part of the
	// stream, but reading stops short at it.
	urgent bool
	listed bool // in poller.readable
}

// notice takes note of an event.
func (s *socket) notice(events uint32) {
	if events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 && !s.hungUp {
		s.hungUp = true
		// Seen at once, even if the client waits and what it sent in advance
		// is not read.
		s.session.HalfClose()
	}
	if events&unix.EPOLLPRI != 0 {
		s.urgent = true
	}
	if events&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		s.unread = true
		s.list()
	}
	if events&(unix.EPOLLOUT|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		s.session.Writable()
	}
}

// list has the socket read in the next round if there is reason to.
func (s *socket) list() {
	if s.unread && !s.listed && s.session.Wants() {
		s.listed = true
		s.poller.readable = append(s.poller.readable, s)
	}
}

// read reads once.
func (s *socket) read(buffer []byte) {
	if s.fd < 0 || !s.session.Wants() {
		return
	}
	n, most, err := s.receive(buffer)
	switch {
	case n > 0:
		// Less than there is room for means that nothing is left, and what
		// comes brings a new event. The end of the stream does so only once,
		// and urgent data can stand in between.
		if n < most && !s.hungUp && !s.urgent {
			s.exhausted()
			return
		}
		s.list()
	case err == nil:
		s.unread = false
		s.session.End()
	case errors.Is(err, unix.EAGAIN):
		s.exhausted()
	case errors.Is(err, unix.EINTR):
		s.list()
	default:
		s.session.Drop()
	}
}

const (
	// directRead is the least part of a body in bytes that is read into its
	// place. Below it copying is cheaper than a second buffer in the call.
	directRead = 2 << 10
	// directReadMost is the most of it that is read in a turn.
	directReadMost = 256 << 10
)

// receive reads once, at most most bytes, and hands on what has arrived.
func (s *socket) receive(buffer []byte) (n, most int, err error) {
	room := s.session.Room()
	if len(room) < directRead {
		if n, err = unix.Read(s.fd, buffer); n > 0 {
			s.session.Receive(buffer[:n])
		}
		return n, len(buffer), err
	}
	places, most := [][]byte{room, buffer}, len(room)+len(buffer)
	if len(room) > directReadMost {
		places, most = [][]byte{room[:directReadMost]}, directReadMost
	}
	n, err = unix.Readv(s.fd, places)
	if n > 0 {
		direct := min(n, len(places[0]))
		s.session.Filled(direct)
		if n > direct {
			s.session.Receive(buffer[:n-direct])
		}
	}
	return n, most, err
}

// exhausted notes that all that has arrived is read.
func (s *socket) exhausted() {
	s.unread, s.urgent = false, false
	if s.poller.stopping {
		s.session.Stop()
	}
}

// Send writes what the socket takes.
func (s *socket) Send(p []byte) (int, error) {
	for {
		n, err := unix.Write(s.fd, p)
		switch {
		case err == nil:
			return n, nil
		case errors.Is(err, unix.EAGAIN):
			return 0, nil
		case !errors.Is(err, unix.EINTR):
			return 0, err
		}
	}
}

// Resume has the socket read again.
func (s *socket) Resume() { s.list() }

// Close closes the socket.
func (s *socket) Close() {
	s.poller.sockets[s.fd] = nil
	_ = unix.Close(s.fd)
	s.fd = -1
	if s.peer != "" {
		s.logger.Debug("connection closed", "peer", s.peer)
	}
}

// listenSocket is a listener that the loop accepts from itself.
type listenSocket struct {
	net.Listener
	poller  *epoll
	file    *os.File // a copy of the listener's descriptor
	fd      int
	backOff time.Duration // 0 while accepting succeeds
	closed  bool
}

// keepAlive is after how many idle seconds the system asks whether the other
// end of a connection is still there, and how long it waits between tries.
const keepAlive = 60

// setOptions sets what accepted connections inherit from the listener. Options
// that the socket does not know, as those of TCP on a unix socket, are left.
func (ln *listenSocket) setOptions() {
	_ = unix.SetsockoptInt(ln.fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
	_ = unix.SetsockoptInt(ln.fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	_ = unix.SetsockoptInt(ln.fd, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, keepAlive)
	_ = unix.SetsockoptInt(ln.fd, unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, keepAlive)
}

// accept takes the connections that wait.
func (ln *listenSocket) accept(l *loop) {
	for range acceptBatch {
		if ln.closed {
			return
		}
		fd, address, err := unix.Accept4(ln.fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch {
		case err == nil:
			ln.backOff = 0
			ln.poller.open(l, fd, address)
		case errors.Is(err, unix.EAGAIN):
			return
		case errors.Is(err, unix.ECONNABORTED), errors.Is(err, unix.EINTR):
			// That client has gone; the next one is waiting.
		default:
			ln.pause(l, err)
			return
		}
	}
}

// pause leaves new connections alone for a while, above all when descriptors
// have run out. They wait in the system's queue, and those being served go on.
func (ln *listenSocket) pause(l *loop, cause error) {
	if ln.backOff == 0 {
		l.logger.Warn("cannot accept connections; new ones wait until it works again",
			"address", ln.Addr().String(), "error", cause, "connections", l.engine.Sessions())
	}
	ln.backOff = min(max(minBackOff, 2*ln.backOff), maxBackOff)
	_ = unix.EpollCtl(ln.poller.fd, unix.EPOLL_CTL_DEL, ln.fd, nil)
	time.AfterFunc(ln.backOff, func() {
		l.post(func() {
			if !ln.closed {
				_ = ln.poller.add(ln.fd, unix.EPOLLIN)
			}
		})
	})
}

func (ln *listenSocket) close() {
	if ln.closed {
		return
	}
	ln.closed = true
	delete(ln.poller.listeners, ln.fd)
	// Another process may have the socket too, and then closing would not end
	// the waiting for it.
	_ = unix.EpollCtl(ln.poller.fd, unix.EPOLL_CTL_DEL, ln.fd, nil)
	_ = ln.file.Close()
	_ = ln.Close()
}

// open starts to serve an accepted connection.
func (p *epoll) open(l *loop, fd int, address unix.Sockaddr) {
	s := &socket{fd: fd, poller: p, logger: l.logger}
	s.session = l.engine.Open(s)
	for fd >= len(p.sockets) {
		p.sockets = append(p.sockets, nil)
	}
	p.sockets[fd] = s
	if l.logger.Enabled(context.Background(), slog.LevelDebug) {
		s.peer = sockaddrName(address)
		l.logger.Debug("connection opened", "peer", s.peer)
	}
	err := p.add(fd, unix.EPOLLIN|unix.EPOLLOUT|unix.EPOLLPRI|unix.EPOLLRDHUP|unix.EPOLLET)
	if err != nil {
		l.logger.Warn("cannot wait for a new connection; it is closed", "error", err)
		s.session.Drop()
	}
}

// sockaddrName is how a log names the other end.
func sockaddrName(a unix.Sockaddr) string {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port)).String()
	case *unix.SockaddrInet6:
		ip := netip.AddrFrom16(a.Addr).Unmap()
		if a.ZoneId != 0 && ip.Is6() {
			ip = ip.WithZone(strconv.FormatUint(uint64(a.ZoneId), 10))
		}
		return netip.AddrPortFrom(ip, uint16(a.Port)).String()
	}
	return peerName(nil)
}
