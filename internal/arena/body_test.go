package arena

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"testing"

	"pgregory.net/rapid"
)

// body is one body of the model: what was stored, and where.
type body struct {
	ref  Ref
	want []byte
}

func TestBodiesAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := New(0)
		defer closeArena(t, a)
		var live []body
		size := rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(0, 10_000),
			rapid.IntRange(maxSmall-300, maxSmall+300), rapid.IntRange(0, 300_000),
			rapid.SampledFrom([]int{0, 1, 16, 17, 128, 129, maxSmall, maxSmall + 1}))
		t.Repeat(map[string]func(*rapid.T){
			"alloc": func(t *rapid.T) {
				n := size.Draw(t, "size")
				seed := rapid.Uint8().Draw(t, "seed")
				for k := range rapid.IntRange(1, 8).Draw(t, "bodies") {
					r, err := a.Alloc(n)
					if err != nil {
						t.Fatal(err)
					}
					b := body{r, pattern(n, seed+byte(k))}
					copy(a.Bytes(r, n), b.want)
					live = append(live, b)
				}
			},
			"overwrite": func(t *rapid.T) {
				if len(live) == 0 {
					t.Skip("nothing there")
				}
				b := &live[rapid.IntRange(0, len(live)-1).Draw(t, "body")]
				b.want = pattern(len(b.want), rapid.Uint8().Draw(t, "seed"))
				copy(a.Bytes(b.ref, len(b.want)), b.want)
			},
			"free": func(t *rapid.T) {
				for range min(len(live), rapid.IntRange(1, 20).Draw(t, "bodies")) {
					at := rapid.IntRange(0, len(live)-1).Draw(t, "body")
					a.Free(live[at].ref, len(live[at].want))
					live[at] = live[len(live)-1]
					live = live[:len(live)-1]
				}
			},
			"": func(t *rapid.T) { checkBodies(t, a, live) },
		})
		for _, b := range live {
			a.Free(b.ref, len(b.want))
		}
		if a.Used() != 0 {
			t.Fatalf("%d bytes in use by no body", a.Used())
		}
	})
}

// checkBodies compares all contents, which also shows overlaps, since each
// body was written in full after its neighbours were.
func checkBodies(t *rapid.T, a *Arena, live []body) {
	var large int64
	for _, b := range live {
		n := len(b.want)
		got := a.Bytes(b.ref, n)
		if !bytes.Equal(got, b.want) {
			t.Fatalf("body %#x of %d bytes has changed", b.ref, n)
		}
		if cap(got) != n {
			t.Fatalf("body of %d bytes has capacity %d", n, cap(got))
		}
		if n > maxSmall {
			page := os.Getpagesize()
			large += int64((n + page - 1) / page * page)
		}
	}
	small := int64(0)
	for c := range a.classes {
		checkPool(t, &a.classes[c])
		small += int64(chunksInUse(&a.classes[c])) * SpanSize
	}
	if a.Used() != small+large {
		t.Fatalf("Used is %d, want %d in spans and %d in large bodies", a.Used(), small, large)
	}
}

// pattern returns n bytes that differ from place to place and seed to seed.
func pattern(n int, seed byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = seed + byte(i*7) + byte(i>>8)
	}
	return b
}

func TestClasses(t *testing.T) {
	for n := 1; n <= maxSmall; n++ {
		stride := int(strides[classOf(n)])
		if stride < n {
			t.Fatalf("%d bytes go to slots of %d", n, stride)
		}
		rounded := (n + granule - 1) / granule * granule
		switch {
		case n <= 128 && stride != rounded,
			n <= 8192 && (stride-rounded)*8 > rounded:
			t.Fatalf("%d bytes go to slots of %d: too large", n, stride)
		case SpanSize/stride != SpanSize/rounded && n > 8192:
			t.Fatalf("a span holds %d bodies of %d bytes, want %d", SpanSize/stride, n, SpanSize/rounded)
		}
	}
}

func TestEmptyBody(t *testing.T) {
	a := New(1)
	defer closeArena(t, a)
	r, err := a.Alloc(0)
	if r != 0 || err != nil || len(a.Bytes(r, 0)) != 0 || a.Used() != 0 {
		t.Fatalf("Alloc(0) = %#x, %v, and %d bytes used", r, err, a.Used())
	}
	a.Free(r, 0)
	a.Free(r, 0)
}

func TestSmallBodiesCost(t *testing.T) {
	const n = 500_000
	a := New(0)
	defer closeArena(t, a)
	for range n {
		mustAlloc(t, a, 16)
	}
	if each := float64(a.Used()) / n; each >= 17 {
		t.Fatalf("a body of 16 bytes costs %.2f bytes", each)
	}
}

func TestBodyLimit(t *testing.T) {
	const limit = 3 * SpanSize
	page := os.Getpagesize()
	for _, n := range []int{16, 200, maxSmall, maxSmall + 1, limit - page + 1, limit} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			a := New(limit)
			defer closeArena(t, a)
			fit := limit / ((n + page - 1) / page * page)
			if n <= maxSmall {
				fit = 3 * (SpanSize / int(strides[classOf(n)]))
			}
			refs := make([]Ref, fit)
			for i := range refs {
				refs[i] = mustAlloc(t, a, n)
			}
			for range 2 {
				if r, err := a.Alloc(n); !errors.Is(err, ErrNoMemory) {
					t.Fatalf("the body after %d that fit: %#x, %v", fit, r, err)
				}
				a.Free(refs[0], n)
				refs[0] = mustAlloc(t, a, n)
			}
			for _, r := range refs {
				a.Free(r, n)
			}
			a.Free(mustAlloc(t, a, limit), limit)
		})
	}
	a := New(limit)
	defer closeArena(t, a)
	if r, err := a.Alloc(limit + 1); !errors.Is(err, ErrNoMemory) {
		t.Fatalf("a body of a byte over the limit: %#x, %v", r, err)
	}
}

func TestSystemRefuses(t *testing.T) {
	a := New(0)
	defer closeArena(t, a)
	for _, n := range []int{math.MaxInt, math.MaxInt/4*3 + 1} {
		if r, err := a.Alloc(n); !errors.Is(err, ErrNoMemory) {
			t.Fatalf("a body of %d bytes: %#x, %v", n, r, err)
		}
	}
	if a.Used() != 0 {
		t.Fatalf("refused bodies use %d bytes", a.Used())
	}
}

func TestBodyMisuse(t *testing.T) {
	a := New(0)
	defer closeArena(t, a)
	page := os.Getpagesize()
	sizes := []int{5, 1000, maxSmall, maxSmall + 1, 1 << 20}
	for _, n := range sizes {
		freed, kept := mustAlloc(t, a, n), mustAlloc(t, a, n)
		a.Free(freed, n)
		mustPanic(t, "double free", func() { a.Free(freed, n) })
		mustPanic(t, "wrong size", func() { a.Free(kept, n+page) })
		mustPanic(t, "size 0", func() { a.Free(kept, 0) })
		mustPanic(t, "bytes with size 0", func() { a.Bytes(kept, 0) })
		mustPanic(t, "negative size", func() { a.Bytes(kept, -n) })
		a.Free(kept, n)
		mustPanic(t, "bytes of a body whose memory is gone", func() { a.Bytes(kept, n) })
	}
	mustPanic(t, "empty body with a size", func() { a.Bytes(0, 5) })
	mustPanic(t, "free of the empty body with a size", func() { a.Free(0, 5) })
	mustPanic(t, "class that does not exist", func() { a.Free(Ref(200)<<classBits|1, 5) })
	mustPanic(t, "negative size", func() { _, _ = a.Alloc(-1) })
	if a.Used() != 0 {
		t.Fatalf("misuse has left %d bytes in use", a.Used())
	}
}

func TestLargeTableStaysSmall(t *testing.T) {
	a := New(0)
	defer closeArena(t, a)
	const n = maxSmall + 1
	for range 100 {
		first, second := mustAlloc(t, a, n), mustAlloc(t, a, n)
		a.Free(first, n)
		a.Free(second, n)
	}
	if got := len(a.large.table); got != 2 {
		t.Fatalf("the table has %d places for 2 bodies", got)
	}
}

// TestStuckMapping takes the path of a system that does not unmap, which it
// may not when that makes one mapping too many.
func TestStuckMapping(t *testing.T) {
	a := New(0)
	defer closeArena(t, a)
	const n = 1 << 20
	r := mustAlloc(t, a, n)
	other := mustAlloc(t, a, 2*n)
	a.unmap = func([]byte) error { return errors.New("too many mappings") }
	copy(a.Bytes(r, n), pattern(n, 1))
	at := &a.Bytes(r, n)[0]
	a.Free(r, n)
	a.Free(other, 2*n)
	if a.Used() != 0 || len(a.large.stuck) != 2 {
		t.Fatalf("%d bytes used, %d mappings stuck", a.Used(), len(a.large.stuck))
	}
	a.unmap = unmap
	again := mustAlloc(t, a, n)
	if &a.Bytes(again, n)[0] != at || len(a.large.stuck) != 1 {
		t.Fatalf("the mapping was not used again, %d are stuck", len(a.large.stuck))
	}
}

// mustAlloc is for benchmarks too, where t.Helper would be most of the time.
func mustAlloc(t testing.TB, a *Arena, n int) Ref {
	r, err := a.Alloc(n)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
