package arena

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkBody frees the oldest of 10,000 bodies and takes a new one.
func BenchmarkBody(b *testing.B) {
	for _, n := range []int{16, 200, 16 << 10} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			a := New(0)
			defer closeArena(b, a)
			refs := make([]Ref, 10_000)
			for i := range refs {
				refs[i] = mustAlloc(b, a, n)
			}
			i := 0
			for b.Loop() {
				a.Free(refs[i], n)
				refs[i] = mustAlloc(b, a, n)
				if i++; i == len(refs) {
					i = 0
				}
			}
		})
	}
}

// BenchmarkBodyScattered does the same in an order that has nothing to do
// with the order of allocation, among 1,000,000 bodies.
func BenchmarkBodyScattered(b *testing.B) {
	a := New(0)
	defer closeArena(b, a)
	refs := make([]Ref, 1_000_000)
	for i := range refs {
		refs[i] = mustAlloc(b, a, 16)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for b.Loop() {
		i := random.IntN(len(refs))
		a.Free(refs[i], 16)
		refs[i] = mustAlloc(b, a, 16)
	}
}

// BenchmarkBodyAlone takes and frees the only body there is, which takes and
// gives back a span each time.
func BenchmarkBodyAlone(b *testing.B) {
	a := New(0)
	defer closeArena(b, a)
	b.ReportAllocs()
	for b.Loop() {
		a.Free(mustAlloc(b, a, 16), 16)
	}
}

// BenchmarkLoad5M is the backlog of 5,000,000 jobs: a record and a body of 16
// bytes each. It reports what each job costs in spans and in the Go heap.
func BenchmarkLoad5M(b *testing.B) {
	const jobs = 5_000_000
	for b.Loop() {
		a := New(0)
		s := NewSlab[job](a)
		for range jobs {
			mustSlab(b, s)
		}
		records := a.Used()
		for range jobs {
			mustAlloc(b, a, 16)
		}
		b.ReportMetric(float64(records)/jobs, "B/record")
		b.ReportMetric(float64(a.Used()-records)/jobs, "B/body")
		closeArena(b, a)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/jobs, "ns/job")
}

func BenchmarkSlab(b *testing.B) {
	a := New(0)
	defer closeArena(b, a)
	s := NewSlab[job](a)
	keep := mustSlab(b, s)
	for b.Loop() {
		s.Free(mustSlab(b, s))
	}
	s.Free(keep)
}

// BenchmarkAt reads records in random order: all of 1,000 (in the cache), and
// of 1,000,000 (mostly not).
func BenchmarkAt(b *testing.B) {
	for _, n := range []int{1000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			a := New(0)
			defer closeArena(b, a)
			s := NewSlab[job](a)
			order := make([]uint32, n)
			for i := range order {
				order[i] = mustSlab(b, s)
				s.At(order[i]).id = 1
			}
			rand.New(rand.NewPCG(1, 2)).Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
			sum, i := uint64(0), 0
			for b.Loop() {
				sum += s.At(order[i]).id
				if i++; i == n {
					i = 0
				}
			}
			if sum == 0 {
				b.Fatal("nothing read")
			}
		})
	}
}
