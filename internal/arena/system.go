package arena

import "golang.org/x/sys/unix"

// mapMemory maps size bytes that are wanted now, so that a system which can
// tell that it lacks them says so here, and not by killing the process later.
func mapMemory(size int) ([]byte, error) {
	return unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
}

// unmap returns a whole mapping to the system.
func unmap(m []byte) error { return unix.Munmap(m) }
