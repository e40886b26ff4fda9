package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// role is what a client does.
type role interface {
	// begin appends the first commands.
	begin(c *client)
	// react appends the commands that follow from a reply.
	react(c *client, r *reply) error
}

const (
	readBuffer = 256 << 10
	// patience is how long the driver waits at most before it looks at the time and at whether it shall stop.
	patience = 50 * time.Millisecond
	// ticker is the number under which the timer's events arrive; clients have theirs from 0.
	ticker = -1
)

// driver turns replies into commands for all its clients. All but its making belongs to one goroutine.
type driver struct {
	ctx     context.Context
	address string
	epoll   int
	timer   int // a timerfd, -1 if there is none
	tick    func(n uint64) error
	began   time.Time
	clients []*client
	events  []unix.EpollEvent
	buffer  []byte
	reply   reply
	tally   [kinds]Histogram
	// dirty are clients that others have made say something; it is sent when the replies at hand are dealt with.
	dirty []*client
	// finished ends run: a role has reached its goal.
	finished    bool
	interrupted *atomic.Bool // the context has ended
}

func newDriver(ctx context.Context, address string) (*driver, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	return &driver{
		ctx:         ctx,
		address:     address,
		epoll:       epoll,
		timer:       -1,
		began:       time.Now(),
		events:      make([]unix.EpollEvent, 512),
		buffer:      make([]byte, readBuffer),
		interrupted: new(atomic.Bool),
	}, nil
}

// clock is the time since the driver was made.
func (d *driver) clock() time.Duration { return time.Since(d.began) }

// join connects one more client. It says nothing before start.
func (d *driver) join(r role) (*client, error) {
	fd, err := dial(d.ctx, d.address)
	if err != nil {
		return nil, fmt.Errorf("load: connecting: %w", err)
	}
	c := &client{driver: d, role: r, fd: fd}
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLET, Fd: int32(len(d.clients))}
	if err := unix.EpollCtl(d.epoll, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
		return nil, errors.Join(fmt.Errorf("load: %w", err), unix.Close(fd))
	}
	d.clients = append(d.clients, c)
	return c, nil
}

// every has a function called each time an interval is over, with the number of intervals since the last call.
func (d *driver) every(interval time.Duration, tick func(n uint64) error) error {
	timer, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	d.timer, d.tick = timer, tick
	spec := unix.NsecToTimespec(int64(interval))
	if err := unix.TimerfdSettime(timer, 0, &unix.ItimerSpec{Interval: spec, Value: spec}, nil); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: ticker}
	if err := unix.EpollCtl(d.epoll, unix.EPOLL_CTL_ADD, timer, &event); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	return nil
}

// start has clients send their first commands.
func (d *driver) start(clients ...*client) error {
	for _, c := range clients {
		c.role.begin(c)
		if err := c.flush(); err != nil {
			return err
		}
	}
	return nil
}

// run works until a time is over or a role has finished, which it returns.
func (d *driver) run(limit time.Duration) (finished bool, err error) {
	undo := context.AfterFunc(d.ctx, func() { d.interrupted.Store(true) })
	defer undo()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	end := d.clock() + limit
	for !d.finished {
		left := end - d.clock()
		if left <= 0 {
			return false, nil
		}
		if d.interrupted.Load() {
			return false, d.ctx.Err()
		}
		n, err := d.wait(min(left, patience))
		if err != nil {
			return false, err
		}
		for i := range n {
			if err := d.handle(&d.events[i]); err != nil {
				return false, err
			}
		}
		if err := d.flushDirty(); err != nil {
			return false, err
		}
	}
	return true, nil
}

// runUntil works until something is over elsewhere, which it finds out a little later.
func (d *driver) runUntil(over <-chan struct{}) error {
	const late = 5 * time.Millisecond
	for {
		select {
		case <-over:
			return nil
		default:
		}
		if finished, err := d.run(late); err != nil || finished {
			return errors.Join(err, d.unfinished(!finished))
		}
	}
}

func (d *driver) flushDirty() error {
	for _, c := range d.dirty {
		c.dirty = false
		if err := c.flush(); err != nil {
			return err
		}
	}
	d.dirty = d.dirty[:0]
	return nil
}

func (d *driver) wait(limit time.Duration) (int, error) {
	ms := (limit + time.Millisecond - 1) / time.Millisecond
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(d.epoll),
		uintptr(unsafe.Pointer(&d.events[0])), uintptr(len(d.events)), uintptr(ms), 0, 0)
	switch errno {
	case 0:
		return int(n), nil
	case unix.EINTR: // by the runtime, which wants the goroutine to pause
		runtime.Gosched()
		return 0, nil
	default:
		return 0, fmt.Errorf("load: waiting for replies: %w", errno)
	}
}

func (d *driver) handle(event *unix.EpollEvent) error {
	if event.Fd == ticker {
		var expired [8]byte
		if _, err := readSocket(d.timer, expired[:]); err != nil {
			return nil //nolint:nilerr // it was read before
		}
		return d.tick(*(*uint64)(unsafe.Pointer(&expired)))
	}
	c := d.clients[event.Fd]
	if event.Events&unix.EPOLLOUT != 0 && c.sent < len(c.out) {
		if err := c.flush(); err != nil {
			return err
		}
	}
	if event.Events&^unix.EPOLLOUT != 0 {
		return c.receive()
	}
	return nil
}

// grow makes room for a reply that is larger than the buffer. The client keeps what has arrived of it.
func (d *driver) grow(c *client, input []byte) error {
	c.kept = append(c.kept[:0], input...)
	d.buffer = make([]byte, 2*len(d.buffer))
	return nil
}

// commands is the number of answered commands in the tally.
func (d *driver) commands() (n uint64) {
	for k := range travelKind {
		n += d.tally[k].count
	}
	return n
}

// close ends all connections.
func (d *driver) close() {
	for _, c := range d.clients {
		_ = unix.Close(c.fd) // nothing depends on it
	}
	if d.timer >= 0 {
		_ = unix.Close(d.timer)
	}
	_ = unix.Close(d.epoll)
}
