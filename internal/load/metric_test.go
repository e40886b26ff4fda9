package load

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestFigure(t *testing.T) {
	for v, want := range map[float64]string{
		0: "-", math.NaN(): "-", 1: "1.00", 0.123456: "0.123", 0.0456: "0.0456", 12.345: "12.3", 99.96: "100", 123.4: "123", 9999: "9999",
		10_000: "10.0k", 123_456: "123k", 999_400: "999k", 999_600: "1.00M", 12_345_678: "12.3M", -2.5: "-2.50",
	} {
		if got := Figure(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}

func TestMedianAndRatio(t *testing.T) {
	results := func(ops ...uint64) (list []Result) {
		for _, n := range ops {
			list = append(list, Result{Operations: n, Elapsed: time.Second})
		}
		return list
	}
	ours, theirs := results(900, 100, 200), results(10, 30)
	if m := Throughput.Median(ours); m != 200 {
		t.Errorf("median of three: %v, want 200", m)
	}
	if m := Throughput.Median(theirs); m != 20 {
		t.Errorf("median of two: %v, want 20", m)
	}
	if r := Throughput.Ratio(ours, theirs); r != 10 {
		t.Errorf("ratio: %v, want 10", r)
	}
	if r := Throughput.Ratio(ours, nil); !math.IsNaN(r) {
		t.Errorf("ratio to nothing: %v, want none", r)
	}
}

func TestWriteTable(t *testing.T) {
	result := func(n uint64, p50 time.Duration) []Result {
		var tally [kinds]Histogram
		tally[putKind].Record(p50)
		return []Result{{Operations: n, Elapsed: time.Second, ServerCPU: time.Millisecond, RSS: 3e6, Latency: latencies(&tally)}}
	}
	var out strings.Builder
	err := WriteTable(&out, "a title", []string{"one", "two"}, [][]Result{result(400, 40), result(200, 20)})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"a title one two ratio", "operations/s 400 200 2.00", "put p99 us 0.0400 0.0200 2.00", "resident MB 3.00 3.00 1.00"} {
		if !strings.Contains(got, want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(got, "disk") {
		t.Errorf("the table has a line for what is not known:\n%s", out.String())
	}
}

// The latency that tells most comes first, and the way of a job does not count as a command.
func TestLatencies(t *testing.T) {
	var tally [kinds]Histogram
	tally[putKind].Record(1)
	tally[deleteKind].Record(2)
	list := latencies(&tally)
	if len(list) != 3 || list[0].Of != All || list[0].Count != 2 {
		t.Errorf("commands: %+v", list)
	}
	tally[travelKind].Record(3)
	list = latencies(&tally)
	if len(list) != 4 || list[0].Of != kindNames[travelKind] || list[0].Max != 3 || list[1].Count != 2 {
		t.Errorf("with the way of a job: %+v", list)
	}
}

func TestBeside(t *testing.T) {
	r := Result{Latency: []Latency{
		{Of: All, P99: 10}, {Of: besidePrefix + Spin, P99: 40}, {Of: besidePrefix + "list", P99: 30}, {Of: "list", P99: 900},
	}}
	for _, test := range []struct {
		metric Metric
		want   float64
	}{
		{Beside(Spin), 4}, {Beside("list"), 3}, {BeyondSpin("list"), 0.75}, {Beside("nothing"), 0},
	} {
		if got := test.metric.Value(&r); got != test.want {
			t.Errorf("%s: %v, want %v", test.metric.Name, got, test.want)
		}
		if got := test.metric.Value(&Result{}); got != 0 {
			t.Errorf("%s of nothing: %v, want 0", test.metric.Name, got)
		}
	}
}
