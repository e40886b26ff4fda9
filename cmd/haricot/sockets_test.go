package main

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestListenAddresses serves on every form of address, and on several at once.
func TestListenAddresses(t *testing.T) {
	dir := t.TempDir()
	for _, tc := range []struct {
		name  string
		args  []string
		count int
	}{
		{"IPv4", []string{"-l", "127.0.0.1", "-p", "0"}, 1},
		{"host name", []string{"-l", "localhost", "-p", "0"}, 1},
		{"bundled flags", []string{"-VVp0", "-l127.0.0.1"}, 1},
		{"bundled flag with its value apart", []string{"-Vp", "0", "-Vl", "127.0.0.1"}, 1},
		{"long flags", []string{"serve", "--listen=127.0.0.1", "--port", "0", "--verbose", "--max-job-size=10"}, 1},
		{"last port wins", []string{"-p", "1", "-l", "127.0.0.1", "-p", "0"}, 1},
		{"several", []string{"-l", "127.0.0.1", "-l", "unix:" + dir + "/several", "-l", "127.0.0.2", "-p", "0"}, 3},
		{"unix only", []string{"-l", "unix:" + dir + "/only"}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) { allAnswer(t, serve(t, command(tc.args...), tc.count)) })
	}
}

func TestListenIPv6(t *testing.T) {
	probe, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skipf("this machine has no IPv6: %v", err)
	}
	probe.Close()
	for _, address := range []string{"::1", "[::1]"} {
		allAnswer(t, serve(t, command("-l", address, "-p", "0"), 1))
	}
	d := serve(t, command("-p", "0"), 1)
	_, port, _ := net.SplitHostPort(d.addrs[0])
	dial(t, "127.0.0.1:"+port).answers()
	dial(t, "[::1]:"+port).answers()
}

// TestListenAnyIPv4 keeps 0.0.0.0 from meaning IPv6 as well, as package net would have it.
func TestListenAnyIPv4(t *testing.T) {
	d := serve(t, command("-l", "0.0.0.0", "-p", "0"), 1)
	if !strings.HasPrefix(d.addrs[0], "0.0.0.0:") {
		t.Errorf("listening on %s, want 0.0.0.0 only", d.addrs[0])
	}
	dial(t, strings.Replace(d.addrs[0], "0.0.0.0", "127.0.0.1", 1)).answers()
}

// TestCalledBeanstalkd serves at once under the other name, like a drop-in does.
func TestCalledBeanstalkd(t *testing.T) {
	cmd := command("-l", "127.0.0.1", "-p", "0")
	cmd.Args[0] = "/usr/bin/beanstalkd"
	allAnswer(t, serve(t, cmd, 1))
}

// TestProcessIsServer makes sure that there is no parent between the one who starts the server and the server.
func TestProcessIsServer(t *testing.T) {
	d := serve(t, command("-l", "127.0.0.1", "-p", "0"), 1)
	if got := d.event("starting", 0)["pid"]; got != float64(d.cmd.Process.Pid) {
		t.Errorf("the server is process %v, the started one %d", got, d.cmd.Process.Pid)
	}
}

// TestSecondListenerFails leaves nothing behind when one of several sockets cannot be had.
func TestSecondListenerFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	d := start(t, command("-l", "unix:"+path, "-l", "unix:"+filepath.Dir(path)))
	if got := d.status(); got != exitSocket {
		t.Errorf("exit status %d, want %d", got, exitSocket)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the first socket's file is still there")
	}
}

// TestPortTaken says which port is taken, and what to do.
func TestPortTaken(t *testing.T) {
	first := serve(t, command("-l", "127.0.0.1", "-p", "0"), 1)
	_, port, _ := net.SplitHostPort(first.addrs[0])
	second := start(t, command("-l", "127.0.0.1", "-p", port))
	fault := second.event("address already in use", 0).String("error")
	want := "cannot listen on " + first.addrs[0] + ": address already in use; stop the server that runs there, or choose another port with -p"
	if fault != want {
		t.Errorf("error %q\nwant  %q", fault, want)
	}
	if got := second.status(); got != exitSocket {
		t.Errorf("exit status %d, want %d", got, exitSocket)
	}
}

// TestUnixSocketLive does not take a socket from the server that answers on it.
func TestUnixSocketLive(t *testing.T) {
	address := "unix:" + filepath.Join(t.TempDir(), "s")
	first := serve(t, command("-l", address), 1)
	client := dial(t, address)
	client.answers()
	second := start(t, command("-l", address))
	if got := second.status(); got != exitSocket {
		t.Errorf("exit status %d, want %d", got, exitSocket)
	}
	if fault := second.event("another server answers there", 0).String("error"); !strings.Contains(fault, address) {
		t.Errorf("%q does not name %s", fault, address)
	}
	client.answers()
	allAnswer(t, first)
}

// TestUnixSocketDead replaces a socket that a killed server left.
func TestUnixSocketDead(t *testing.T) {
	address := "unix:" + filepath.Join(t.TempDir(), "s")
	first := serve(t, command("-l", address), 1)
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.status()
	if _, err := os.Lstat(strings.TrimPrefix(address, "unix:")); err != nil {
		t.Fatalf("the killed server left no socket: %v", err)
	}
	allAnswer(t, serve(t, command("-l", address), 1))
}

// TestUnixSocketForeignFile refuses every other file, and leaves it alone.
func TestUnixSocketForeignFile(t *testing.T) {
	dir := t.TempDir()
	file, link, datagram := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "datagram")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", link); err != nil {
		t.Fatal(err)
	}
	conn, err := net.ListenPacket("unixgram", datagram)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, path := range []string{file, link, datagram, dir} {
		before, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		d := start(t, command("-l", "unix:"+path))
		if got := d.status(); got != exitSocket {
			t.Errorf("%s: exit status %d, want %d", path, got, exitSocket)
		}
		if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) {
			t.Errorf("%s is not what it was: %v", path, err)
		}
	}
}

// TestUnixSocketRemoved deletes the socket at the end, but not one that somebody has put in its place.
func TestUnixSocketRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	serve(t, command("-l", "unix:"+path), 1).stop()
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket is still there after the server has stopped")
	}
	d := serve(t, command("-l", "unix:"+path), 1)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	d.stop()
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("another server's socket was deleted: %v", err)
	}
}

// TestUnixSocketMode sets the mode whatever the umask is, and leaves it to the umask unless asked.
func TestUnixSocketMode(t *testing.T) {
	for _, tc := range []struct {
		umask string
		args  []string
		want  fs.FileMode
	}{
		{"022", nil, 0o755},
		{"077", nil, 0o700},
		{"000", []string{"--socket-mode", "0770"}, 0o770},
		{"077", []string{"--socket-mode=770"}, 0o770},
		{"022", []string{"--socket-mode", "0o666"}, 0o666},
	} {
		path := filepath.Join(t.TempDir(), "s")
		serve(t, shell("umask "+tc.umask+";", append(tc.args, "-l", "unix:"+path)...), 1)
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != tc.want {
			t.Errorf("umask %s, flags %v: mode %o, want %o", tc.umask, tc.args, got, tc.want)
		}
	}
}

// TestUnixSocketAtSign takes a leading @ for a character of a file's name, as beanstalkd does.
func TestUnixSocketAtSign(t *testing.T) {
	cmd := command("-l", "unix:@s")
	cmd.Dir = t.TempDir()
	d := serve(t, cmd, 1)
	dial(t, "unix:"+cmd.Dir+"/@s").answers()
	d.stop()
	if _, err := os.Lstat(cmd.Dir + "/@s"); err == nil {
		t.Error("the socket is still there after the server has stopped")
	}
}

// allAnswer checks that a server answers on all its addresses, and stops.
func allAnswer(t *testing.T, d *instance) {
	t.Helper()
	for _, address := range d.addrs {
		dial(t, address).answers()
	}
	d.stop()
}
