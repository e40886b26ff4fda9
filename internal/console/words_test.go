package console

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/queue"
)

func TestWords(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{number(0), "0"},
		{number(uint64(999)), "999"},
		{number(int64(-1234)), "-1,234"},
		{number(uint32(1234567)), "1,234,567"},
		{string(count(0)), `<span class="zero">0</span>`},
		{string(count(1000)), "1,000"},
		{rate(0), "0"},
		{rate(0.01), "<0.1"},
		{rate(0.26), "0.3"},
		{rate(9.96), "10"},
		{rate(12345.4), "12,345"},
		{percent(0), "0%"},
		{percent(0.001), "<1%"},
		{percent(0.126), "13%"},
		{percent(1), "100%"},
		{size(0), "0 B"},
		{size(1023), "1023 B"},
		{size(uint64(1536)), "1.5 KiB"},
		{size(int64(200 << 20)), "200 MiB"},
		{size(uint64(1) << 63), "8.0 EiB"},
		{duration(0), "0s"},
		{duration(time.Microsecond), "<1ms"},
		{duration(20 * time.Millisecond), "20ms"},
		{duration(1500 * time.Millisecond), "1.5s"},
		{duration(2 * time.Second), "2s"},
		{duration(59 * time.Second), "59s"},
		{duration(time.Minute), "1m"},
		{duration(62*time.Minute + 5*time.Second), "1h 2m"},
		{duration(50 * time.Hour), "2d 2h"},
		{duration(-time.Minute), "-1m"},
		{duration(1200 * 24 * time.Hour), "1,200d"},
		{plural(1, "job", "jobs"), "1 job"},
		{plural(uint64(2000), "job", "jobs"), "2,000 jobs"},
		{plural(0, "job", "jobs"), "0 jobs"},
		{sentence(errors.New("the job is reserved")), "The job is reserved."},
		{string(ago(0, 5)), `<span class="zero">–</span>`},
		{tubeURL("a/b c+d"), "/tubes/a%2Fb%20c+d"},
		{tubeURL(".."), "/tubes/?name=.."},
		{tubeURL("..."), "/tubes/..."},
	} {
		if c.got != c.want {
			t.Errorf("%q is written where %q is right", c.got, c.want)
		}
	}
	at := queue.Instant(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixNano())
	got := string(ago(at, at+queue.Instant(90*time.Second)))
	if want := `<time datetime="2026-01-02T03:04:05Z" title="2026-01-02 03:04:05 UTC">1m 30s</time>`; got != want {
		t.Errorf("a time is written as %s, not %s", got, want)
	}
	if got := string(live("live", `/tubes?filter="><script>`, 2)); strings.Contains(got, "<script") {
		t.Errorf("the address of a page gets out of its attribute: %s", got)
	}
}

func TestRoundNumbers(t *testing.T) {
	for value, want := range map[float64]float64{0: 4, 4: 4, 5: 10, 10: 10, 11: 20, 39: 40, 41: 100, 400001: 1000000} {
		if got := roundCount(value); got != want {
			t.Errorf("above %v there is %v, not %v", value, got, want)
		}
	}
	for value, want := range map[float64]float64{0: 1, 50: 60, 3601: 7200, 86401: 4 * 86400} {
		if got := roundTime(value); got != want {
			t.Errorf("above %v s there are %v s, not %v s", value, got, want)
		}
	}
}

// TestFirsts compares with sorting everything.
func TestFirsts(t *testing.T) {
	numbers := []int{5, 3, 9, 1, 7, 2, 8, 6, 4, 0}
	for most := range 12 {
		f := firsts[int]{most: most, compare: func(a, b *int) int { return *a - *b }}
		for _, n := range numbers {
			f.add(&n)
		}
		got := f.sorted()
		if len(got) != min(most, len(numbers)) {
			t.Errorf("of the first %d there are %d", most, len(got))
		}
		for i, n := range got {
			if *n != i {
				t.Errorf("of the first %d the one at %d is %d", most, i, *n)
			}
		}
	}
}
