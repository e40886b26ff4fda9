package top

import (
	"fmt"
	"strconv"
	"time"
)

// count writes a number in at most six columns.
func count(n uint64) string {
	if n < 1_000_000 {
		return strconv.FormatUint(n, 10)
	}
	return large(float64(n))
}

// large writes a number from a million on, with three figures.
func large(f float64) string {
	units := []string{"M", "G", "T", "P", "E"}
	f /= 1e6
	i := 0
	for ; f >= 999.5 && i < len(units)-1; i++ {
		f /= 1e3
	}
	switch {
	case f < 9.995:
		return fmt.Sprintf("%.2f%s", f, units[i])
	case f < 99.95:
		return fmt.Sprintf("%.1f%s", f, units[i])
	}
	return fmt.Sprintf("%.0f%s", f, units[i])
}

// String writes a rate in at most six columns.
func (r rate) String() string {
	switch {
	case r < 0:
		return "-"
	case r == 0:
		return "0"
	case r < 99.95:
		return fmt.Sprintf("%.1f", float64(r))
	case r < 999_999.5:
		return fmt.Sprintf("%.0f", float64(r))
	}
	return large(float64(r))
}

const (
	day  = 24 * time.Hour
	year = 365 * day
)

// left writes how long a pause has still to go, in at most seven columns; nothing if there is none. A pause until the tube is resumed is one of
// 136 years.
func left(d time.Duration) string {
	s := int64(d / time.Second)
	switch {
	case s <= 0:
		return ""
	case d >= 100*year:
		return "forever"
	case d < time.Minute:
		return fmt.Sprintf("%ds", s)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case d < day:
		return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
	case d < 1000*day:
		return fmt.Sprintf("%dd%02dh", s/86400, s/3600%24)
	}
	return fmt.Sprintf("%dd", s/86400)
}

// uptime writes how long a server has been running.
func uptime(d time.Duration) string {
	s := int64(d / time.Second)
	clock := fmt.Sprintf("%02d:%02d:%02d", s/3600%24, s/60%60, s%60)
	if d < day {
		return clock
	}
	return fmt.Sprintf("%dd %s", s/86400, clock)
}

// The shortest and the longest interval.
const (
	minInterval = 100 * time.Millisecond
	maxInterval = time.Hour
)

// ParseInterval reads the time between two looks: 2s, 500ms, 1m or a number of seconds, from a tenth of a second to an hour.
func ParseInterval(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		d, err = time.ParseDuration(text + "s")
	}
	if err != nil || d < minInterval || d > maxInterval {
		return 0, fmt.Errorf("%q is no interval; write it like 2s, 500ms or 1m, or as a number of seconds, from 0.1 to 3600", text)
	}
	return d, nil
}
