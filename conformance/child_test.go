package conformance

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/server"
)

// childSettings is the environment variable that makes the test binary serve
// instead of testing. A process of its own for each script gives the server the
// machine as it has it in production: many event loops in one process hold each
// other up.
const childSettings = "HARICOT_CONFORMANCE_CHILD"

// serveAsChild serves on the socket that is file descriptor 3 until SIGTERM, and
// drains between SIGUSR1 and SIGUSR2. It closes file descriptor 4 when it heeds
// signals, and returns the exit code.
func serveAsChild(settings string) int {
	err := func() error {
		var set Settings
		if _, err := fmt.Sscan(settings, &set.MaxJobSize, &set.MemoryLimit, &set.EmptyOnly); err != nil {
			return err
		}
		ln, err := net.FileListener(os.NewFile(3, "listener"))
		if err != nil {
			return err
		}
		s, err := server.New(configOf(set))
		if err != nil {
			return err
		}
		if err := s.Serve(ln); err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		drains := make(chan os.Signal, 1)
		signal.Notify(drains, syscall.SIGUSR1, syscall.SIGUSR2)
		go func() {
			for sig := range drains {
				s.Drain(sig == syscall.SIGUSR1)
			}
		}()
		os.NewFile(4, "ready").Close()
		return s.Run(ctx)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "the server ended with", err)
		return 1
	}
	return 0
}

// child is haricot in a process of its own, on a real socket.
type child struct {
	process
}

// startChild starts haricot. It is told to stop when the test ends, and must then
// end well.
func startChild(t *testing.T, set Settings, network string, grace time.Duration) *child {
	t.Helper()
	addr := "127.0.0.1:0"
	if network == "unix" {
		addr = filepath.Join(t.TempDir(), "s")
	}
	ln, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	var bound net.Addr
	var f *os.File
	switch ln := ln.(type) {
	case *net.TCPListener:
		bound, f = handOver(t, ln)
	case *net.UnixListener:
		ln.SetUnlinkOnClose(false)
		bound, f = handOver(t, ln)
	}

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %t", childSettings, set.MaxJobSize, set.MemoryLimit, set.EmptyOnly))
	heeds, ready, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer heeds.Close()
	cmd.ExtraFiles = []*os.File{f, ready}
	cmd.Stderr = os.Stderr
	endWithTest(cmd)
	err = cmd.Start()
	ready.Close()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{process{bound, cmd.Process, grace}}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		killer := time.AfterFunc(patience, func() { cmd.Process.Kill() })
		defer killer.Stop()
		if err := cmd.Wait(); err != nil {
			t.Error("haricot did not end well:", err)
		}
	})
	if _, err := io.Copy(io.Discard, heeds); err != nil {
		t.Fatal(err)
	}
	return c
}

// Drain enters or leaves drain mode.
func (c *child) Drain(on bool) error {
	sig := syscall.SIGUSR2
	if on {
		sig = syscall.SIGUSR1
	}
	return c.signal(sig)
}
