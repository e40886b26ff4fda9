package service

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/coreos/go-systemd/v22/activation"
	"golang.org/x/sys/unix"
)

// Activated returns the sockets that systemd opened for this process, in its order; none if it opened none. All of them must be
// listening stream sockets, TCP or unix. Their files belong to systemd: Remove leaves them alone. The environment variables that
// name the sockets are unset, so a second call returns none.
func Activated() ([]*Socket, error) {
	var sockets []*Socket
	var faults []error
	for _, f := range activation.Files(true) {
		s, err := adopt(f)
		if err != nil {
			faults = append(faults, fmt.Errorf("cannot use the socket that systemd passed as descriptor %d (%s): %w",
				f.Fd(), f.Name(), err))
		} else {
			sockets = append(sockets, s)
		}
		f.Close() // The listener has a duplicate of its own.
	}
	if len(faults) > 0 {
		for _, s := range sockets {
			s.Close()
		}
		return nil, errors.Join(faults...)
	}
	return sockets, nil
}

// adopt makes a listener of a descriptor after looking that it is one.
func adopt(f *os.File) (*Socket, error) {
	fd := int(f.Fd())
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	switch {
	case errors.Is(err, syscall.EBADF):
		return nil, errors.New("it is not open; check LISTEN_FDS")
	case err != nil:
		return nil, errors.New("it is not a socket; use ListenStream= in the socket unit")
	case kind != unix.SOCK_STREAM:
		return nil, errors.New("it is not a stream socket; use ListenStream= in the socket unit")
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return nil, fmt.Errorf("its address cannot be had: %w", err)
	}
	switch name.(type) {
	case *unix.SockaddrInet4, *unix.SockaddrInet6, *unix.SockaddrUnix:
	default:
		return nil, errors.New("it is neither a TCP nor a unix socket")
	}
	if listening, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err != nil || listening == 0 {
		return nil, errors.New("it is not listening; use Accept=no in the socket unit")
	}
	ln, err := net.FileListener(f)
	if err != nil {
		return nil, cause(err)
	}
	return &Socket{Listener: ln}, nil
}
