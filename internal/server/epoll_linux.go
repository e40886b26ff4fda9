package server

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// eventBatch is how many events one wait can bring.
	eventBatch = 512
	// acceptBatch is how many connections a listener may bring a turn.
	acceptBatch = 128
	// readBuffer is how much a connection may bring a turn. The buffer is the
	// loop's, so idle connections own none.
	readBuffer = 64 << 10
	// rawWait is how long the loop waits without telling Go's scheduler. Going
	// through the scheduler costs a wake-up as much as all the rest of a
	// command; but while the loop waits like this it keeps one of GOMAXPROCS
	// from running anything else, so it must not be long. A quiet server comes
	// out of it once and then sleeps for as long as nothing happens.
	rawWait = 20 * time.Millisecond
)

func newPoller(config Config) (poller, error) {
	if config.Portable {
		return newChannelPoller(), nil
	}
	return newEpoll()
}

// epoll waits for sockets. Connections are registered once, edge-triggered, for
// everything that can happen, so that no command costs a call to change that:
// a socket remembers what it has been told until it has acted on it.
type epoll struct {
	fd      int
	wakeup  int // an eventfd
	events  []unix.EpollEvent
	arrived int // how many of events the last wait brought
	buffer  []byte

	sockets   []*socket // by file descriptor
	listeners map[int]*listenSocket
	// readable are the sockets that have something to read and whose sessions
	// want it. They are read once a turn each.
	readable []*socket
	reading  []*socket // those of the last turn, emptied
	stopping bool
}

func newEpoll() (*epoll, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("server: making an epoll instance: %w", err)
	}
	p := &epoll{
		fd:        fd,
		events:    make([]unix.EpollEvent, eventBatch),
		buffer:    make([]byte, readBuffer),
		listeners: make(map[int]*listenSocket),
	}
	p.wakeup, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err == nil {
		err = p.add(p.wakeup, unix.EPOLLIN|unix.EPOLLET)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("server: making a wake-up descriptor: %w", err), p.close())
	}
	return p, nil
}

func (p *epoll) add(fd int, events uint32) error {
	return unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)})
}

func (p *epoll) wake() {
	one := [8]byte{1}
	_, _ = unix.Write(p.wakeup, one[:]) // full means woken
}

func (p *epoll) wait(timeout time.Duration) error {
	if len(p.readable) > 0 {
		timeout = 0
	}
	first := rawWait
	if timeout >= 0 && timeout < first {
		first = timeout
	}
	n, err := p.rawEpollWait(milliseconds(first))
	if n == 0 && err == nil && first != timeout {
		runtime.Gosched()
		if timeout > 0 {
			timeout -= first
		}
		n, err = unix.EpollWait(p.fd, p.events, milliseconds(timeout))
	}
	if err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("server: waiting for sockets: %w", err)
	}
	p.arrived = max(0, n)
	return nil
}

// rawEpollWait is epoll_wait unseen by Go's scheduler. When the runtime wants
// the world to stop, its signal ends the call.
func (p *epoll) rawEpollWait(ms int) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.fd),
		uintptr(unsafe.Pointer(&p.events[0])), uintptr(len(p.events)), uintptr(ms), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// milliseconds rounds up, so that the loop does not wake before its time.
func milliseconds(d time.Duration) int {
	if d < 0 {
		return -1
	}
	const day = 24 * time.Hour
	return int((min(d, day) + time.Millisecond - 1) / time.Millisecond)
}

func (p *epoll) dispatch(l *loop) {
	// Connections are closed at the end of turns only, and accepted after the
	// events are dealt with: so no event can be taken for one of a connection
	// that has got the descriptor of another since.
	var accepting []*listenSocket
	for i := range p.events[:p.arrived] {
		event := &p.events[i]
		fd := int(event.Fd)
		if fd < len(p.sockets) && p.sockets[fd] != nil {
			p.sockets[fd].notice(event.Events)
		} else if ln := p.listeners[fd]; ln != nil {
			accepting = append(accepting, ln)
		}
	}
	p.read()
	for _, ln := range accepting {
		ln.accept(l)
	}
}

// read reads once from each socket that has something. Those that may have
// more are read again in the next turn.
func (p *epoll) read() {
	p.readable, p.reading = p.reading[:0], p.readable
	for i, s := range p.reading {
		p.reading[i] = nil
		s.listed = false
		s.read(p.buffer)
	}
}

func (p *epoll) listen(ln net.Listener) (taken bool, err error) {
	socketListener, ok := ln.(interface{ File() (*os.File, error) })
	if !ok {
		return false, nil
	}
	file, err := socketListener.File()
	if err != nil {
		return false, fmt.Errorf("server: taking over the listener at %s: %w", ln.Addr(), err)
	}
	s := &listenSocket{Listener: ln, poller: p, file: file, fd: int(file.Fd())}
	p.listeners[s.fd] = s
	// File has made the socket block, for its copy and the original alike.
	if err := unix.SetNonblock(s.fd, true); err != nil {
		return false, fmt.Errorf("server: taking over the listener at %s: %w", ln.Addr(), err)
	}
	s.setOptions()
	if err := p.add(s.fd, unix.EPOLLIN); err != nil {
		return false, fmt.Errorf("server: waiting at %s: %w", ln.Addr(), err)
	}
	return true, nil
}

func (p *epoll) stop(*loop) {
	p.stopping = true
	for _, ln := range p.listeners {
		ln.close()
	}
	for _, s := range p.sockets {
		if s != nil {
			// A wait must not keep what stands behind it from being read.
			s.session.HalfClose()
			s.notice(unix.EPOLLIN)
		}
	}
}

func (p *epoll) drop() {
	for _, s := range p.sockets {
		if s != nil {
			s.session.Drop()
		}
	}
}

func (p *epoll) close() error {
	for _, ln := range p.listeners {
		ln.close()
	}
	err := unix.Close(p.fd)
	if p.wakeup > 0 {
		err = errors.Join(err, unix.Close(p.wakeup))
	}
	return err
}
