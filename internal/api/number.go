package api

import (
	"math"
	"time"

	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/queue"
)

// seconds is a time in seconds, to the millisecond.
type seconds float64

func inSeconds(d time.Duration) seconds {
	return seconds(math.Round(float64(max(0, d))/float64(time.Millisecond)) / 1000)
}

// whole is a time of which there are only whole seconds.
func whole(d time.Duration) uint64 { return uint64(max(0, d) / time.Second) }

// between is the time from one moment to another, 0 if either is not known.
func between(from, to queue.Instant) seconds {
	if from == 0 || to == 0 {
		return 0
	}
	return inSeconds(time.Duration(to - from))
}

// histogram is how long something took.
type histogram struct {
	Count uint64  `json:"count"`
	Sum   seconds `json:"sum"`
	// P50, P90 and P99 are within what time that share was over: bounds of
	// buckets, so up to twice too much. null is beyond the last bound.
	P50 *seconds `json:"p50"`
	P90 *seconds `json:"p90"`
	P99 *seconds `json:"p99"`
	// Buckets count by upper bound; what is longer is in Count only.
	Buckets []bucket `json:"buckets"`
}

// bucket counts what took less than a bound, and not less than the one before.
type bucket struct {
	Below seconds `json:"below"`
	Count uint64  `json:"count"`
}

func histogramOf(h *queue.Histogram) *histogram {
	quantile := func(share float64) *seconds {
		if d, ok := operator.Quantile(h, share); ok {
			s := inSeconds(d)
			return &s
		}
		return nil
	}
	answer := &histogram{
		Count: h.Count, Sum: inSeconds(h.Sum), P50: quantile(0.5), P90: quantile(0.9), P99: quantile(0.99),
		Buckets: make([]bucket, 0, queue.HistogramBuckets),
	}
	for i, n := range h.Buckets {
		answer.Buckets = append(answer.Buckets, bucket{inSeconds(queue.HistogramBound(i)), n})
	}
	return answer
}

// counts says how often what has happened since the start.
type counts struct {
	Puts     uint64 `json:"puts"`
	Reserves uint64 `json:"reserves"`
	Deletes  uint64 `json:"deletes"`
	Releases uint64 `json:"releases"`
	Buries   uint64 `json:"buries"`
	Kicks    uint64 `json:"kicks"`
	Timeouts uint64 `json:"timeouts"`
}

func countsOf(c *queue.Counts) counts {
	return counts{
		Puts: c[queue.Puts], Reserves: c[queue.Reserves], Deletes: c[queue.Deletes], Releases: c[queue.Releases],
		Buries: c[queue.Buries], Kicks: c[queue.Kicks], Timeouts: c[queue.Timeouts],
	}
}
