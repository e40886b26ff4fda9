package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// mode is the permission of the socket: the server's user only.
const mode = 0o600

// maxPath is the longest path of a socket that the system takes, in bytes.
const maxPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// ErrLongPath says that the path of the socket is longer than the system takes.
var ErrLongPath = errors.New("the path of the directory is too long for a unix socket in it")

// listen opens the socket.
func listen(dir string) (*net.UnixListener, error) {
	path, done, err := reach(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		// On Linux the file that bind makes has the mode that the socket has by
		// then. Other systems refuse, and get the mode right a moment later.
		return c.Control(func(fd uintptr) {
			_ = syscall.Fchmod(int(fd), mode)
		})
	}}
	ln, err := config.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, fmt.Errorf("opening the socket %s: %w", filepath.Join(dir, socketName), err)
	}
	unix := ln.(*net.UnixListener) //nolint:errcheck // it is what "unix" gives
	unix.SetUnlinkOnClose(false)
	if err := os.Chmod(path, mode); err != nil {
		return nil, errors.Join(fmt.Errorf("setting the permission of the socket: %w", err), unix.Close())
	}
	return unix, nil
}

// dial connects to the server.
func dial(dir string) (net.Conn, error) {
	path, done, err := reach(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	return net.Dial("unix", path)
}

// reach gives a path to the socket that is short enough, for as long as done is
// not called. Linux has a short name for any directory that is open.
func reach(dir string) (path string, done func(), err error) {
	path = filepath.Join(dir, socketName)
	if len(path) <= maxPath {
		return path, func() {}, nil
	}
	if runtime.GOOS != "linux" {
		return "", nil, ErrLongPath
	}
	d, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	short := fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), socketName)
	if _, err := os.Stat(filepath.Dir(short)); err != nil {
		return "", nil, errors.Join(ErrLongPath, err, d.Close())
	}
	return short, func() { _ = d.Close() }, nil
}
