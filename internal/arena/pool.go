package arena

import (
	"math/bits"
	"unsafe"
)

// pool hands out slots of one size, by number. It cuts spans, called chunks
// while they are here, into as many slots as fit. A slot's number holds its
// chunk in the upper and its place in the chunk in the lower bits, so numbers
// have gaps where the slots of a chunk are not a power of two. Chunk 0 does
// not exist, hence no slot has the number 0.
//
// A chunk is vacant, open or full:
//
//	         span taken            last slot taken
//	vacant ──────────────► open ◄───────────────────► full
//	       ◄──────────────      first slot freed
//	        last slot freed
//
// A chunk that stops being full goes to the front of the open list, and slots
// are taken from the front: what is nearly full is filled up first, so that
// the others have a chance to run empty and give back their span.
type pool struct {
	arena  *Arena
	bases  []unsafe.Pointer // start of each chunk's span, nil if vacant
	stride uintptr          // bytes from slot to slot
	shift  uint32           // a slot's number >> shift is its chunk
	mask   uint32           // a slot's number & mask is its place there
	slots  uint32           // slots in a chunk
	open   uint32           // first of the open chunks, 0 if there is none
	live   int              // slots in use
	chunks []chunk          // as long as bases
	vacant []uint32         // chunks without a span
}

// chunk is what a pool knows about a span of its own.
type chunk struct {
	taken      []uint64 // a bit per slot; those beyond the last slot are set
	cursor     uint32   // the word of taken to look at first for a free slot
	live       uint32   // slots in use
	next, prev uint32   // neighbours in the open list, 0 at its ends
}

func (p *pool) init(a *Arena, stride uintptr) {
	slots := uint32(SpanSize / stride)
	shift := uint32(bits.Len32(slots - 1))
	*p = pool{
		arena: a, stride: stride, slots: slots, shift: shift, mask: 1<<shift - 1,
		bases: make([]unsafe.Pointer, 1), chunks: make([]chunk, 1),
	}
	a.pools = append(a.pools, p)
}

// alloc takes a slot and returns its number, which is not 0. What the slot
// contains is unspecified. The only error is ErrNoMemory.
func (p *pool) alloc() (uint32, error) {
	n := p.open
	if n == 0 {
		var err error
		if n, err = p.addChunk(); err != nil {
			return 0, err
		}
	}
	c := &p.chunks[n]
	w := c.cursor
	for c.taken[w] == ^uint64(0) {
		if w++; w == uint32(len(c.taken)) {
			w = 0
		}
	}
	bit := uint32(bits.TrailingZeros64(^c.taken[w]))
	c.taken[w] |= 1 << bit
	c.cursor = w
	c.live++
	p.live++
	if c.live == p.slots {
		p.unlink(n)
	}
	return n<<p.shift | w<<6 | bit, nil
}

// free gives slot i back. It panics if the slot is not in use.
func (p *pool) free(i uint32) {
	n, w, bit := i>>p.shift, i&p.mask>>6, uint64(1)<<(i&63&p.mask)
	if !p.inUse(i) {
		panic("arena: free of a slot that is not in use")
	}
	c := &p.chunks[n]
	c.taken[w] &^= bit
	c.cursor = w
	if c.live == p.slots {
		p.link(n)
	}
	c.live--
	p.live--
	if c.live == 0 {
		p.unlink(n)
		p.dropChunk(n)
	}
}

// inUse reports whether i is the number of a slot that is taken.
func (p *pool) inUse(i uint32) bool {
	n, place := i>>p.shift, i&p.mask
	return int(n) < len(p.bases) && p.bases[n] != nil && place < p.slots &&
		p.chunks[n].taken[place>>6]>>(place&63)&1 == 1
}

// next returns the number of the first slot in use from i on, or 0 if there is
// none.
func (p *pool) next(i uint32) uint32 {
	place := i & p.mask
	for n := i >> p.shift; int(n) < len(p.bases); n++ {
		if p.bases[n] != nil && p.chunks[n].live > 0 {
			for ; place < p.slots; place = place&^63 + 64 {
				if rest := p.chunks[n].taken[place>>6] >> (place & 63); rest != 0 {
					place += uint32(bits.TrailingZeros64(rest))
					if place < p.slots {
						return n<<p.shift | place
					}
				}
			}
		}
		place = 0
	}
	return 0
}

// at returns the address of slot i, which must be in use.
func (p *pool) at(i uint32) unsafe.Pointer {
	return unsafe.Add(p.bases[i>>(p.shift&31)], uintptr(i&p.mask)*p.stride)
}

// addChunk takes a span and makes it the only open chunk.
func (p *pool) addChunk() (uint32, error) {
	if len(p.vacant) == 0 && uint64(len(p.bases))<<p.shift > 1<<32-1 {
		return 0, ErrNoMemory // no numbers left
	}
	base, err := p.arena.takeSpan()
	if err != nil {
		return 0, err
	}
	var n uint32
	if len(p.vacant) > 0 {
		n = pop(&p.vacant)
	} else {
		n = uint32(len(p.bases))
		p.bases = append(p.bases, nil)
		p.chunks = append(p.chunks, chunk{})
	}
	p.bases[n] = base
	if c := &p.chunks[n]; c.taken == nil {
		c.taken = make([]uint64, (p.slots+63)/64)
		if rest := p.slots & 63; rest != 0 {
			c.taken[len(c.taken)-1] = ^uint64(0) << rest
		}
	}
	p.link(n)
	return n, nil
}

// dropChunk gives back the span of a chunk that has no slot in use. Only the
// chunk vacated last, which is the next to be used again, keeps its bits: one
// job that comes and goes makes no garbage, and a drained pool holds little.
func (p *pool) dropChunk(n uint32) {
	p.arena.giveSpan(p.bases[n])
	p.bases[n] = nil
	p.chunks[n].cursor = 0
	if last := len(p.vacant) - 1; last >= 0 {
		p.chunks[p.vacant[last]].taken = nil
	}
	p.vacant = append(p.vacant, n)
}

// link puts chunk n in front of the open list.
func (p *pool) link(n uint32) {
	p.chunks[n].next, p.chunks[n].prev = p.open, 0
	if p.open != 0 {
		p.chunks[p.open].prev = n
	}
	p.open = n
}

// unlink takes chunk n out of the open list.
func (p *pool) unlink(n uint32) {
	c := &p.chunks[n]
	if c.prev != 0 {
		p.chunks[c.prev].next = c.next
	} else {
		p.open = c.next
	}
	if c.next != 0 {
		p.chunks[c.next].prev = c.prev
	}
	c.next, c.prev = 0, 0
}

// forget drops all slots without giving their memory back.
func (p *pool) forget() {
	p.bases, p.chunks, p.vacant = p.bases[:1:1], p.chunks[:1:1], nil
	p.open, p.live = 0, 0
}
