// Package load puts load on a server of the beanstalk protocol and measures
// what it gets through. One goroutine drives all connections by epoll, so that
// it costs little beside the server, on a machine with few processors too.
package load

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// A Plan is what a run does. Each connection goes through the cycle put,
// reserve, delete, over and over, in as many strands as are to be in flight at
// once.
type Plan struct {
	Address     string // host:port
	Connections int
	Window      int // commands in flight on each connection, at least 1
	BodySize    int
	Duration    time.Duration
}

// A Result is what a run got through.
type Result struct {
	Commands int
	Elapsed  time.Duration
}

// PerSecond is the throughput in commands.
func (r Result) PerSecond() float64 { return float64(r.Commands) / r.Elapsed.Seconds() }

// errReply reports a server that does not answer as it must.
var errReply = errors.New("load: the server answered something else than expected")

// Run carries out a plan.
func Run(plan Plan) (Result, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return Result{}, fmt.Errorf("load: %w", err)
	}
	defer unix.Close(epoll)
	body := bytes.Repeat([]byte{'x'}, plan.BodySize)
	put := fmt.Appendf(nil, "put 0 0 60 %d\r\n%s\r\n", len(body), body)
	strands := make(map[int32]*connection, plan.Connections)
	for range plan.Connections {
		c, err := dial(plan.Address, put)
		if err != nil {
			return Result{}, err
		}
		defer unix.Close(c.fd)
		strands[int32(c.fd)] = c
		event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(c.fd)}
		if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, c.fd, &event); err != nil {
			return Result{}, fmt.Errorf("load: %w", err)
		}
		for range max(1, plan.Window) {
			c.out = append(c.out, put...)
		}
	}
	start := time.Now()
	for _, c := range strands {
		if err := c.send(); err != nil {
			return Result{}, err
		}
	}
	commands := 0
	events := make([]unix.EpollEvent, 256)
	buffer := make([]byte, 256<<10)
	for time.Since(start) < plan.Duration {
		n, err := unix.EpollWait(epoll, events, 100)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return Result{}, fmt.Errorf("load: %w", err)
		}
		for i := range max(0, n) {
			done, err := strands[events[i].Fd].turn(buffer)
			if err != nil {
				return Result{}, err
			}
			commands += done
		}
	}
	return Result{commands, time.Since(start)}, nil
}

type connection struct {
	fd   int
	put  []byte
	out  []byte
	kept []byte // a reply that has not arrived whole
}

func dial(address string, put []byte) (*connection, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	defer conn.Close() //nolint:errcheck // its descriptor is taken over
	file, err := conn.(*net.TCPConn).File()
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	defer file.Close()
	fd, err := unix.Dup(int(file.Fd()))
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	return &connection{fd: fd, put: put}, nil
}

// turn reads what has arrived and sends what follows from it.
func (c *connection) turn(buffer []byte) (done int, err error) {
	n := copy(buffer, c.kept)
	got, err := unix.Read(c.fd, buffer[n:])
	if err != nil || got == 0 {
		return 0, fmt.Errorf("load: the server closed a connection: %w", err)
	}
	input := buffer[:n+got]
	for {
		used, err := c.reply(input)
		if err != nil {
			return done, err
		}
		if used == 0 {
			break
		}
		input = input[used:]
		done++
	}
	c.kept = append(c.kept[:0], input...)
	return done, c.send()
}

// reply takes one reply and writes the command that follows it. It returns 0
// if the reply has not arrived whole.
func (c *connection) reply(input []byte) (used int, err error) {
	end := bytes.IndexByte(input, '\n') + 1
	if end == 0 {
		return 0, nil
	}
	switch input[0] {
	case 'I': // INSERTED
		c.out = append(c.out, "reserve\r\n"...)
	case 'D': // DELETED
		c.out = append(c.out, c.put...)
	case 'R': // RESERVED id size
		fields := bytes.Fields(input[:end])
		if len(fields) != 3 {
			return 0, fmt.Errorf("%w: %q", errReply, input[:end])
		}
		size, err := strconv.Atoi(string(fields[2]))
		if err != nil {
			return 0, fmt.Errorf("%w: %q", errReply, input[:end])
		}
		if end += size + 2; end > len(input) {
			return 0, nil
		}
		c.out = append(append(append(c.out, "delete "...), fields[1]...), "\r\n"...)
	default:
		return 0, fmt.Errorf("%w: %q", errReply, input[:end])
	}
	return end, nil
}

func (c *connection) send() error {
	for len(c.out) > 0 {
		n, err := unix.Write(c.fd, c.out)
		if err != nil {
			return fmt.Errorf("load: %w", err)
		}
		c.out = c.out[:copy(c.out, c.out[n:])]
	}
	return nil
}
