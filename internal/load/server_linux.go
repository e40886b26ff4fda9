package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Program is a server that can be started: a name for reports, and a command line. {dir} in an argument stands for a new directory
// for jobs, which is deleted with all in it when the server is stopped, and {http} for an address on which it is to serve HTTP.
type Program struct {
	Name string
	Path string
	Args []string
}

// ParseProgram reads a command line; words end at spaces.
func ParseProgram(line string) (Program, error) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return Program{}, errors.New("load: the command line of a server is empty")
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		return Program{}, fmt.Errorf("load: %w", err)
	}
	return Program{Name: filepath.Base(words[0]), Path: path, Args: words[1:]}, nil
}

// Server is a server under load: one that was started, or one that runs already.
type Server struct {
	Name    string
	Address string
	HTTP    string // the address of its API and console; empty if it has none
	Dir     string // where it keeps jobs; empty if that is not known
	PID     int    // 0 if not known, and then its costs are not either

	program Program
	process *exec.Cmd
	ended   chan struct{}
}

// startLimit is how long a server may take from its start to its first reply. Those that recover millions of jobs are slow.
const startLimit = 2 * time.Minute

// Start starts a program on a free port of 127.0.0.1 and waits until it answers. Its directory, if it has one, is made in parent.
func Start(ctx context.Context, p Program, parent string) (*Server, error) {
	s := &Server{Name: p.Name, program: p}
	for _, a := range p.Args {
		if strings.Contains(a, "{dir}") && s.Dir == "" {
			dir, err := os.MkdirTemp(parent, "bench-")
			if err != nil {
				return nil, fmt.Errorf("load: %w", err)
			}
			s.Dir = dir
		}
	}
	if err := s.launch(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// launch starts the process, in the directory of the one before if there was one.
func (s *Server) launch(ctx context.Context) error {
	ports, err := freePorts(ctx, 2)
	if err != nil {
		return err
	}
	args := []string{"-l", "127.0.0.1", "-p", ports[0]}
	address := net.JoinHostPort("127.0.0.1", ports[1])
	for _, a := range s.program.Args {
		if strings.Contains(a, "{http}") {
			s.HTTP = address
		}
		args = append(args, strings.NewReplacer("{dir}", s.Dir, "{http}", address).Replace(a))
	}
	s.Address = net.JoinHostPort("127.0.0.1", ports[0])
	// What it says is lost: beanstalkd, for one, has a line for each connection that ends.
	s.process = exec.Command(s.program.Path, args...) //nolint:noctx // Stop ends it
	// Should this process be killed, its servers must not stay.
	s.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.process.Start(); err != nil {
		s.process = nil
		return fmt.Errorf("load: %w", err)
	}
	s.PID = s.process.Process.Pid
	s.ended = make(chan struct{})
	go func() {
		_ = s.process.Wait() // how it ended does not matter, only that it did
		close(s.ended)
	}()
	return s.answer(ctx)
}

// answer waits until the server answers a command.
func (s *Server) answer(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, errors.New("it does not answer"))
	defer cancel()
	for {
		if s.ask(ctx) == nil && (s.HTTP == "" || visit(ctx, s.HTTP).ready() == nil) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("load: %s: %w", s.process, context.Cause(ctx))
		case <-s.ended:
			return fmt.Errorf("load: %s: it ended (%v); start it by hand to see why", s.process, s.process.ProcessState)
		case <-time.After(time.Millisecond):
		}
	}
}

// ask has one command answered.
func (s *Server) ask(ctx context.Context) error {
	d, err := newDriver(ctx, s.Address)
	if err != nil {
		return err
	}
	defer d.close()
	c, err := d.join(ask("list-tube-used" + crlf))
	if err != nil {
		return err
	}
	if err := d.start(c); err != nil {
		return err
	}
	finished, err := d.run(startLimit)
	if err == nil && !finished {
		err = errors.New("load: no reply")
	}
	return err
}

// freePorts finds ports that nobody uses. Somebody else may take one before the server does, which then fails to start.
func freePorts(ctx context.Context, n int) (ports []string, err error) {
	var config net.ListenConfig
	for range n {
		ln, listenErr := config.Listen(ctx, "tcp", "127.0.0.1:0")
		if listenErr != nil {
			return nil, fmt.Errorf("load: %w", listenErr)
		}
		// It stays open until all are found, so that they differ.
		defer func() { err = errors.Join(err, ln.Close()) }()
		_, port, splitErr := net.SplitHostPort(ln.Addr().String())
		if splitErr != nil {
			return nil, fmt.Errorf("load: %w", splitErr)
		}
		ports = append(ports, port)
	}
	return ports, nil
}

// Restart kills a server that was started and starts it again with what it has kept. It returns how long it takes from the new start
// to the first reply.
func (s *Server) Restart(ctx context.Context) (time.Duration, error) {
	if s.process == nil || s.Dir == "" {
		return 0, errors.New("load: only a server that was started with a directory, {dir}, can be restarted")
	}
	s.end(syscall.SIGKILL)
	began := time.Now()
	err := s.launch(ctx)
	return time.Since(began), err
}

// own tells whether the server was started for the purpose.
func (s *Server) own() bool { return s.program.Path != "" }

// Stop ends a server that was started, and deletes its directory.
func (s *Server) Stop() error {
	s.end(syscall.SIGTERM)
	if s.Dir == "" || !s.own() {
		return nil
	}
	return os.RemoveAll(s.Dir)
}

// end sends a signal and waits; whoever does not go within ten seconds is killed.
func (s *Server) end(signal syscall.Signal) {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Signal(signal) // it may have ended already
	select {
	case <-s.ended:
	case <-time.After(10 * time.Second):
		_ = s.process.Process.Kill()
		<-s.ended
	}
	s.process = nil
}

// MayOpenFiles raises the number of files that this process and the servers that it starts may have open, as far as is allowed.
// Go does so for itself only, and gives its children the limit of before unless the program has set one.
func MayOpenFiles() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	limit.Cur = limit.Max
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	return nil
}
