package admin

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// unixCaller names a process by its user and number.
func unixCaller(conn *net.UnixConn) string {
	const unknown = "unix socket"
	raw, err := conn.SyscallConn()
	if err != nil {
		return unknown
	}
	var credentials *unix.Ucred
	var credentialsErr error
	err = raw.Control(func(fd uintptr) {
		credentials, credentialsErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err != nil || credentialsErr != nil {
		return unknown
	}
	return fmt.Sprintf("unix socket, uid %d, pid %d", credentials.Uid, credentials.Pid)
}
