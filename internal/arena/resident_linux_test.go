package arena

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"
)

// TestMemoryReturns fills 200 MB with each kind of user and frees it again:
// the process must grow, and shrink by nearly as much.
func TestMemoryReturns(t *testing.T) {
	const total = 200 << 20
	for _, n := range []int{64, 200, 16 << 10, 1 << 20} {
		t.Run(fmt.Sprint("bodies of ", n), func(t *testing.T) {
			a := New(0)
			defer closeArena(t, a)
			refs := touched[Ref](total / n)
			checkReturns(t, total, func() {
				for i := range refs {
					refs[i] = mustAlloc(t, a, n)
					clear(a.Bytes(refs[i], n))
				}
			}, func() {
				for _, r := range refs {
					a.Free(r, n)
				}
			})
		})
	}
	t.Run("records", func(t *testing.T) {
		a := New(0)
		defer closeArena(t, a)
		s := NewSlab[job](a)
		records := touched[uint32](total / 64)
		checkReturns(t, total, func() {
			for i := range records {
				records[i] = mustSlab(t, s)
			}
		}, func() {
			for _, i := range records {
				s.Free(i)
			}
		})
	})
}

// touched returns a slice whose memory the process has already.
func touched[E Ref | uint32](n int) []E {
	s := make([]E, n)
	for i := range s {
		s[i] = 1
	}
	return s
}

func checkReturns(t *testing.T, total int, fill, drain func()) {
	before := resident(t)
	fill()
	full := resident(t)
	drain()
	after := resident(t)
	t.Logf("resident MB: %d before, %d full, %d after", before>>20, full>>20, after>>20)
	if full-before < total*3/4 {
		t.Errorf("%d bytes written, but the process grew by only %d", total, full-before)
	}
	if after-before > total/4 {
		t.Errorf("%d bytes freed, but the process still has %d more than before", total, after-before)
	}
}

// resident returns the bytes of memory the process has, without those that
// Go's collector could return.
func resident(t *testing.T) int {
	t.Helper()
	debug.FreeOSMemory()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(status), "VmRSS:")
	var kb int
	if _, err := fmt.Sscanf(rest, "%d kB", &kb); !ok || err != nil {
		t.Fatalf("no VmRSS in /proc/self/status: %v", err)
	}
	return kb << 10
}
