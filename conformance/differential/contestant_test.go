//go:build linux

package differential

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// An address is where a test server listens: a TCP port of 127.0.0.1 or the path of a unix socket.
type address struct {
	port int
	path string
}

func (a address) family() int {
	if a.path != "" {
		return unix.AF_UNIX
	}
	return unix.AF_INET
}

func (a address) sockaddr() unix.Sockaddr {
	if a.path != "" {
		return &unix.SockaddrUnix{Name: a.path}
	}
	return &unix.SockaddrInet4{Port: a.port, Addr: [4]byte{127, 0, 0, 1}}
}

func (a address) String() string {
	if a.path != "" {
		return a.path
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(a.port))
}

// freeAddress is an address nobody listens on: a fresh name in dir for unix, or a port the kernel has just handed out.
func freeAddress(network, dir string) (address, error) {
	if network == "unix" {
		return address{path: filepath.Join(dir, fmt.Sprintf("s%d", sockets.Add(1)))}, nil
	}
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return address{}, err
	}
	defer ln.Close()
	return address{port: ln.Addr().(*net.TCPAddr).Port}, nil
}

// sockets numbers the unix sockets of this process, since a restarted server must not find its predecessor's file.
var sockets atomic.Int64

// A contestant is one side of the comparison.
type contestant interface {
	// connect opens one more connection. The first one counts as the server's first connection, whatever starting it took.
	connect() (*link, error)
	// drain puts the server into drain mode.
	drain() error
	// idle reports whether the server has handled everything it was sent; a server that cannot tell says true.
	idle() bool
	// stop ends the server and waits for its end.
	stop()
}

// A starter starts a fresh, empty server with the given limit on job bodies.
type starter func(maxJobSize int) (contestant, error)

// A process is a server started from a program that knows beanstalkd's flags.
type process struct {
	cmd    *exec.Cmd
	at     address
	first  *link    // the connection that found the server listening
	state  *os.File // its /proc stat file, when the program has one thread only and that file therefore tells whether it sleeps
	output bytes.Buffer
	ended  chan struct{}
}

// program is a starter for a program. Only for one with a single thread may sleeping be taken for idleness.
func program(path, network, dir string, singleThreaded bool) starter {
	return func(maxJobSize int) (contestant, error) {
		var err error
		for range 5 {
			var p *process
			if p, err = startProcess(path, network, dir, maxJobSize); err == nil {
				if singleThreaded {
					p.state, err = os.Open(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
				}
				if err != nil {
					p.stop()
					return nil, err
				}
				return p, nil
			}
		}
		return nil, err
	}
}

func startProcess(path, network, dir string, maxJobSize int) (*process, error) {
	at, err := freeAddress(network, dir)
	if err != nil {
		return nil, err
	}
	args := []string{"-z", strconv.Itoa(maxJobSize)}
	if network == "unix" {
		args = append(args, "-l", "unix:"+at.path)
	} else {
		args = append(args, "-l", "127.0.0.1", "-p", strconv.Itoa(at.port))
	}
	p := &process{cmd: exec.Command(path, args...), at: at, ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	// The kernel kills the child if this test process dies before it can do so itself.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := onLastingThread(p.cmd.Start); err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	for start := time.Now(); ; {
		l, err := connect(at)
		if err == nil {
			p.first = l
			return p, p.identify()
		}
		select {
		case <-p.ended:
			return nil, fmt.Errorf("%s ended at once: %s", path, p.output.String())
		case <-time.After(time.Millisecond):
		}
		if time.Since(start) > 10*time.Second {
			p.stop()
			return nil, fmt.Errorf("%s does not listen: %w", path, err)
		}
	}
}

// identify makes sure that it is the child which answers, and not somebody who took its port just before it could.
func (p *process) identify() error {
	r, err := p.first.ask("stats\r\n", 10*time.Second)
	if err == nil && !bytes.Contains(r.body, fmt.Appendf(nil, "\npid: %d\n", p.cmd.Process.Pid)) {
		err = errors.New("it answers for another process")
	}
	if err != nil {
		p.stop()
		return fmt.Errorf("%s at %s: %w", p.cmd.Path, p.at, err)
	}
	return nil
}

// starts takes what must be done on a thread that lasts as long as the process. The kernel counts the end of the thread that
// started a child as the death of its parent, and Go ends a thread to which a goroutine that returns was locked.
var starts = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for do := range work {
			do()
		}
	}()
	return work
})

func onLastingThread(start func() error) error {
	done := make(chan error)
	starts() <- func() { done <- start() }
	return <-done
}

func (p *process) connect() (*link, error) {
	if l := p.first; l != nil {
		p.first = nil
		return l, nil
	}
	return connect(p.at)
}

func (p *process) drain() error { return p.cmd.Process.Signal(syscall.SIGUSR1) }

// idle: a program with one thread that sleeps in epoll_wait has seen everything that was in its sockets before. On loopback and on
// unix sockets a write has reached the other end, and has woken it, when the call returns.
func (p *process) idle() bool {
	if p.state == nil {
		return true
	}
	var stat [256]byte
	n, err := p.state.ReadAt(stat[:], 0)
	if n == 0 && err != nil {
		return true // It has died; the connections tell.
	}
	after := bytes.LastIndexByte(stat[:n], ')')
	return after >= 0 && after+2 < n && stat[after+2] == 'S'
}

func (p *process) stop() {
	_ = p.cmd.Process.Kill()
	<-p.ended
	if p.first != nil {
		p.first.close()
	}
	if p.state != nil {
		_ = p.state.Close()
	}
	if p.at.path != "" {
		_ = os.Remove(p.at.path)
	}
}

// oracle is the path of the reference server. On a developer's machine without it the test is skipped; in CI it must be there.
func oracle(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath(*referencePath)
	if err == nil {
		return path
	}
	if errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") == "" {
		t.Skipf("the reference server is not installed (Debian's package beanstalkd): %v", err)
	}
	t.Fatalf("the reference server: %v", err)
	return ""
}
