// Package arena keeps what there may be millions of, job records and job
// bodies, in memory that Go's garbage collector neither scans nor counts.
//
// Everything is addressed by numbers, so that records may refer to one another
// and to bodies without holding pointers. There are three layers:
//
//	Arena   spans of SpanSize bytes, cut from regions of the system's memory
//	pool    slots of one size in spans (chunks) that are taken as needed
//	Slab    a pool seen as records of a type; bodies: a pool per size class,
//	        and a mapping of its own for each body that is too large for those
//
// A chunk whose last slot is freed gives its span back to the arena at once.
// The arena keeps a few such spans warm for the next taker and returns the
// pages of all others to the system, so the memory of a drained backlog does
// not stay with the process.
//
// An arena and all that was made from it belong to one goroutine at a time:
// nothing in this package is safe for concurrent use.
package arena

import (
	"errors"
	"fmt"
	"unsafe"
)

const (
	// SpanSize is the length in bytes of the unit in which memory is handed
	// to slabs, to size classes of bodies and to callers of [Arena.Span].
	SpanSize = 128 << 10

	// regionSize is how much address space is asked of the system at a time.
	// Regions are never cut up again, so the number of mappings stays small.
	regionSize = 512 * SpanSize

	// warmSpans is how many free spans keep their pages. It bounds what an
	// idle arena holds (4 MiB), and is the slack that lets a load which swings
	// around a span's boundary go on without system calls.
	warmSpans = 32
)

// Arena hands out memory outside the Go heap. Make one with [New]. It must be
// closed to give its memory back; dropping it is not enough.
type Arena struct {
	limit int64
	used  int64

	regions [][]byte         // all address space taken for spans
	fresh   []byte           // the part of the newest region never handed out
	warm    []unsafe.Pointer // free spans, pages kept
	cold    []unsafe.Pointer // free spans, pages returned
	lent    map[unsafe.Pointer]struct{}

	classes [len(strides)]pool
	large   largeBodies
	pools   []*pool // every pool, so that Close can make stale numbers harmless
	closed  bool

	// The system's calls that may fail; tests replace them to fail at will.
	reserve func(size int) ([]byte, error) // takes address space for a region
	unmap   func(m []byte) error           // gives a whole mapping back
}

// New returns an empty arena. No call may take [Arena.Used] above limit, which
// is in bytes; zero means no limit but the system's. It takes no memory yet.
func New(limit int64) *Arena {
	a := &Arena{limit: limit, lent: make(map[unsafe.Pointer]struct{}), reserve: reserveRegion, unmap: unmap}
	for c := range a.classes {
		a.classes[c].init(a, uintptr(strides[c]))
	}
	return a
}

// Used returns the bytes that count against the limit: whole spans in use by
// slabs, bodies and callers of [Arena.Span], and large bodies rounded up to
// pages. Free spans that are kept warm, at most 4 MiB, are not in it.
func (a *Arena) Used() int64 { return a.used }

// Close returns all memory to the system. Bytes, records and spans of the
// arena must not be touched afterwards, and its slabs are empty. A second
// Close does nothing.
func (a *Arena) Close() error {
	if a.closed {
		return nil
	}
	a.closed = true
	for _, p := range a.pools {
		p.forget()
	}
	err := a.large.unmapAll()
	for _, r := range a.regions {
		err = errors.Join(err, unmap(r))
	}
	a.regions, a.fresh, a.warm, a.cold, a.lent = nil, nil, nil, nil, nil
	a.used = 0
	if err != nil {
		return fmt.Errorf("arena: returning memory to the system: %w", err)
	}
	return nil
}

// Span returns SpanSize bytes that begin on a page boundary, or [ErrNoMemory].
// What they contain is unspecified: it may be what a former user left there.
func (a *Arena) Span() ([]byte, error) {
	p, err := a.takeSpan()
	if err != nil {
		return nil, err
	}
	a.lent[p] = struct{}{}
	return unsafe.Slice((*byte)(p), SpanSize), nil
}

// FreeSpan takes back a span that [Arena.Span] returned. It panics if b is not
// exactly that, or was freed before.
func (a *Arena) FreeSpan(b []byte) {
	p := unsafe.Pointer(unsafe.SliceData(b))
	if _, ok := a.lent[p]; !ok || len(b) != SpanSize {
		panic("arena: FreeSpan of memory that is not a span in use")
	}
	delete(a.lent, p)
	a.giveSpan(p)
}

// takeSpan hands out a span: a warm one, else one whose address is known, else
// a new one. Its contents are unspecified.
func (a *Arena) takeSpan() (unsafe.Pointer, error) {
	if !a.fits(SpanSize) {
		return nil, ErrNoMemory
	}
	var p unsafe.Pointer
	switch {
	case len(a.warm) > 0:
		p = pop(&a.warm)
	case len(a.cold) > 0:
		p = pop(&a.cold)
	default:
		if len(a.fresh) == 0 && !a.addRegion() {
			return nil, ErrNoMemory
		}
		p = unsafe.Pointer(unsafe.SliceData(a.fresh))
		a.fresh = a.fresh[SpanSize:]
	}
	a.used += SpanSize
	return p, nil
}

// giveSpan takes a span back, for which nobody may hold a reference any more.
func (a *Arena) giveSpan(p unsafe.Pointer) {
	a.used -= SpanSize
	if len(a.warm) < warmSpans {
		a.warm = append(a.warm, p)
		return
	}
	discard(unsafe.Slice((*byte)(p), SpanSize))
	a.cold = append(a.cold, p)
}

// addRegion gets address space for more spans. Where the system does not have
// it in one piece (an address space limit, strict overcommit) less will do.
func (a *Arena) addRegion() bool {
	for size := regionSize; size >= SpanSize; size /= 2 {
		r, err := a.reserve(size)
		if err != nil {
			continue
		}
		a.regions = append(a.regions, r)
		a.fresh = r
		return true
	}
	return false
}

// fits reports whether n more bytes stay within the limit.
func (a *Arena) fits(n int64) bool {
	if a.closed {
		panic("arena: allocation after Close")
	}
	return a.limit == 0 || n <= a.limit-a.used
}

// pop removes and returns the last element of s.
func pop[E any](s *[]E) E {
	last := len(*s) - 1
	e := (*s)[last]
	*s = (*s)[:last]
	return e
}
