//go:build !linux

package admin

import "net"

// unixCaller cannot name the process on this system.
func unixCaller(*net.UnixConn) string { return "unix socket" }
