package console

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// TestOverviewTellsWhatIsWrong has a calm server first, and then tubes that are
// stuck for different reasons.
func TestOverviewTellsWhatIsWrong(t *testing.T) {
	s := newSite(t, Config{Disk: func() Disk { return Disk{Used: 1 << 30, Free: 9 << 30} }})
	calm := s.get("/")
	for _, want := range []string{"Nothing needs attention", "Disk 1.0 GiB 9.0 GiB free"} {
		if !strings.Contains(calm.text(), want) {
			t.Errorf("a calm server does not say %q: %s", want, calm.text())
		}
	}

	c := s.dial()
	s.put(c, "unwatched", "job")
	s.put(c, "paused", "job")
	s.must(c.PauseTube(t.Context(), "paused", time.Hour))
	r := s.get("/")
	for _, want := range []string{"2 tubes need attention", "unwatched No worker watches this tube", "paused The tube is paused for another"} {
		if !strings.Contains(r.text(), want) {
			t.Errorf("the page does not say %q: %s", want, r.text())
		}
	}

	for i := range 20 {
		s.put(c, "more-"+strings.Repeat("i", i), "job")
	}
	if r := s.get("/"); !strings.Contains(r.text(), "22 tubes need attention") || !strings.Contains(r.text(), "10 more tubes") {
		t.Errorf("of many tubes the page says %s", r.text())
	}
}

func TestTroubles(t *testing.T) {
	const gib = 1 << 30
	for want, o := range map[string]overview{
		"":                        {},
		"The disk is full":        {Totals: operator.Totals{Totals: queue.Totals{Full: true}}, Disk: &Disk{Used: gib}},
		"The disk is nearly full": {Disk: &Disk{Used: 95 * gib, Free: 5 * gib}},
		"new jobs are refused.":   {Totals: operator.Totals{Totals: queue.Totals{Memory: 95, MemoryLimit: 100}}},
		"The server is draining":  {Totals: operator.Totals{Totals: queue.Totals{QueueStats: protocol.QueueStats{Draining: true}}}},
		"works 93% of the time":   {trend: &trend{now: operator.Sample{Busy: 0.93}}},
	} {
		if o.trend == nil {
			o.trend = &trend{}
		}
		list := o.troubles()
		if want == "" && len(list) > 0 || want != "" && (len(list) != 1 || !strings.Contains(list[0].Text, want)) {
			t.Errorf("%q: the troubles are %v", want, list)
		}
	}
}

// samplesOf are samples a second apart, of a server in which each second ten jobs
// are put and one is deleted.
func samplesOf(n int) (list []operator.Sample) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range n {
		s := operator.Sample{At: start.Add(time.Duration(i) * time.Second), Busy: 0.5, Oldest: time.Duration(i) * time.Second}
		s.Done[queue.Puts], s.Done[queue.Deletes] = uint64(10*i), uint64(i)
		s.Jobs.Ready = uint64(9 * i)
		list = append(list, s)
	}
	return list
}

func TestTrend(t *testing.T) {
	for _, span := range spans {
		for _, n := range []int{0, 1, 2, 30, 299, 3600} {
			tr := readTrend(samplesOf(n), span)
			if len(tr.steps) > stepsPerSpan+1 || n > 0 && len(tr.steps) == 0 {
				t.Errorf("%d samples over %v make %d steps", n, span, len(tr.steps))
			}
			if got := tr.Rate(queue.Puts); n > 1 && (got < 9.9 || got > 10.1) {
				t.Errorf("the rate of %d samples is %v", n, got)
			}
			for _, c := range tr.Charts() {
				for _, k := range c.Curves {
					if strings.Contains(k.Line+k.Area, "NaN") || strings.Contains(k.Line, "Inf") || strings.Contains(k.Line, "-") {
						t.Errorf("%s of %d samples over %v is drawn as %.100s", k.Name, n, span, k.Line)
					}
				}
			}
		}
	}
	rates := readTrend(samplesOf(3600), time.Hour).Charts()[0]
	if put := rates.Curves[0]; put.Now != "10" || put.Most != "10" || rates.Top != "10" {
		t.Errorf("ten puts a second are drawn as %s now, %s at most, of %s", put.Now, put.Most, rates.Top)
	}
	if want := "put: 10 now, 10 at most"; !strings.Contains(rates.Desc, want) {
		t.Errorf("the chart is described as %q, without %q", rates.Desc, want)
	}
	// Ten a second is the top of the chart, from the left edge to the right one.
	line := rates.Curves[0].Line
	var left, top float64
	if _, err := fmt.Sscanf(line, "M%f %fL", &left, &top); err != nil || left > 10 || top != 0 || !strings.HasSuffix(line, "L1000.0 0.0") {
		t.Errorf("the line is %.40s … %s", line, line[max(0, len(line)-20):])
	}
	depths := readTrend(samplesOf(3600), time.Hour).Charts()[1]
	if ready := depths.Curves[3]; ready.Now != "32,391" || depths.Top != "40,000" {
		t.Errorf("the depth is drawn as %s of %s", ready.Now, depths.Top)
	}
}

// TestHistoryIsDrawn lets a history take samples of a real server.
func TestHistoryIsDrawn(t *testing.T) {
	s := newSite(t, Config{})
	c := s.dial()
	for range 7 {
		s.put(c, "stream", "job")
	}
	samples, stop := s.history.Watch()
	defer stop()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { s.history.Run(ctx); close(ended) }()
	<-samples
	cancel()
	<-ended
	r := s.get("/?span=15m")
	if len(r.all("svg")) != 4 {
		t.Errorf("there are %d charts", len(r.all("svg")))
	}
	for _, want := range []string{"ready 7 peak 7", "In the last 15m", "15m ago"} {
		if !strings.Contains(r.text(), want) {
			t.Errorf("the page does not say %q: %s", want, r.text())
		}
	}
}
