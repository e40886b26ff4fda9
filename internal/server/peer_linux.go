package server

import (
	"golang.org/x/sys/unix"

	"github.com/haricotq/haricot/internal/engine"
)

// Peer asks the system who is at the other end.
func (s *socket) Peer() engine.Peer {
	address, err := unix.Getpeername(s.fd)
	if err != nil {
		return engine.Peer{} // it has just gone
	}
	if _, local := address.(*unix.SockaddrUnix); !local {
		return engine.Peer{Address: sockaddrName(address)}
	}
	credentials, err := unix.GetsockoptUcred(s.fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return engine.Peer{}
	}
	return engine.Peer{PID: int(credentials.Pid)}
}
