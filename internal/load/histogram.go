package load

import (
	"math/bits"
	"time"
)

const (
	// precision is how many bits of a value are kept: a bucket is at most 1/32 of its value wide.
	precision = 5
	// widest is the number of bits of the largest value, some 18 minutes in nanoseconds; larger ones count as that.
	widest = 40
)

// Histogram counts durations in buckets whose width grows with them. The zero value is empty.
type Histogram struct {
	buckets [(widest - precision + 1) << precision]uint64
	count   uint64
	sum     int64
	longest time.Duration
}

// Record counts one duration.
func (h *Histogram) Record(d time.Duration) {
	h.buckets[bucketOf(d)]++
	h.count++
	h.sum += int64(d)
	h.longest = max(h.longest, d)
}

// bucketOf keeps the leading bits of a duration: those below 64 ns have a bucket of their own each, and then each doubling has 32.
func bucketOf(d time.Duration) int {
	v := uint64(min(max(d, 0), 1<<widest-1))
	shift := max(0, bits.Len64(v)-precision-1)
	return shift<<precision + int(v>>shift)
}

// middle is the duration in the middle of a bucket.
func middle(bucket int) time.Duration {
	shift := max(0, bucket>>precision-1)
	low := (bucket - shift<<precision) << shift
	return time.Duration(low + (1<<shift)/2)
}

// Count returns how many durations were recorded.
func (h *Histogram) Count() uint64 { return h.count }

// Max returns the longest one.
func (h *Histogram) Max() time.Duration { return h.longest }

// Mean returns the mean, 0 if there is nothing.
func (h *Histogram) Mean() time.Duration {
	if h.count == 0 {
		return 0
	}
	return time.Duration(h.sum / int64(h.count))
}

// Quantile returns the duration that a share q, from 0 to 1, of all does not exceed, within 2 %. It is 0 if there is nothing.
func (h *Histogram) Quantile(q float64) time.Duration {
	rank := uint64(q * float64(h.count))
	for i, n := range &h.buckets {
		if n > rank {
			return min(middle(i), h.longest)
		}
		rank -= n
	}
	return h.longest
}

// Add counts all that another histogram has counted.
func (h *Histogram) Add(other *Histogram) {
	for i, n := range &other.buckets {
		h.buckets[i] += n
	}
	h.count += other.count
	h.sum += other.sum
	h.longest = max(h.longest, other.longest)
}
