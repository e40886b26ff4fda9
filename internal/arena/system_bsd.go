//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package arena

import "golang.org/x/sys/unix"

// reserveRegion maps size bytes, which these systems charge when touched.
func reserveRegion(size int) ([]byte, error) { return mapMemory(size) }

// discard lets the system have the pages of m when it needs some, and keeps
// the addresses. Where the system declines (locked memory), they just stay.
func discard(m []byte) { _ = unix.Madvise(m, unix.MADV_FREE) }
