package queue

import (
	"unsafe"

	"github.com/haricotq/haricot/internal/arena"
)

// entry is a job's place in a heap, with the key beside it so that comparing
// does not touch the job. Of ready jobs major is the priority and minor the
// id; of the others major is 0 and minor the deadline.
type entry struct {
	minor uint64
	major uint32
	slot  slot
}

const (
	chunkLen    = arena.SpanSize / int(unsafe.Sizeof(entry{}))
	arity       = 4
	smallestCap = 4
	shortCap    = 64
)

// heap is a heap of jobs, each of which knows its position, so that any can be
// taken out. It is kept in chunks, so that a long one grows without copying and
// gives memory back when it shrinks; the first chunk grows by doubling, so that
// a short one is small.
type heap struct {
	chunks []chunk
	n      int
}

type chunk struct {
	entries []entry
	// span is the memory under entries, nil where the Go heap provides it.
	span []byte
}

func (h *heap) at(i int) *entry { return &h.chunks[i/chunkLen].entries[i%chunkLen] }

// head is the first job; the heap must not be empty.
func (h *heap) head() entry { return h.chunks[0].entries[0] }

// push adds a job and notes its position.
func (h *heap) push(m *Machine, e entry) {
	h.grow(m.memory)
	h.n++
	h.up(m, h.n-1, e)
}

// remove takes out the job at a position.
func (h *heap) remove(m *Machine, i int) {
	h.n--
	last := *h.at(h.n)
	if i < h.n {
		h.replace(m, i, last)
	}
	h.shrink(m.memory)
}

// replace puts another entry into position i and restores the order.
func (h *heap) replace(m *Machine, i int, e entry) {
	if i > 0 && m.before(e, *h.at((i - 1) / arity)) {
		h.up(m, i, e)
	} else {
		h.down(m, i, e)
	}
}

// before is the order of a heap. Jobs of equal deadline stand in the order of
// their ids.
func (m *Machine) before(a, b entry) bool {
	if a.major != b.major {
		return a.major < b.major
	}
	if a.minor != b.minor {
		return a.minor < b.minor
	}
	return m.job(a.slot).id < m.job(b.slot).id
}

func (h *heap) up(m *Machine, i int, e entry) {
	for i > 0 {
		parent := (i - 1) / arity
		p := *h.at(parent)
		if !m.before(e, p) {
			break
		}
		h.settle(m, i, p)
		i = parent
	}
	h.settle(m, i, e)
}

func (h *heap) down(m *Machine, i int, e entry) {
	for {
		child := i*arity + 1
		if child >= h.n {
			break
		}
		best := *h.at(child)
		for k := child + 1; k < min(i*arity+1+arity, h.n); k++ {
			if c := *h.at(k); m.before(c, best) {
				child, best = k, c
			}
		}
		if !m.before(best, e) {
			break
		}
		h.settle(m, i, best)
		i = child
	}
	h.settle(m, i, e)
}

func (h *heap) settle(m *Machine, i int, e entry) {
	*h.at(i) = e
	m.job(e.slot).place = uint32(i)
}

// grow makes room for one more entry. It cannot fail: a job that is already
// accepted must be able to move, so when the arena has no span left the Go heap
// provides the chunk.
func (h *heap) grow(memory *arena.Arena) {
	switch {
	case h.n == 0 && len(h.chunks) == 0:
		h.chunks = []chunk{{entries: make([]entry, smallestCap)}}
	case h.n < (len(h.chunks)-1)*chunkLen+len(h.chunks[len(h.chunks)-1].entries):
		return
	case h.n < chunkLen:
		h.resizeFirst(memory, 2*h.n)
	default:
		h.chunks = append(h.chunks, newChunk(memory))
	}
}

// shrink gives back the last chunk when the one before it has room to spare,
// and halves a lone chunk that is three quarters empty. A short one stays: a
// tube whose jobs come and go would have it made anew all the time.
func (h *heap) shrink(memory *arena.Arena) {
	last := len(h.chunks) - 1
	if last > 0 {
		if h.n < last*chunkLen-chunkLen/2 {
			h.chunks[last].release(memory)
			h.chunks[last] = chunk{}
			h.chunks = h.chunks[:last]
		}
		return
	}
	if size := len(h.chunks[0].entries); size > shortCap && h.n < size/4 {
		h.resizeFirst(memory, size/2)
	}
}

func (h *heap) resizeFirst(memory *arena.Arena, size int) {
	var next chunk
	if size == chunkLen {
		next = newChunk(memory)
	} else {
		next.entries = make([]entry, size)
	}
	copy(next.entries, h.chunks[0].entries)
	h.chunks[0].release(memory)
	h.chunks[0] = next
}

func newChunk(memory *arena.Arena) chunk {
	span, err := memory.Span()
	if err != nil {
		return chunk{entries: make([]entry, chunkLen)}
	}
	return chunk{unsafe.Slice((*entry)(unsafe.Pointer(&span[0])), chunkLen), span}
}

func (c *chunk) release(memory *arena.Arena) {
	if c.span != nil {
		memory.FreeSpan(c.span)
	}
}

// release gives the memory of a heap back whose jobs are no longer wanted.
func (h *heap) release(memory *arena.Arena) {
	for i := range h.chunks {
		h.chunks[i].release(memory)
	}
	*h = heap{}
}
