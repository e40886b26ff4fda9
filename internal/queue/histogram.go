package queue

import (
	"math/bits"
	"time"
)

// HistogramBuckets is how many bounds a Histogram has.
const HistogramBuckets = 22

// Histogram counts durations. The first bucket has those below a millisecond,
// and each further one reaches twice as far: the last up to 35 minutes. Longer
// ones are in Count only.
type Histogram struct {
	Buckets [HistogramBuckets]uint64
	Count   uint64
	Sum     time.Duration
}

// HistogramBound is the upper bound of a bucket.
func HistogramBound(bucket int) time.Duration { return time.Millisecond << bucket }

// Add counts a duration.
func (h *Histogram) Add(d time.Duration) {
	d = max(0, d)
	if bucket := bits.Len64(uint64(d / time.Millisecond)); bucket < HistogramBuckets {
		h.Buckets[bucket]++
	}
	h.Count++
	h.Sum += d
}

// observe counts a duration in a histogram that may not be there yet.
func observe(h **Histogram, d time.Duration) {
	if *h == nil {
		*h = new(Histogram)
	}
	(*h).Add(d)
}

func (h *Histogram) copy() (c Histogram) {
	if h != nil {
		c = *h
	}
	return c
}
