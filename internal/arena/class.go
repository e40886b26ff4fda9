package arena

// granule is what sizes of bodies are rounded up to, and the alignment of
// their slots.
const granule = 16

// strides are the slot sizes for bodies, ascending: every granule up to 128,
// then eight to a doubling up to 8 KiB, so that a slot is at most an eighth
// larger than it must be (and 15 bytes below 128). Above, what matters is how
// many fit in a span: the sizes are those of spans cut into 15 parts, 14, and
// so on down to 2.
var strides = func() (s [8 + 6*8 + 14]uint32) {
	n := 0
	add := func(size uint32) {
		s[n] = size
		n++
	}
	for size := uint32(granule); size <= 128; size += granule {
		add(size)
	}
	for low := uint32(128); low < 8192; low *= 2 {
		for part := uint32(1); part <= 8; part++ {
			add(low + part*low/8)
		}
	}
	for parts := uint32(15); parts >= 2; parts-- {
		add(SpanSize / parts &^ (granule - 1))
	}
	return s
}()

// classes gives the index in strides of the least stride that holds a number
// of granules.
var classes = func() (t [maxSmall/granule + 1]uint8) {
	class := uint8(0)
	for g := range t {
		if uint32(g*granule) > strides[class] {
			class++
		}
		t[g] = class
	}
	return t
}()

// classOf returns the size class of a body of n bytes, from 1 to maxSmall.
func classOf(n int) uint8 { return classes[uint(n+granule-1)/granule] }
