package metrics

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	haricot "github.com/haricotq/haricot/internal/server"
)

// BenchmarkScrape scrapes a server with 100,000 tubes that have a job each, and
// shows 1,000 of them. It tells the size of the answer, and how long commands of
// a client take without and with scrapes.
func BenchmarkScrape(b *testing.B) {
	const tubes, shown = 100_000, 1000
	s := open(b, haricot.Config{}, Config{MaxTubes: shown})
	s.client().fill(tubes)
	other := s.client()
	before := other.pace(func() bool { return true })
	stop, during := make(chan struct{}), make(chan time.Duration)
	go func() {
		during <- other.pace(func() bool {
			select {
			case <-stop:
				return false
			default:
				return true
			}
		})
	}()
	size := 0
	b.ReportAllocs()
	for b.Loop() {
		recorder := httptest.NewRecorder()
		s.handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
		if recorder.Code != http.StatusOK {
			b.Fatal(recorder.Code)
		}
		size = recorder.Body.Len()
	}
	close(stop)
	b.ReportMetric(float64(size), "B/scrape")
	b.ReportMetric(float64(before.Microseconds()), "p99-before-us")
	b.ReportMetric(float64((<-during).Microseconds()), "p99-during-us")
}

// fill makes tubes with a job each.
func (c *client) fill(tubes int) {
	const portion = 500
	for i := range tubes {
		c.Send("use tube-%06d", i)
		c.Put(1, 0, 60, []byte("body"))
		if i%portion < portion-1 && i < tubes-1 {
			continue
		}
		for range 2 * (i%portion + 1) {
			if r, err := c.Receive(); err != nil || r.Word != "USING" && r.Word != "INSERTED" {
				c.t.Fatal(r, err)
			}
		}
	}
}

// pace sends one command after the other while more holds, at most 20,000, and
// returns how long 99 in 100 of them took at most.
func (c *client) pace(more func() bool) time.Duration {
	var took []time.Duration
	for len(took) < 20_000 && (len(took) == 0 || more()) {
		began := time.Now()
		if _, err := c.Ask("use default"); err != nil {
			c.t.Error(err)
			break
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)*99/100]
}
