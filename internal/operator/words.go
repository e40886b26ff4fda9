package operator

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/haricotq/haricot/internal/queue"
)

// Quantile is a time within which a share of what a histogram has counted was
// over, such as 0.9: the bound of a bucket, so up to twice too much. ok is false
// if nothing was counted, or the time is beyond the last bound.
func Quantile(h *queue.Histogram, share float64) (d time.Duration, ok bool) {
	want, n := share*float64(h.Count), uint64(0)
	for i, count := range h.Buckets {
		if n += count; n > 0 && float64(n) >= want {
			return queue.HistogramBound(i), true
		}
	}
	return 0, false
}

// span says in words how long a time is, in two units at most.
func span(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	d = d.Round(time.Second)
	var parts []string
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}} {
		if n := d / unit.length; n > 0 && len(parts) < 2 {
			parts = append(parts, fmt.Sprintf("%d %s", n, unit.name))
		} else if len(parts) > 0 {
			break
		}
		d %= unit.length
	}
	return strings.Join(parts, " ")
}

// plural is a number of things.
func plural(n uint64, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.FormatUint(n, 10) + " " + thing
}

// are is the beginning of a sentence about a number of things.
func are(n uint64, thing string) string { return plural(n, thing) + " " + verb(n, "is", "are") }

// verb is the form that goes with a number.
func verb(n uint64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// allOf is the beginning of a sentence about all jobs of a tube.
func allOf(n uint64) string {
	if n == 1 {
		return "The only job is"
	}
	return fmt.Sprintf("All %d jobs are", n)
}
