package load

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestHistogramKeepsSmallValuesExactly(t *testing.T) {
	var h Histogram
	for d := range time.Duration(64) {
		h.Record(d)
	}
	for _, q := range []float64{0, 0.25, 0.5, 0.75, 0.99} {
		if got, want := h.Quantile(q), time.Duration(q*64); got != want {
			t.Errorf("quantile %v: %d, want %d", q, got, want)
		}
	}
	if h.Count() != 64 || h.Max() != 63 || h.Mean() != 31 {
		t.Errorf("count %d, max %d, mean %d; want 64, 63, 31", h.Count(), h.Max(), h.Mean())
	}
}

// Every value must fall into a bucket whose middle is near it, and larger values never into an earlier bucket.
func TestHistogramBuckets(t *testing.T) {
	last := -1
	for v := time.Duration(1); v < 1<<widest; v += max(1, v/97) {
		bucket := bucketOf(v)
		if bucket < last {
			t.Fatalf("%d falls into bucket %d, a smaller value into %d", v, bucket, last)
		}
		last = bucket
		if diff := (middle(bucket) - v).Abs(); diff > v/60+1 {
			t.Fatalf("the middle of the bucket of %d is %d", v, middle(bucket))
		}
	}
	var h Histogram
	h.Record(-time.Second)
	h.Record(100 * time.Hour)
	if h.Quantile(0) != 0 || h.Max() != 100*time.Hour || h.Count() != 2 {
		t.Errorf("values out of range: lowest %v, highest %v, count %d", h.Quantile(0), h.Max(), h.Count())
	}
}

func TestHistogramQuantilesOfRandomValues(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var a, b Histogram
	var values []time.Duration
	for i := range 20_000 {
		v := time.Duration(random.ExpFloat64() * float64(time.Millisecond))
		values = append(values, v)
		if i%3 == 0 {
			a.Record(v)
		} else {
			b.Record(v)
		}
	}
	a.Add(&b)
	slices.Sort(values)
	for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 0.999} {
		want := values[int(q*float64(len(values)))]
		if got := a.Quantile(q); (got - want).Abs() > want/40+1 {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
	if a.Max() != values[len(values)-1] {
		t.Errorf("max %v, want %v", a.Max(), values[len(values)-1])
	}
}

func TestHistogramWithoutValues(t *testing.T) {
	var h Histogram
	if h.Quantile(0.5) != 0 || h.Mean() != 0 || h.Max() != 0 || h.Count() != 0 {
		t.Error("an empty histogram has values")
	}
}
