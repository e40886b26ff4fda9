package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// activated prepares a process that gets descriptors the way systemd passes them: from 3 on, counted in LISTEN_FDS. The shell
// knows the process id that LISTEN_PID must have, since exec keeps it.
func activated(t *testing.T, args []string, sockets ...interface{ File() (*os.File, error) }) *exec.Cmd {
	t.Helper()
	cmd := shell("LISTEN_PID=$$ LISTEN_FDS="+strconv.Itoa(len(sockets)), args...)
	for _, s := range sockets {
		f, err := s.File()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	return cmd
}

func listenTCP(t *testing.T) *net.TCPListener {
	t.Helper()
	ln, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

func TestSocketActivation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	local, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	tcp := listenTCP(t)
	cmd := activated(t, []string{"-l", "192.0.2.1", "-p", "1"}, tcp, local)
	d := serve(t, cmd, 2)
	d.event("-l and -p are ignored", 0)
	if want := tcp.Addr().String(); d.addrs[0] != want {
		t.Errorf("listening on %s, want %s, which was passed", d.addrs[0], want)
	}
	allAnswer(t, d)
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the socket that systemd owns was deleted: %v", err)
	}
	local.Close()
}

// TestSocketActivationRefused names what is wrong with a descriptor.
func TestSocketActivationRefused(t *testing.T) {
	ln := listenTCP(t)
	conn, err := net.DialTCP("tcp", nil, ln.Addr().(*net.TCPAddr))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	datagram, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer datagram.Close()
	for _, tc := range []struct {
		reason string
		socket interface{ File() (*os.File, error) }
	}{
		{"not listening", conn},
		{"not a stream socket", datagram},
		{"not a socket", openFile("/dev/null")},
	} {
		d := start(t, activated(t, nil, ln, tc.socket))
		if got := d.status(); got != exitSocket {
			t.Errorf("%s: exit status %d, want %d", tc.reason, got, exitSocket)
		}
		d.event("descriptor 4", 0)
		d.event(tc.reason, 0)
	}
}

type openFile string

func (f openFile) File() (*os.File, error) { return os.Open(string(f)) }

// TestSocketsForAnotherProcess ignores what is not meant for us.
func TestSocketsForAnotherProcess(t *testing.T) {
	cmd := command("-l", "127.0.0.1", "-p", "0")
	cmd.Env = append(os.Environ(), "LISTEN_PID=1", "LISTEN_FDS=1")
	allAnswer(t, serve(t, cmd, 1))
}

// TestSystemdSocketActivate has systemd's own tool open the socket.
func TestSystemdSocketActivate(t *testing.T) {
	tool, err := exec.LookPath("systemd-socket-activate")
	if err != nil {
		t.Skip("systemd-socket-activate is not installed")
	}
	path := filepath.Join(t.TempDir(), "s")
	haricot, err := exec.LookPath("haricot")
	if err != nil {
		t.Fatal(err)
	}
	background(t, exec.Command(tool, "-E", "PATH", "-l", path, haricot))
	dial(t, awaitSocket(t, path)).answers()
}

// TestNotify tells systemd when clients can come and when the end has begun.
func TestNotify(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	if err := manager.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	next := func() string {
		buf := make([]byte, 100)
		n, err := manager.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		return string(buf[:n])
	}
	cmd := command("-l", "127.0.0.1", "-p", "0")
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+path)
	d := start(t, cmd)
	if got := next(); got != "READY=1" {
		t.Fatalf("first notice %q, want READY=1", got)
	}
	dial(t, d.event("listening", 0).String("address")).answers()
	d.signal(syscall.SIGTERM)
	if got := next(); got != "STOPPING=1" {
		t.Errorf("second notice %q, want STOPPING=1", got)
	}
	if got := d.status(); got != exitOK {
		t.Errorf("exit status %d, want 0", got)
	}
}

// TestNotifyFails serves even if the manager cannot be told.
func TestNotifyFails(t *testing.T) {
	cmd := command("-l", "127.0.0.1", "-p", "0")
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+filepath.Join(t.TempDir(), "none"))
	d := serve(t, cmd, 1)
	d.event("systemd cannot be notified", 0)
	allAnswer(t, d)
}
