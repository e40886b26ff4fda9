//go:build unix

package client

import (
	"net"
	"syscall"
)

// stale tells whether the other side has closed a connection from which nothing
// is due. Without the look, the first command after a server's restart would go
// into a dead connection and its outcome would be uncertain.
func stale(conn net.Conn) bool {
	secure, encrypted := conn.(interface{ NetConn() net.Conn })
	if encrypted {
		conn = secure.NetConn()
	}
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return true
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK) // Go's sockets never block
		switch {
		case err != nil:
			gone = err != syscall.EAGAIN && err != syscall.EINTR
		case n > 0:
			gone = !encrypted // TLS may have something to say, a server has not
		default:
			gone = true
		}
	})
	return gone || err != nil
}
