package arena

import "golang.org/x/sys/unix"

// reserveRegion maps size bytes of which nothing is charged until it is
// touched. Huge pages are declined: they would fill up around freed spans
// again, and memory given back would not stay away.
func reserveRegion(size int) ([]byte, error) {
	m, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	if err != nil {
		return nil, err
	}
	_ = unix.Madvise(m, unix.MADV_NOHUGEPAGE) // a kernel without huge pages refuses: just as well
	return m, nil
}

// discard returns the pages of m to the system and keeps the addresses. Where
// the system declines (locked memory), they just stay.
func discard(m []byte) { _ = unix.Madvise(m, unix.MADV_DONTNEED) }
