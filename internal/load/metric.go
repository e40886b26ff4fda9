package load

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// Metric is one figure of a result.
type Metric struct {
	Name   string
	Higher bool // the higher, the better
	Value  func(r *Result) float64
}

// The metrics that servers are compared by.
var (
	Throughput = Metric{"operations/s", true, func(r *Result) float64 { return r.PerSecond() }}
	CPU        = Metric{"CPU us each", false, func(r *Result) float64 { return micros(r.CPUEach()) }}
	P50        = Metric{"p50 us", false, func(r *Result) float64 { return micros(r.Telling().P50) }}
	P99        = Metric{"p99 us", false, func(r *Result) float64 { return micros(r.Telling().P99) }}
	Longest    = Metric{"longest us", false, func(r *Result) float64 { return micros(r.Telling().Max) }}
	Took       = Metric{"took s", false, func(r *Result) float64 { return r.Took.Seconds() }}
	Each       = Metric{"resident B each", false, func(r *Result) float64 { return r.Each }}
	Resident   = Metric{"resident MB", false, func(r *Result) float64 { return megabytes(r.RSS) }}
	Disk       = Metric{"disk MB", false, func(r *Result) float64 { return megabytes(r.Disk) }}
	Busy       = Metric{"CPU %", false, func(r *Result) float64 { return 100 * float64(r.ServerCPU) / float64(max(1, r.Elapsed)) }}
)

// Beside is how many times as long as undisturbed the slowest hundredth of commands takes while operators fulfil a duty.
func Beside(duty string) Metric {
	return Metric{"p99 x, " + duty, false, func(r *Result) float64 { return times(r.Find(besidePrefix+duty), r.Telling()) }}
}

// BeyondSpin is how many times as long as beside somebody who only computes the slowest hundredth of commands takes while operators
// fulfil a duty. It is what is left of Beside without the part of the machine, whose processors are too few for all.
func BeyondSpin(duty string) Metric {
	return Metric{"p99/" + Spin + " " + duty, false, func(r *Result) float64 { return times(r.Find(besidePrefix+duty), r.Find(besidePrefix+Spin)) }}
}

// times is how many times the p99 of others some have; 0 if that is not known.
func times(some, others Latency) float64 {
	if others.P99 == 0 {
		return 0
	}
	return float64(some.P99) / float64(others.P99)
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func megabytes(n int64) float64 { return float64(n) / 1e6 }

// Median returns the median of a metric, 0 if there are no results.
func (m *Metric) Median(results []Result) float64 {
	values := make([]float64, 0, len(results))
	for i := range results {
		values = append(values, m.Value(&results[i]))
	}
	slices.Sort(values)
	switch n := len(values); {
	case n == 0:
		return 0
	case n%2 == 1:
		return values[n/2]
	default:
		return (values[n/2-1] + values[n/2]) / 2
	}
}

// Ratio returns how many times the other's median the median of some results is, NaN if one of them is not known.
func (m *Metric) Ratio(results, others []Result) float64 {
	a, b := m.Median(results), m.Median(others)
	if a == 0 || b == 0 {
		return math.NaN()
	}
	return a / b
}

// Figure writes a number with three digits that count; "-" stands for nothing known.
func Figure(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || v == 0:
		return "-"
	case a >= 999.5e3:
		return trim(v/1e6) + "M"
	case a >= 9999.5:
		return trim(v/1e3) + "k"
	default:
		return trim(v)
	}
}

func trim(v float64) string {
	rounded := math.Abs(v) * 1.0005 // so that 0.9996, which is written as 1.00, counts as that
	digits := min(4, max(0, 2-int(math.Floor(math.Log10(rounded)))))
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// String says what of a plan a workload depends on.
func (p Plan) String() string {
	text := fmt.Sprintf("n=%d w=%d, %d B", p.Connections, p.Window, p.Body)
	if p.Jobs > 0 {
		text += fmt.Sprintf(", %s jobs", count(p.Jobs))
	}
	if p.Tubes > 1 {
		text += fmt.Sprintf(", %s tubes", count(p.Tubes))
	}
	if p.Rate > 0 {
		text += fmt.Sprintf(", %s/s", count(p.Rate))
	}
	return text
}

func count(n int) string {
	switch {
	case n >= 1e6 && n%1e5 == 0:
		return strconv.FormatFloat(float64(n)/1e6, 'f', -1, 64) + "M"
	case n >= 1e3 && n%1e2 == 0:
		return strconv.FormatFloat(float64(n)/1e3, 'f', -1, 64) + "k"
	default:
		return strconv.Itoa(n)
	}
}
