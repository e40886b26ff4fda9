package arena

import (
	"errors"
	"os"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

func TestSpan(t *testing.T) {
	a := New(0)
	defer closeArena(t, a)
	const n = 600 // more than a region holds
	spans := make([][]byte, n)
	for round := range byte(3) {
		for i := range spans {
			b, err := a.Span()
			if err != nil {
				t.Fatal(err)
			}
			if len(b) != SpanSize || cap(b) != SpanSize {
				t.Fatalf("span of %d bytes, capacity %d", len(b), cap(b))
			}
			if at := uintptr(unsafe.Pointer(&b[0])); at%uintptr(os.Getpagesize()) != 0 {
				t.Fatalf("span at %#x is not on a page boundary", at)
			}
			b[0], b[SpanSize-1] = byte(i)+round, byte(i>>8)
			spans[i] = b
		}
		if a.Used() != n*SpanSize {
			t.Fatalf("%d bytes used, want %d", a.Used(), n*SpanSize)
		}
		for i, b := range spans {
			if b[0] != byte(i)+round || b[SpanSize-1] != byte(i>>8) {
				t.Fatalf("span %d overlaps another", i)
			}
			a.FreeSpan(b)
		}
		if a.Used() != 0 || len(a.warm) != warmSpans {
			t.Fatalf("%d bytes used, %d spans warm", a.Used(), len(a.warm))
		}
		if len(a.regions) != 2 {
			t.Fatalf("%d regions for %d spans", len(a.regions), n)
		}
	}
}

func TestSpanMisuse(t *testing.T) {
	a := New(0)
	defer closeArena(t, a)
	b, err := a.Span()
	if err != nil {
		t.Fatal(err)
	}
	mustPanic(t, "part of a span", func() { a.FreeSpan(b[:SpanSize-1]) })
	mustPanic(t, "tail of a span", func() { a.FreeSpan(b[1:]) })
	mustPanic(t, "memory of another kind", func() { a.FreeSpan(make([]byte, SpanSize)) })
	mustPanic(t, "nothing", func() { a.FreeSpan(nil) })
	a.FreeSpan(b)
	mustPanic(t, "double free", func() { a.FreeSpan(b) })
}

// TestLimitIsShared: what one kind of user gives back, another may have.
func TestLimitIsShared(t *testing.T) {
	page := os.Getpagesize()
	a := New(int64(2*SpanSize + page - 1))
	defer closeArena(t, a)
	s := NewSlab[job](a)
	i := mustSlab(t, s)
	r := mustAlloc(t, a, 100)
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, ErrNoMemory) {
			t.Fatalf("%s over the limit: %v", what, err)
		}
	}
	_, err := a.Span()
	refused("a span", err)
	_, err = a.Alloc(200)
	refused("a body of another class", err)
	_, err = a.Alloc(maxSmall + 1)
	refused("a large body", err)
	_, err = NewSlab[odd](a).Alloc()
	refused("a record of another slab", err)

	s.Free(i)
	a.Free(mustAlloc(t, a, SpanSize), SpanSize)
	a.Free(r, 100)
	r = mustAlloc(t, a, 2*SpanSize)
	_, err = a.Alloc(1)
	refused("a small body", err)
	a.Free(r, 2*SpanSize)
	mustSlab(t, s)
}

func TestAddressSpaceRunsOut(t *testing.T) {
	a := New(0)
	defer closeArena(t, a)
	left := 5 * SpanSize
	a.reserve = func(size int) ([]byte, error) {
		if size > left {
			return nil, errors.New("no address space left")
		}
		left -= size
		return reserveRegion(size)
	}
	var spans [][]byte
	for {
		b, err := a.Span()
		if errors.Is(err, ErrNoMemory) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		spans = append(spans, b)
	}
	if len(spans) != 5 || a.Used() != 5*SpanSize {
		t.Fatalf("%d spans, %d bytes used; want 5 spans", len(spans), a.Used())
	}
	if _, err := a.Alloc(1); !errors.Is(err, ErrNoMemory) {
		t.Fatalf("a body: %v", err)
	}
	if _, err := NewSlab[job](a).Alloc(); !errors.Is(err, ErrNoMemory) {
		t.Fatalf("a record: %v", err)
	}
	a.FreeSpan(spans[3])
	mustAlloc(t, a, 1)
}

func TestClose(t *testing.T) {
	a := New(0)
	s := NewSlab[job](a)
	i := mustSlab(t, s)
	small, large := mustAlloc(t, a, 10), mustAlloc(t, a, 1<<20)
	if _, err := a.Span(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if a.Used() != 0 || s.Len() != 0 {
		t.Fatalf("%d bytes and %d records in use after Close", a.Used(), s.Len())
	}
	mustPanic(t, "record", func() { s.At(i).id = 1 })
	mustPanic(t, "new record", func() { _, _ = s.Alloc() })
	mustPanic(t, "small body", func() { a.Bytes(small, 10) })
	mustPanic(t, "large body", func() { a.Bytes(large, 1<<20) })
	mustPanic(t, "new small body", func() { _, _ = a.Alloc(10) })
	mustPanic(t, "new large body", func() { _, _ = a.Alloc(1 << 20) })
	mustPanic(t, "span", func() { _, _ = a.Span() })
}

// checkPool verifies what must hold of p between two calls.
func checkPool(t *rapid.T, p *pool) {
	open := make(map[uint32]bool)
	prev := uint32(0)
	for n := p.open; n != 0; n = p.chunks[n].next {
		if open[n] || p.chunks[n].prev != prev {
			t.Fatalf("the open list is broken at chunk %d", n)
		}
		open[n] = true
		prev = n
	}
	live := 0
	for n := range p.chunks {
		c, isOpen := &p.chunks[n], open[uint32(n)]
		live += int(c.live)
		if p.bases[n] == nil {
			if c.live != 0 || isOpen {
				t.Fatalf("chunk %d is vacant with %d slots in use, open %v", n, c.live, isOpen)
			}
			continue
		}
		if c.live == 0 || isOpen != (c.live < p.slots) {
			t.Fatalf("chunk %d has %d of %d slots in use, open %v", n, c.live, p.slots, isOpen)
		}
	}
	if live != p.live {
		t.Fatalf("%d slots in use, counted %d", live, p.live)
	}
	if chunksInUse(p)+len(p.vacant)+1 != len(p.bases) {
		t.Fatalf("%d chunks: %d in use, %d vacant", len(p.bases)-1, chunksInUse(p), len(p.vacant))
	}
}

func chunksInUse(p *pool) int {
	n := 0
	for _, b := range p.bases {
		if b != nil {
			n++
		}
	}
	return n
}

// fataler is what testing.TB and rapid.T have in common here.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

func closeArena(t fataler, a *Arena) {
	t.Helper()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
}

func mustPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Helper()
			t.Errorf("%s: no panic", what)
		}
	}()
	f()
}
