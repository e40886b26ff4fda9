package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/haricotq/haricot/internal/queue"
)

// family is a metric that is read off a T: its name, what it means, and how.
type family[T any] struct {
	desc *prometheus.Desc
	read func(of *T, to *outlet)
}

// outlet takes the samples of one family of one T.
type outlet struct {
	desc   *prometheus.Desc
	labels []string // those that tell one T from another
	to     *[]prometheus.Metric
}

// value gives a sample; labels are those that the family adds.
func (o *outlet) value(kind prometheus.ValueType, value float64, labels ...string) {
	if len(labels) == 0 {
		labels = o.labels
	} else {
		labels = append(o.labels[:len(o.labels):len(o.labels)], labels...)
	}
	*o.to = append(*o.to, prometheus.MustNewConstMetric(o.desc, kind, value, labels...))
}

// collect makes the metrics of a family.
func (f *family[T]) collect(of *T, labels []string, to *[]prometheus.Metric) {
	f.read(of, &outlet{f.desc, labels, to})
}

// subject makes families of a T, which these labels tell from others.
type subject[T any] []string

func (s subject[T]) family(name, help string, read func(*T, *outlet), labels ...string) family[T] {
	return family[T]{prometheus.NewDesc(name, help, append(s[:len(s):len(s)], labels...), nil), read}
}

// gauge is a value that goes up and down.
func (s subject[T]) gauge(name, help string, value func(*T) float64) family[T] {
	return s.family(name, help, func(of *T, to *outlet) { to.value(prometheus.GaugeValue, value(of)) })
}

// gaugeIf is a gauge that is there only where it is known.
func (s subject[T]) gaugeIf(name, help string, known func(*T) bool, value func(*T) float64) family[T] {
	return s.family(name, help, func(of *T, to *outlet) {
		if known(of) {
			to.value(prometheus.GaugeValue, value(of))
		}
	})
}

// limit is a gauge that is there only if it is not 0, which is no limit.
func (s subject[T]) limit(name, help string, value func(*T) float64) family[T] {
	return s.gaugeIf(name, help, func(of *T) bool { return value(of) != 0 }, value)
}

// flag is a gauge that is 1 or 0.
func (s subject[T]) flag(name, help string, value func(*T) bool) family[T] {
	return s.gauge(name, help, func(of *T) float64 {
		if value(of) {
			return 1
		}
		return 0
	})
}

// counter is a value that grows.
func (s subject[T]) counter(name, help string, value func(*T) float64) family[T] {
	return s.family(name, help, func(of *T, to *outlet) { to.value(prometheus.CounterValue, value(of)) })
}

// events counts what has happened to jobs.
func (s subject[T]) events(name, help string, event queue.Event, done func(*T) *queue.Counts) family[T] {
	return s.counter(name, help, func(of *T) float64 { return float64(done(of)[event]) })
}

// distribution is a histogram; ok is false where there is none.
func (s subject[T]) distribution(name, help string, of func(*T) (h histogram, ok bool)) family[T] {
	return s.family(name, help, func(t *T, to *outlet) {
		if h, ok := of(t); ok {
			*to.to = append(*to.to, prometheus.MustNewConstHistogram(to.desc, h.count, h.sum, h.buckets, to.labels...))
		}
	})
}

// histogram is a histogram in the terms of Prometheus: buckets has for each
// upper bound how many values are not above it.
type histogram struct {
	count   uint64
	sum     float64
	buckets map[float64]uint64
}

// durations makes a histogram, in seconds, of one of the queue's.
func durations(h *queue.Histogram) histogram {
	buckets := make(map[float64]uint64, len(h.Buckets))
	below := uint64(0)
	for i, n := range h.Buckets {
		below += n
		buckets[queue.HistogramBound(i).Seconds()] = below
	}
	return histogram{h.Count, h.Sum.Seconds(), buckets}
}
