package docs_test

import (
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
)

// A maker starts servers of one kind.
type maker struct {
	name    string
	require func(t *testing.T) // skips or fails where this kind cannot run
	start   func(t *testing.T, maxJobSize uint32) instance
}

// An instance is a running server. It ends with the test that started it.
type instance struct {
	network, address string
	drain            func(on bool)
	stop             func() // asks for the end and returns at once
}

func makers() []maker {
	return []maker{
		{name: "haricot", require: requireHaricot, start: startHaricot},
		{name: "beanstalkd", require: requireReference, start: startReference},
	}
}

// requireReference skips where the reference server is not installed, unless the environment insists on it, as CI does.
func requireReference(t *testing.T) {
	t.Helper()
	_, err := exec.LookPath("beanstalkd")
	if err != nil && os.Getenv("HARICOT_REQUIRE_REFERENCE") != "" {
		t.Fatal(err)
	}
	if err != nil {
		t.Skip("the reference server is not installed: ", err)
	}
}

// startReference hands the server a listening socket the way systemd does: the kernel chose the port, and clients may connect before
// the server has begun to accept.
func startReference(t *testing.T, maxJobSize uint32) instance {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	sock, err := ln.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-c", `LISTEN_PID=$$ LISTEN_FDS=1 exec beanstalkd "$@"`, "beanstalkd"}
	if maxJobSize != 0 {
		args = append(args, "-z", strconv.FormatUint(uint64(maxJobSize), 10))
	}
	cmd := exec.Command("/bin/sh", args...)
	cmd.ExtraFiles = []*os.File{sock}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // reports the kill
	})
	addr := ln.Addr()
	_ = sock.Close() // the server holds its own descriptors of the socket now
	_ = ln.Close()
	return instance{
		network: addr.Network(),
		address: addr.String(),
		drain: func(on bool) {
			if !on {
				t.Fatal("the reference server cannot end draining")
			}
			if err := cmd.Process.Signal(syscall.SIGUSR1); err != nil {
				t.Fatal(err)
			}
		},
		stop: func() { t.Fatal("the reference server has no orderly end") },
	}
}
