package queue

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/haricotq/haricot/internal/protocol"
)

// jobRecord makes a record with an id and nothing else.
func jobRecord(t *testing.T, m *Machine, id protocol.JobID) slot {
	t.Helper()
	n, err := m.jobs.Alloc()
	if err != nil {
		t.Fatal(err)
	}
	m.job(slot(n)).id = id
	return slot(n)
}

// checkOrder looks at every entry of a heap: at its place, and not before its
// parent.
func checkOrder(t *testing.T, m *Machine, h *heap) {
	t.Helper()
	for i := range h.n {
		e := *h.at(i)
		if int(m.job(e.slot).place) != i {
			t.Fatalf("the entry at %d says that it is at %d", i, m.job(e.slot).place)
		}
		if i > 0 && m.before(e, *h.at((i - 1) / arity)) {
			t.Fatalf("the entry at %d stands before its parent", i)
		}
	}
}

// A heap that grows over several chunks and shrinks again stays in order
// wherever it is touched, and has no more chunks than it needs.
func TestHeapAcrossChunks(t *testing.T) {
	const n = 50_000
	m := New(Config{})
	defer m.Release()
	chance := rand.New(rand.NewPCG(1, 2))
	var h heap
	slots := make([]slot, n)
	for i := range slots {
		slots[i] = jobRecord(t, m, protocol.JobID(i+1))
		// Few different keys, so that many are equal and ids decide.
		h.push(m, entry{uint64(chance.IntN(1000)), uint32(chance.IntN(5)), slots[i]})
	}
	if want := (n + chunkLen - 1) / chunkLen; len(h.chunks) != want || h.n != n {
		t.Fatalf("%d entries in %d chunks, want %d", h.n, len(h.chunks), want)
	}
	checkOrder(t, m, &h)

	// Remove and change in any place, then take the rest from the front.
	chance.Shuffle(n, func(i, j int) { slots[i], slots[j] = slots[j], slots[i] })
	for i, s := range slots[:n/2] {
		h.remove(m, int(m.job(s).place))
		if other := slots[n/2+i]; i%3 == 0 {
			h.replace(m, int(m.job(other).place), entry{uint64(chance.IntN(1000)), uint32(chance.IntN(5)), other})
		}
		if i%5000 == 0 {
			checkOrder(t, m, &h)
		}
	}
	checkOrder(t, m, &h)
	last := []uint64{0, 0, 0}
	for range n / 2 {
		e := h.head()
		next := []uint64{uint64(e.major), e.minor, uint64(m.job(e.slot).id)}
		if slices.Compare(last, next) >= 0 {
			t.Fatalf("%v comes after %v", next, last)
		}
		last = next
		h.remove(m, 0)
		if need := h.n/chunkLen + 1; len(h.chunks) > need+1 {
			t.Fatalf("%d entries in %d chunks", h.n, len(h.chunks))
		}
	}
	if h.n != 0 || len(h.chunks) != 1 || len(h.chunks[0].entries) != shortCap || h.chunks[0].span != nil {
		t.Fatalf("an empty heap has %d entries and %d chunks, the first of %d", h.n, len(h.chunks), len(h.chunks[0].entries))
	}
}

// A heap whose length swings around the end of a chunk does not take and give
// back a chunk at every step.
func TestHeapAtTheEndOfAChunk(t *testing.T) {
	m := New(Config{})
	defer m.Release()
	var h heap
	for i := range chunkLen + 1 {
		h.push(m, entry{uint64(i), 0, jobRecord(t, m, protocol.JobID(i+1))})
	}
	second := &h.chunks[1].entries[0]
	for range 10 {
		s := h.at(h.n - 1).slot
		h.remove(m, h.n-1)
		h.push(m, entry{uint64(m.job(s).id), 0, s})
	}
	if len(h.chunks) != 2 || &h.chunks[1].entries[0] != second {
		t.Error("the chunk was exchanged")
	}
	for h.n > 0 {
		h.remove(m, h.n-1)
	}
	h.release(m.memory)
	if h.chunks != nil {
		t.Error("chunks are left after release")
	}
}

// A job that is accepted must be able to move: when the arena has nothing left
// a heap takes its chunks from the Go heap.
func TestHeapWithoutArena(t *testing.T) {
	records := make([]slot, 3*chunkLen)
	m := limited(t, int64(len(records))*int64(unsafe.Sizeof(job{})))
	for i := range records {
		records[i] = jobRecord(t, m, protocol.JobID(i+1))
	}
	if _, err := m.memory.Span(); err == nil {
		t.Fatal("the arena has a span left")
	}
	var h heap
	for i := range records {
		h.push(m, entry{uint64(len(records) - i), 0, records[i]})
	}
	if len(h.chunks) != 3 {
		t.Fatalf("%d chunks", len(h.chunks))
	}
	for _, c := range h.chunks {
		if c.span != nil || len(c.entries) != chunkLen {
			t.Errorf("a chunk of %d entries, in the arena: %v", len(c.entries), c.span != nil)
		}
	}
	checkOrder(t, m, &h)
	for i := range records {
		if got, want := h.head().slot, records[len(records)-1-i]; got != want {
			t.Fatalf("head is %d, want %d", got, want)
		}
		h.remove(m, 0)
	}
}

// The places of waiting clients and of timers are a heap too.
func TestOrder(t *testing.T) {
	chance := rand.New(rand.NewPCG(3, 4))
	var o order
	items := make([]*item, 1000)
	for i := range items {
		items[i] = &item{key: int64(chance.IntN(100)), place: absent, tube: &tube{}}
		if i%2 == 0 {
			items[i].tube, items[i].client = nil, &client{id: ClientID(i)}
		}
		o.add(items[i])
	}
	for _, i := range items[:500] {
		switch chance.IntN(3) {
		case 0:
			o.remove(i)
		case 1:
			o.lower(i, i.key-int64(chance.IntN(50)))
		default:
			o.raise(i, i.key+int64(chance.IntN(50)))
		}
	}
	var drained []*item
	for len(o) > 0 {
		first := o[0]
		o.remove(first)
		if first.place != absent {
			t.Fatal("what was removed says that it is there")
		}
		drained = append(drained, first)
	}
	for i, each := range drained[1:] {
		if each.before(drained[i]) {
			t.Fatalf("item %d comes too late", i+1)
		}
	}
	if cap(o) > 64 {
		t.Errorf("an empty order keeps room for %d", cap(o))
	}
	// Of equal keys tubes come first, then clients by their numbers.
	a, b, c := &item{client: &client{id: 1}}, &item{client: &client{id: 2}}, &item{tube: &tube{}}
	if !c.before(a) || a.before(c) || !a.before(b) || b.before(a) || c.before(c) || a.before(a) {
		t.Error("items of equal keys are not in order")
	}
}

// The index finds every job and no other, while it grows and shrinks.
func TestIndex(t *testing.T) {
	const n = 100_000
	m := New(Config{})
	defer m.Release()
	chance := rand.New(rand.NewPCG(5, 6))
	slots := make([]slot, n+1)
	room := func() (sum int) {
		for i := range m.ids.shards {
			sum += len(m.ids.shards[i].slots)
		}
		return sum
	}
	for id := 1; id <= n; id++ {
		slots[id] = jobRecord(t, m, protocol.JobID(id))
		m.enter(slots[id])
	}
	if room() > 4*n {
		t.Errorf("the index has %d places for %d jobs", room(), n)
	}
	gone := chance.Perm(n)
	for i, at := range gone {
		id := protocol.JobID(at + 1)
		if m.find(id) != slots[id] {
			t.Fatalf("job %d is not found", id)
		}
		m.leave(slots[id])
		if m.find(id) != 0 {
			t.Fatalf("job %d is found after it left", id)
		}
		if i == n/2 {
			for _, at := range gone[i+1:] {
				if id := protocol.JobID(at + 1); m.find(id) != slots[id] {
					t.Fatalf("job %d is lost", id)
				}
			}
		}
	}
	if m.find(0) != 0 || m.find(n+1) != 0 || m.find(1<<64-1) != 0 {
		t.Error("jobs are found that never were")
	}
	if room() > indexShards*shardMin {
		t.Errorf("an empty index has %d places", room())
	}
}

// Ids with gaps, as drained or refused puts leave them, do not crowd together.
func TestIndexWithGaps(t *testing.T) {
	for _, step := range []protocol.JobID{1, 2, 256, 65536, 1 << 40} {
		m := New(Config{})
		const n = 2000
		slots := make([]slot, n)
		for i := range slots {
			slots[i] = jobRecord(t, m, 1+protocol.JobID(i)*step)
			m.enter(slots[i])
		}
		for i := range slots {
			if m.find(1+protocol.JobID(i)*step) != slots[i] {
				t.Fatalf("step %d: job %d is lost", step, i)
			}
		}
		slices.Reverse(slots)
		for _, s := range slots {
			m.leave(s)
		}
		if err := m.Release(); err != nil {
			t.Error(err)
		}
	}
}
