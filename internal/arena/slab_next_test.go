package arena

import (
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// checkNext goes through a slab in portions while records come and go. Every
// record that is there from the first portion to the last must be met once, and
// nothing that is not in use ever.
func checkNext[T any](t *rapid.T) {
	a := New(0)
	defer closeArena(t, a)
	s := NewSlab[T](a)
	chunk := int(s.pool.slots)
	alive := make(map[uint32]bool)
	change := func(most int) {
		for range rapid.IntRange(0, most).Draw(t, "new") {
			i, err := s.Alloc()
			if err != nil {
				t.Fatal(err)
			}
			alive[i] = true
		}
		// A stretch of numbers goes as a whole, so that chunks run empty.
		from := uint32(rapid.IntRange(0, len(s.pool.bases)*chunk).Draw(t, "from"))
		some := rapid.IntRange(0, most).Draw(t, "gone")
		for i := s.Next(from); i != 0 && some > 0; i = s.Next(i + 1) {
			s.Free(i)
			delete(alive, i)
			some--
		}
	}
	change(3 * chunk)
	stays := make(map[uint32]bool)
	for i := range alive {
		stays[i] = true
	}
	met := make(map[uint32]int)
	for at := uint32(1); at != 0; {
		for range rapid.IntRange(1, 2*chunk).Draw(t, "portion") {
			if at = s.Next(at); at == 0 {
				break
			}
			if !alive[at] {
				t.Fatalf("record %d is not in use", at)
			}
			met[at]++
			at++
		}
		if rapid.Bool().Draw(t, "change") {
			change(2 * chunk)
			for i := range stays {
				if !alive[i] {
					delete(stays, i)
				}
			}
		}
	}
	for i := range stays {
		if met[i] != 1 {
			// One that went and whose number another has got may be missed or met twice.
			t.Fatalf("record %d was there all the time and was met %d times", i, met[i])
		}
	}
}

func TestNext(t *testing.T) {
	// Slots in a chunk: 3, 7, a power of two, and one that is none.
	t.Run("third of a span", func(t *testing.T) { rapid.Check(t, checkNext[[SpanSize / 3]byte]) })
	t.Run("seventh of a span", func(t *testing.T) { rapid.Check(t, checkNext[[SpanSize/7 - 8]byte]) })
	t.Run("power of two", func(t *testing.T) { rapid.Check(t, checkNext[[SpanSize / 64]byte]) })
	t.Run("odd", func(t *testing.T) { rapid.Check(t, checkNext[[SpanSize/100 + 1]byte]) })
}

// TestNextEnds looks at the edges of a chunk that is full and not a power of two.
func TestNextEnds(t *testing.T) {
	a := New(0)
	defer closeArena(t, a)
	s := NewSlab[[3]uint64](a)
	if got := s.Next(1); got != 0 {
		t.Fatalf("an empty slab has record %d", got)
	}
	perSpan := int(SpanSize / unsafe.Sizeof([3]uint64{}))
	if perSpan&(perSpan-1) == 0 || perSpan%64 == 0 {
		t.Fatalf("%d records in a span make no edge", perSpan)
	}
	var all []uint32
	for range 3 * perSpan {
		all = append(all, mustSlab(t, s))
	}
	walk := func() (met []uint32) {
		for i := s.Next(0); i != 0; i = s.Next(i + 1) {
			met = append(met, i)
		}
		return met
	}
	met := walk()
	if len(met) != len(all) {
		t.Fatalf("%d records were met, of %d", len(met), len(all))
	}
	// Behind the last record of a chunk comes the first of the next.
	for n := 1; n < 3; n++ {
		if got := s.Next(met[n*perSpan-1] + 1); got != met[n*perSpan] {
			t.Fatalf("behind chunk %d comes record %d, want %d", n, got, met[n*perSpan])
		}
	}
	for _, i := range met[perSpan : 2*perSpan] { // the chunk in the middle is vacant
		s.Free(i)
	}
	if got := s.Next(met[perSpan]); got != met[2*perSpan] {
		t.Fatalf("behind a vacant chunk comes record %d, want %d", got, met[2*perSpan])
	}
	if got := len(walk()); got != 2*perSpan {
		t.Fatalf("%d records were met, of %d", got, 2*perSpan)
	}
	last := met[3*perSpan-1]
	if got := s.Next(last); got != last {
		t.Fatalf("from the last record on comes %d", got)
	}
	if got := s.Next(last + 1); got != 0 {
		t.Fatalf("behind the last record comes %d", got)
	}
	if got := s.Next(1<<32 - 1); got != 0 {
		t.Fatalf("behind all numbers comes %d", got)
	}
	for _, i := range walk() {
		s.Free(i)
	}
	if got := s.Next(1); got != 0 {
		t.Fatalf("an emptied slab has record %d", got)
	}
}
