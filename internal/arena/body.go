package arena

import (
	"errors"
	"math"
	"os"
	"unsafe"
)

// Ref says where a body is. The zero Ref is the empty body.
//
//	small: 0, size class (31 bits), slot in the class's pool (32 bits)
//	large: 1, place in the table of large bodies (63 bits)
type Ref uint64

const (
	largeRef  Ref = 1 << 63
	classBits     = 32 // where the size class begins
)

// maxSmall is the largest body that lies in a slot of a size class.
const maxSmall = SpanSize / 2

// Alloc takes memory for a body of n bytes, or returns [ErrNoMemory]. What it
// contains is unspecified, possibly parts of former bodies: the caller must
// fill all n bytes before anybody else gets to read them. It panics if n is
// negative.
func (a *Arena) Alloc(n int) (Ref, error) {
	switch {
	case n == 0:
		return 0, nil
	case n < 0:
		panic("arena: Alloc of a negative size")
	case n > maxSmall:
		return a.allocLarge(n)
	}
	c := classOf(n)
	slot, err := a.classes[c].alloc()
	if err != nil {
		return 0, err
	}
	return Ref(c)<<classBits | Ref(slot), nil
}

// Bytes returns the n bytes of body r, where n is what Alloc was given. They
// are good until the body is freed. It panics if r and n do not belong
// together, and where it sees that r was freed.
func (a *Arena) Bytes(r Ref, n int) []byte {
	switch {
	case n == 0 && r == 0:
		return nil
	case r&largeRef != 0:
		return a.large.at(r, n)[:n:n]
	}
	p := a.classPool(r, n)
	slot := uint32(r)
	if chunk := slot >> p.shift; int(chunk) >= len(p.bases) || p.bases[chunk] == nil {
		panic("arena: Bytes of a body that is not in use")
	}
	return unsafe.Slice((*byte)(p.at(slot)), n)
}

// Free gives body r back, where n is what Alloc was given. It panics if r and
// n do not belong together or r is not in use.
func (a *Arena) Free(r Ref, n int) {
	switch {
	case n == 0 && r == 0:
	case r&largeRef != 0:
		a.freeLarge(r, n)
	default:
		a.classPool(r, n).free(uint32(r))
	}
}

// classPool returns the pool of the small body r of n bytes.
func (a *Arena) classPool(r Ref, n int) *pool {
	if n <= 0 || n > maxSmall || r>>classBits != Ref(classOf(n)) {
		panic("arena: body reference and size do not belong together")
	}
	return &a.classes[classOf(n)]
}

// largeBodies is the table of bodies that have a mapping of their own.
type largeBodies struct {
	table  [][]byte // the mapping, nil where the place is vacant
	vacant []uint32
	// stuck are mappings without pages which the system would not take back:
	// a hole in the middle of a mapping makes two, and their number is bounded.
	stuck [][]byte
}

func (a *Arena) allocLarge(n int) (Ref, error) {
	page := os.Getpagesize()
	if n > math.MaxInt-page {
		return 0, ErrNoMemory
	}
	size := (n + page - 1) &^ (page - 1)
	if !a.fits(int64(size)) {
		return 0, ErrNoMemory
	}
	l := &a.large
	m := l.takeStuck(size)
	if m == nil {
		var err error
		if m, err = mapMemory(size); err != nil {
			return 0, ErrNoMemory
		}
	}
	a.used += int64(size)
	if len(l.vacant) == 0 {
		l.table = append(l.table, m)
		return largeRef | Ref(len(l.table)-1), nil
	}
	place := pop(&l.vacant)
	l.table[place] = m
	return largeRef | Ref(place), nil
}

func (a *Arena) freeLarge(r Ref, n int) {
	l := &a.large
	m := l.at(r, n)
	place := r &^ largeRef
	l.table[place] = nil
	l.vacant = append(l.vacant, uint32(place))
	a.used -= int64(len(m))
	if a.unmap(m) != nil {
		discard(m)
		l.stuck = append(l.stuck, m)
	}
}

// at returns the mapping of body r of n bytes.
func (l *largeBodies) at(r Ref, n int) []byte {
	place := r &^ largeRef
	if place >= Ref(len(l.table)) || l.table[place] == nil {
		panic("arena: large body that is not in use")
	}
	m := l.table[place]
	if n > len(m) || n <= len(m)-os.Getpagesize() {
		panic("arena: body reference and size do not belong together")
	}
	return m
}

// takeStuck returns a mapping of exactly size bytes that could not be
// unmapped, or nil.
func (l *largeBodies) takeStuck(size int) []byte {
	for i, m := range l.stuck {
		if len(m) == size {
			last := pop(&l.stuck)
			if i < len(l.stuck) {
				l.stuck[i] = last
			}
			return m
		}
	}
	return nil
}

func (l *largeBodies) unmapAll() error {
	var err error
	for _, m := range append(l.table, l.stuck...) {
		if m != nil {
			err = errors.Join(err, unmap(m))
		}
	}
	*l = largeBodies{}
	return err
}
