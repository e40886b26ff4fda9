package arena

import (
	"errors"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// job is a record of the size that matters most.
type job struct {
	id   uint64
	rest [7]uint64
}

// odd is a record whose size is neither a multiple of 8 nor a power of two.
type odd struct {
	a [4097]uint16
}

func TestSlabAgainstModel(t *testing.T) {
	t.Run("64 bytes", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			checkSlab(t, 3000, func(j *job, v uint64) { j.id, j.rest[6] = v, v },
				func(j *job, v uint64) bool { return j.id == v && j.rest[6] == v })
		})
	})
	t.Run("24 bytes", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			checkSlab(t, 5000, func(r *[3]uint64, v uint64) { r[0], r[2] = v, v },
				func(r *[3]uint64, v uint64) bool { return r[0] == v && r[2] == v })
		})
	})
	t.Run("8194 bytes", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			checkSlab(t, 50, func(o *odd, v uint64) { o.a[0], o.a[4096] = uint16(v), uint16(v) },
				func(o *odd, v uint64) bool { return o.a[0] == uint16(v) && o.a[4096] == uint16(v) })
		})
	})
	t.Run("1 byte", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			checkSlab(t, 5000, func(b *uint8, v uint64) { *b = uint8(v) },
				func(b *uint8, v uint64) bool { return *b == uint8(v) })
		})
	})
}

// checkSlab allocates and frees in bursts, of up to more than a chunk, so that
// chunks fill and run empty, and compares every record with what was written to it.
func checkSlab[T comparable](t *rapid.T, burst int, set func(*T, uint64), is func(*T, uint64) bool) {
	a := New(0)
	defer closeArena(t, a)
	s := NewSlab[T](a)
	var zero T
	model := make(map[uint32]uint64)
	var order []uint32
	next := uint64(1)
	t.Repeat(map[string]func(*rapid.T){
		"alloc": func(t *rapid.T) {
			for range rapid.IntRange(1, burst).Draw(t, "records") {
				i, err := s.Alloc()
				if err != nil {
					t.Fatal(err)
				}
				if _, taken := model[i]; taken || i == 0 {
					t.Fatalf("Alloc returned %d, which is taken or zero", i)
				}
				if *s.At(i) != zero {
					t.Fatalf("record %d is not zero", i)
				}
				if uintptr(unsafe.Pointer(s.At(i)))%8 != 0 {
					t.Fatalf("record %d lies at %p", i, s.At(i))
				}
				set(s.At(i), next)
				model[i] = next
				order = append(order, i)
				next++
			}
		},
		"free": func(t *rapid.T) {
			for range rapid.IntRange(1, burst).Draw(t, "records") {
				if len(order) == 0 {
					break
				}
				at := next * 2654435761 % uint64(len(order)) // scattered, and the same at each run
				next++
				i := order[at]
				order[at] = order[len(order)-1]
				order = order[:len(order)-1]
				delete(model, i)
				s.Free(i)
			}
		},
		"free all, oldest first": func(*rapid.T) {
			for _, i := range order {
				s.Free(i)
			}
			order = nil
			clear(model)
		},
		"": func(t *rapid.T) {
			if s.Len() != len(model) {
				t.Fatalf("Len is %d, want %d", s.Len(), len(model))
			}
			for i, v := range model {
				if !is(s.At(i), v) {
					t.Fatalf("record %d has changed", i)
				}
			}
			checkPool(t, &s.pool)
		},
	})
}

func TestSlabGivesSpansBack(t *testing.T) {
	a := New(0)
	defer closeArena(t, a)
	s := NewSlab[job](a)
	const spans = 3
	var all []uint32
	for range spans * SpanSize / unsafe.Sizeof(job{}) {
		all = append(all, mustSlab(t, s))
	}
	if got := a.Used(); got != spans*SpanSize {
		t.Fatalf("%d records of 64 bytes use %d bytes, want %d", len(all), got, spans*SpanSize)
	}
	for _, i := range all {
		s.Free(i)
	}
	if got := a.Used(); got != 0 {
		t.Fatalf("an empty slab uses %d bytes", got)
	}
	for n, kept := 0, 0; n < len(s.pool.chunks); n++ {
		if s.pool.chunks[n].taken != nil {
			kept++
		}
		if kept > 1 {
			t.Fatal("vacant chunks keep their bits")
		}
	}
}

func TestSlabFillsOldChunksFirst(t *testing.T) {
	a := New(0)
	defer closeArena(t, a)
	s := NewSlab[job](a)
	perSpan := int(SpanSize / unsafe.Sizeof(job{}))
	var all []uint32
	for range 2*perSpan + 1 {
		all = append(all, mustSlab(t, s))
	}
	for _, i := range all[:10] {
		s.Free(i)
	}
	for range 10 {
		mustSlab(t, s)
	}
	s.Free(all[2*perSpan])
	if got := a.Used(); got != 2*SpanSize {
		t.Fatalf("the third span is not free: %d bytes in use", got)
	}
}

func TestSlabRefusesPointers(t *testing.T) {
	a := New(0)
	defer closeArena(t, a)
	mustPanic(t, "pointer", func() { NewSlab[*int](a) })
	mustPanic(t, "string in struct", func() { NewSlab[struct{ s string }](a) })
	mustPanic(t, "slice in array", func() { NewSlab[[2][]byte](a) })
	mustPanic(t, "interface", func() { NewSlab[error](a) })
	mustPanic(t, "unsafe pointer", func() { NewSlab[unsafe.Pointer](a) })
	mustPanic(t, "more than a span", func() { NewSlab[[SpanSize + 1]byte](a) })
	NewSlab[[0]*int](a)
	NewSlab[[SpanSize]byte](a)
	NewSlab[struct {
		a [3]int8
		b float64
		c uintptr
	}](a)
}

func TestSlabMisuse(t *testing.T) {
	a := New(0)
	defer closeArena(t, a)
	s := NewSlab[job](a)
	i, keep := mustSlab(t, s), mustSlab(t, s)
	s.Free(i)
	mustPanic(t, "double free", func() { s.Free(i) })
	mustPanic(t, "free of 0", func() { s.Free(0) })
	mustPanic(t, "free of a number never given out", func() { s.Free(1 << 31) })
	mustPanic(t, "record 0", func() { s.At(0).id = 1 })
	s.Free(keep)
	mustPanic(t, "double free in a chunk that is gone", func() { s.Free(keep) })
	if s.Len() != 0 || a.Used() != 0 {
		t.Fatalf("misuse has left traces: %d records, %d bytes", s.Len(), a.Used())
	}
}

func TestSlabLimit(t *testing.T) {
	a := New(SpanSize)
	defer closeArena(t, a)
	s := NewSlab[job](a)
	var last uint32
	for range SpanSize / unsafe.Sizeof(job{}) {
		last = mustSlab(t, s)
	}
	if _, err := s.Alloc(); !errors.Is(err, ErrNoMemory) {
		t.Fatalf("the record over the limit: %v", err)
	}
	s.Free(last)
	mustSlab(t, s)
}

func TestSlabRunsOutOfNumbers(t *testing.T) {
	a := New(0)
	defer closeArena(t, a)
	s := NewSlab[[SpanSize / 2]byte](a)
	s.pool.shift = 31 // one chunk has all the numbers there are
	mustSlab(t, s)
	mustSlab(t, s)
	if i, err := s.Alloc(); !errors.Is(err, ErrNoMemory) {
		t.Fatalf("Alloc returned %d, %v", i, err)
	}
}

// mustSlab is for benchmarks too, where t.Helper would be most of the time.
func mustSlab[T any](t testing.TB, s *Slab[T]) uint32 {
	i, err := s.Alloc()
	if err != nil {
		t.Fatal(err)
	}
	return i
}
