package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Socket is a listening socket. If it is a unix socket that this process created, it also remembers the file, so that Remove
// deletes that one and no other.
type Socket struct {
	net.Listener
	path string
	file os.FileInfo // file is nil unless this process created it.
}

// Mode is the permission of a new unix socket. Unset means what the umask of the process leaves, as with beanstalkd.
type Mode struct {
	Bits fs.FileMode // Bits holds permission bits only.
	Set  bool
}

// Listen opens the address. A unix socket file that nobody answers on is replaced, one that is in use is refused with
// ErrSocketLive, and any other file is refused with ErrNotSocket.
func Listen(ctx context.Context, a Address, mode Mode) (*Socket, error) {
	if a.Path != "" {
		return listenUnix(ctx, a.Path, mode)
	}
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error { return tune(c) }}
	// Multipath TCP is what Go listens with by default. It buys nothing here, and its sockets refuse options that ours carry.
	lc.SetMultipathTCP(false)
	ln, err := lc.Listen(ctx, a.network(), a.String())
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w%s", a, cause(err), remedy(err))
	}
	return &Socket{Listener: ln}, nil
}

// Remove deletes the file of a unix socket that this process created, unless another file has taken its place since. It does
// nothing for all other sockets. The socket itself is not closed.
func (s *Socket) Remove() error {
	if s.file == nil {
		return nil
	}
	now, err := os.Lstat(s.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(now, s.file) {
		return nil
	}
	if err == nil {
		err = os.Remove(s.path)
	}
	if err != nil {
		return fmt.Errorf("cannot remove the unix socket %s: %w", s.path, cause(err))
	}
	return nil
}

// tune sets what every accepted connection inherits: keep-alive, so that a vanished worker's jobs come back some day, and no
// delay, since a reply is written once and whole. It runs before the socket listens: after a restart, workers come back within the
// same millisecond, and none of them may miss it.
func tune(c syscall.RawConn) error {
	var err error
	ctlErr := c.Control(func(fd uintptr) {
		err = errors.Join(
			unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1),
			unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NODELAY, 1),
		)
	})
	return errors.Join(ctlErr, err)
}

// cause strips what package net and os wrap around a system error: the address and the path are in our own message.
func cause(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	if call, ok := errors.AsType[*os.SyscallError](err); ok {
		return call.Err
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// remedy says what to do about a port that cannot be had.
func remedy(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "; stop the server that runs there, or choose another port with -p"
	case errors.Is(err, syscall.EACCES):
		return "; ports below 1024 need root, who can give it up with -u, or the capability net_bind_service"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "; -l takes an address of this machine"
	}
	return ""
}
