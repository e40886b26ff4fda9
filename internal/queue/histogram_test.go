package queue

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestHistogram counts every duration in the one bucket whose bounds it lies
// between: below the own bound, and not below the one before.
func TestHistogram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h, want Histogram
		for _, d := range rapid.SliceOf(rapid.OneOf(
			rapid.Map(rapid.Int64Range(-5, math.MaxInt64/1000), func(n int64) time.Duration { return time.Duration(n) }),
			rapid.Map(rapid.Int64Range(-2, int64(time.Hour)), func(n int64) time.Duration { return time.Duration(n) }),
			rapid.Custom(func(t *rapid.T) time.Duration { // around the bounds
				return HistogramBound(rapid.IntRange(0, HistogramBuckets-1).Draw(t, "bucket")) + time.Duration(rapid.IntRange(-1, 1).Draw(t, "off"))
			}),
		)).Draw(t, "durations") {
			h.Add(d)
			want.Count++
			want.Sum += max(0, d)
			for bucket := range HistogramBuckets {
				if d < HistogramBound(bucket) {
					want.Buckets[bucket]++
					break
				}
			}
		}
		if h != want {
			t.Fatalf("counted %+v\nwant %+v", h, want)
		}
	})
}

func TestHistogramBounds(t *testing.T) {
	if got := HistogramBound(0); got != time.Millisecond {
		t.Errorf("the first bound is %v", got)
	}
	for bucket := 1; bucket < HistogramBuckets; bucket++ {
		if got, want := HistogramBound(bucket), 2*HistogramBound(bucket-1); got != want {
			t.Errorf("bound %d is %v, want %v", bucket, got, want)
		}
	}
	if got := HistogramBound(HistogramBuckets - 1); got < 34*time.Minute || got > 36*time.Minute {
		t.Errorf("the last bound is %v", got)
	}
	var h Histogram
	h.Add(HistogramBound(HistogramBuckets - 1))
	if h.Buckets != [HistogramBuckets]uint64{} || h.Count != 1 {
		t.Errorf("what is too long for every bucket is counted as %+v", h)
	}
}

// TestHistogramCopy is of a histogram that is there, and of one that is not yet.
func TestHistogramCopy(t *testing.T) {
	var h *Histogram
	if got := h.copy(); got != (Histogram{}) {
		t.Errorf("the copy of nothing is %+v", got)
	}
	observe(&h, time.Second)
	kept := h.copy()
	observe(&h, time.Second)
	if kept.Count != 1 || h.Count != 2 || h.Sum != 2*time.Second {
		t.Errorf("the copy counts %d and the histogram %d in %v", kept.Count, h.Count, h.Sum)
	}
}
