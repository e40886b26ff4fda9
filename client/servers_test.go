//go:build unix

package client_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/haricotq/haricot/client"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// target is a server to test against, on a unix socket.
type target struct {
	path    string
	lasting bool // jobs outlive a restart
	start   func()
	stop    func()
}

// address is where a client connects to directly.
func (s *target) address() string { return "unix:" + s.path }

// eachServer runs a test against haricot and against the installed beanstalkd.
func eachServer(t *testing.T, test func(t *testing.T, s *target)) {
	t.Helper()
	t.Run("haricot", func(t *testing.T) { test(t, startHaricot(t)) })
	t.Run("beanstalkd", func(t *testing.T) { test(t, startReference(t)) })
}

// socketDir is a directory whose name is short enough for a unix socket.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hc") //nolint:usetesting // names of TempDir are too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// startHaricot starts the server in this process.
func startHaricot(t *testing.T) *target {
	t.Helper()
	s := &target{path: filepath.Join(socketDir(t), "s")}
	stop := func() {}
	s.start = func() {
		srv, err := server.New(server.Config{MaxJobSize: protocol.DefaultMaxJobSize})
		if err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(s.path)
		ln, err := net.Listen("unix", s.path)
		if err != nil {
			t.Fatal(err)
		}
		if err := srv.Serve(ln); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- srv.Run(ctx) }()
		stop = func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			stop = func() {}
		}
	}
	s.stop = func() { stop() }
	s.start()
	t.Cleanup(s.stop)
	return s
}

// startReference starts beanstalkd with a log, so that jobs outlive a restart. What
// it has written outlives its process without being synced.
func startReference(t *testing.T) *target {
	t.Helper()
	program, err := exec.LookPath("beanstalkd")
	if err != nil {
		if os.Getenv("HARICOT_REQUIRE_REFERENCE") != "" {
			t.Fatal(err)
		}
		t.Skip("beanstalkd is not installed")
	}
	dir := socketDir(t)
	s := &target{path: filepath.Join(dir, "s"), lasting: true}
	stop := func() {}
	s.start = func() {
		_ = os.Remove(s.path)
		command := exec.Command(program, "-l", "unix:"+s.path, "-b", dir, "-F")
		command.Stderr = os.Stderr
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		stop = func() {
			_ = command.Process.Kill()
			_ = command.Wait()
			stop = func() {}
		}
		for range 1000 {
			if conn, err := net.Dial("unix", s.path); err == nil {
				_ = conn.Close()
				return
			}
			time.Sleep(5 * time.Millisecond) //nolint:forbidigo // a process starts in real time
		}
		t.Fatal("beanstalkd does not listen after 5 seconds")
	}
	s.stop = func() { stop() }
	t.Cleanup(s.stop)
	s.start()
	return s
}

// dial connects to a server for the time of a test.
func dial(t *testing.T, address string) *client.Conn {
	t.Helper()
	c, err := client.Dial(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// newPool makes a pool for the time of a test.
func newPool(t *testing.T, config client.Config) *client.Pool {
	t.Helper()
	p, err := client.NewPool(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// must ends the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// patient is a context that ends a test which hangs.
func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}
