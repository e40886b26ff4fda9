package console

import (
	"time"

	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/queue"
)

// spans are the times that charts can show, by the word in the address.
var spans = map[string]time.Duration{"5m": 5 * time.Minute, "15m": 15 * time.Minute, "1h": time.Hour}

// usualSpan is what is shown if nothing is asked for.
const usualSpan = "5m"

// stepsPerSpan is how many values a curve has.
const stepsPerSpan = 150

// nowSpan is the time over which the rate of this moment is measured.
const nowSpan = 5 * time.Second

// trend is the recent past of a server.
type trend struct {
	span   time.Duration
	now    operator.Sample
	lately operator.Sample // about nowSpan before
	steps  []step
}

// step is a short time: what a server was at its end, and at its worst.
type step struct {
	last         operator.Sample
	seconds      float64 // since the end of the step before
	before       operator.Sample
	oldest, busy float64
}

// readTrend makes steps of samples. Each begins at a round time, so that a
// chart moves on but does not change its form.
func readTrend(samples []operator.Sample, span time.Duration) *trend {
	t := &trend{span: span}
	if len(samples) == 0 {
		return t
	}
	t.now = samples[len(samples)-1]
	t.lately = samples[0]
	length := int64(span / stepsPerSpan)
	number := int64(0)
	for i := range samples {
		s := &samples[i]
		if t.now.At.Sub(s.At) >= nowSpan {
			t.lately = *s
		}
		if t.now.At.Sub(s.At) > span {
			continue
		}
		if n := s.At.UnixNano() / length; n != number || len(t.steps) == 0 {
			number = n
			before := *s
			if i > 0 {
				before = samples[i-1]
			}
			t.steps = append(t.steps, step{before: before})
		}
		p := &t.steps[len(t.steps)-1]
		p.last, p.seconds = *s, s.At.Sub(p.before.At).Seconds()
		p.oldest, p.busy = max(p.oldest, s.Oldest.Seconds()), max(p.busy, s.Busy)
	}
	return t
}

// Rate is how often something happened in a second, lately.
func (t *trend) Rate(e queue.Event) float64 {
	if seconds := t.now.At.Sub(t.lately.At).Seconds(); seconds > 0 {
		return float64(t.now.Done[e]-t.lately.Done[e]) / seconds
	}
	return 0
}

// Busy is the share of the time that the loop works, lately.
func (t *trend) Busy() float64 { return t.now.Busy }

// Charts draws what there is to see.
func (t *trend) Charts() []*chart {
	return []*chart{t.rates(), t.depths(), t.ages(), t.load()}
}

// plot is the beginning of a chart.
func (t *trend) plot(id, title string, top func(float64) float64, write func(float64) string) *plot {
	p := &plot{id: id, title: title, span: t.span, end: t.now.At, top: top, write: write}
	for i := range t.steps {
		p.at = append(p.at, t.steps[i].last.At)
	}
	return p
}

// values is something of each step.
func (t *trend) values(of func(*step) float64) (list []float64) {
	for i := range t.steps {
		list = append(list, of(&t.steps[i]))
	}
	return list
}

func (t *trend) rates() *chart {
	p := t.plot("rates", "Jobs a second", roundCount, rate)
	for _, r := range []struct {
		event       queue.Event
		name, class string
	}{
		{queue.Puts, "put", "put"},
		{queue.Reserves, "reserved", "reserved"},
		{queue.Deletes, "deleted", "deleted"},
		{queue.Timeouts, "timed out", "bad"},
	} {
		p.rows = append(p.rows, row{name: r.name, class: r.class, now: t.Rate(r.event), values: t.values(func(s *step) float64 {
			if s.seconds <= 0 {
				return 0
			}
			return float64(s.last.Done[r.event]-s.before.Done[r.event]) / s.seconds
		})})
	}
	return p.draw()
}

func (t *trend) depths() *chart {
	p := t.plot("depths", "Jobs by state", roundCount, func(v float64) string { return number(int64(v)) })
	p.stacked = true
	for _, r := range []struct {
		name string
		of   func(*operator.Sample) uint64
	}{
		{"buried", func(s *operator.Sample) uint64 { return s.Jobs.Buried }},
		{"delayed", func(s *operator.Sample) uint64 { return s.Jobs.Delayed }},
		{"reserved", func(s *operator.Sample) uint64 { return s.Jobs.Reserved }},
		{"ready", func(s *operator.Sample) uint64 { return s.Jobs.Ready }},
	} {
		p.rows = append(p.rows, row{
			name: r.name, class: r.name, now: float64(r.of(&t.now)), filled: true,
			values: t.values(func(s *step) float64 { return float64(r.of(&s.last)) }),
		})
	}
	return p.draw()
}

func (t *trend) ages() *chart {
	p := t.plot("ages", "Wait of the oldest ready job", roundTime, func(v float64) string {
		return duration(time.Duration(v * float64(time.Second)))
	})
	p.rows = []row{{
		name: "oldest ready", class: "ready", now: t.now.Oldest.Seconds(), filled: true,
		values: t.values(func(s *step) float64 { return s.oldest }),
	}}
	return p.draw()
}

func (t *trend) load() *chart {
	p := t.plot("load", "Time that the server's loop works", roundShare, percent)
	p.rows = []row{{
		name: "busy", class: "busy", now: t.now.Busy, filled: true,
		values: t.values(func(s *step) float64 { return s.busy }),
	}}
	return p.draw()
}
