package metrics

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
	haricot "github.com/haricotq/haricot/internal/server"
	"github.com/haricotq/haricot/internal/wire"
)

// TestStats compares what is exported with the reply to stats at the same
// moment, figure by figure.
func TestStats(t *testing.T) {
	s := openDurable(t)
	producer, worker := s.client(), s.client()
	producer.ask("USING", "use mail")
	worker.ask("WATCHING", "watch mail")
	for range 4 {
		producer.put("INSERTED", 0, "body")
	}
	producer.put("INSERTED", 1000, "later")
	worker.ask("DELETED", "delete %d", worker.ask("RESERVED", "reserve").ID())
	worker.ask("BURIED", "bury %d 0", worker.ask("RESERVED", "reserve").ID())
	worker.ask("RESERVED", "reserve-with-timeout 5")
	worker.ask("NOT_FOUND", "kick-job 77")
	stats := wire.Stats(worker.ask("OK", "stats").Data)

	got := s.scrape()
	for key, series := range map[string]string{
		"current-jobs-urgent": "haricot_urgent_jobs", "current-jobs-ready": `haricot_jobs{state="ready"}`,
		"current-jobs-reserved": `haricot_jobs{state="reserved"}`, "current-jobs-delayed": `haricot_jobs{state="delayed"}`,
		"current-jobs-buried": `haricot_jobs{state="buried"}`, "job-timeouts": "haricot_timeouts_total", "total-jobs": "haricot_puts_total",
		"max-job-size": "haricot_job_size_limit_bytes", "current-tubes": "haricot_tubes", "current-connections": "haricot_connections",
		"current-producers": "haricot_producers", "current-workers": "haricot_workers", "current-waiting": "haricot_workers_waiting",
		"total-connections": "haricot_connections_accepted_total",
	} {
		want, err := strconv.ParseFloat(stats[key], 64)
		if err != nil {
			t.Fatalf("stats has %s %q", key, stats[key])
		}
		got.expect(t, samples{series: want})
	}
	commands := 0
	for key, value := range stats {
		if verb, ok := strings.CutPrefix(key, "cmd-"); ok {
			want, _ := strconv.ParseFloat(value, 64)
			got.expect(t, samples{fmt.Sprintf("haricot_commands_total{command=%q}", verb): want})
			commands++
		}
	}
	if commands < 20 || stats["current-jobs-ready"] != "1" || stats["cmd-stats"] != "1" {
		t.Errorf("too little has happened: %v", stats)
	}
	got.expect(t, samples{
		`haricot_commands_total{command="kick-job"}`: 1, "haricot_draining": 0, "haricot_disk_full": 0,
		fmt.Sprintf("haricot_build_info{version=%q}", protocol.Version): 1,
		fmt.Sprintf("haricot_server_info{hostname=%q,id=%q,os=%q,pid=%q,platform=%q}",
			stats["hostname"], stats["id"], stats["os"], stats["pid"], stats["platform"]): 1,
		"haricot_job_memory_limit_bytes": 1 << 30, "haricot_tube_jobs_limit": 1e6, "haricot_tube_body_limit_bytes": 1 << 30,
		"haricot_deletes_total": 1, "haricot_reserves_total": 3, "haricot_buries_total": 1, "haricot_releases_total": 0, "haricot_kicks_total": 0,
		"haricot_job_wait_seconds_count": 3, "haricot_job_run_seconds_count": 1, `haricot_job_run_seconds_bucket{le="+Inf"}`: 1,
	})
	for _, series := range []string{
		"haricot_job_memory_bytes", "haricot_loop_busy_seconds_total", "haricot_loop_turns_total", "haricot_commit_duration_seconds_count",
		"haricot_commit_changes_sum", "haricot_commits_awaited_total", "haricot_store_records_written_total",
		"haricot_sync_duration_seconds_count", "haricot_disk_used_bytes", "haricot_disk_free_bytes", "haricot_disk_total_bytes",
		"process_open_fds", "process_max_fds", "process_resident_memory_bytes", "go_goroutines",
	} {
		if got[series] <= 0 {
			t.Errorf("%s is %g", series, got[series])
		}
	}
}

// TestTube follows the metrics of a tube through the life of its jobs, in fake
// time.
func TestTube(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openInBubble(t, Config{MaxTubes: 10})
		producer, worker := s.client(), s.client()
		producer.ask("USING", "use mail")
		worker.ask("WATCHING", "watch mail")
		wait := func(d time.Duration) {
			time.Sleep(d) //nolint:forbidigo // Fake time passes by this.
		}
		for range 5 {
			producer.put("INSERTED", 0, "12345")
		}
		producer.put("INSERTED", 3000, "1234567")
		wait(10 * time.Second)
		first := worker.ask("RESERVED", "reserve").ID()
		wait(3 * time.Second)
		worker.ask("DELETED", "delete %d", first)
		worker.ask("RELEASED", "release %d 1 100", worker.ask("RESERVED", "reserve").ID())
		buried := worker.ask("RESERVED", "reserve").ID()
		worker.ask("BURIED", "bury %d 1", buried)
		worker.ask("KICKED", "kick-job %d", buried)
		worker.ask("RESERVED", "reserve")
		wait(61 * time.Second) // more than its time to run
		producer.ask("PAUSED", "pause-tube mail 30")
		got := s.scrape()
		got.expect(t, samples{
			`haricot_tube_jobs{state="ready",tube="mail"}`: 3, `haricot_tube_jobs{state="reserved",tube="mail"}`: 0,
			`haricot_tube_jobs{state="delayed",tube="mail"}`: 2, `haricot_tube_jobs{state="buried",tube="mail"}`: 0,
			`haricot_tube_urgent_jobs{tube="mail"}`: 3, `haricot_tube_body_bytes{tube="mail"}`: 27,
			`haricot_tube_puts_total{tube="mail"}`: 6, `haricot_tube_reserves_total{tube="mail"}`: 4, `haricot_tube_deletes_total{tube="mail"}`: 1,
			`haricot_tube_releases_total{tube="mail"}`: 1, `haricot_tube_buries_total{tube="mail"}`: 1, `haricot_tube_kicks_total{tube="mail"}`: 1,
			`haricot_tube_timeouts_total{tube="mail"}`: 1, `haricot_tube_pauses_total{tube="mail"}`: 1,
			`haricot_tube_clients_using{tube="mail"}`: 1, `haricot_tube_clients_watching{tube="mail"}`: 1, `haricot_tube_clients_waiting{tube="mail"}`: 0,
			`haricot_tube_pause_remaining_seconds{tube="mail"}`:            30,
			`haricot_tube_job_wait_seconds_bucket{tube="mail",le="0.001"}`: 1, // the one that was kicked
			`haricot_tube_job_wait_seconds_bucket{tube="mail",le="8.192"}`: 1, `haricot_tube_job_wait_seconds_bucket{tube="mail",le="16.384"}`: 4,
			`haricot_tube_job_wait_seconds_count{tube="mail"}`: 4, `haricot_tube_job_wait_seconds_sum{tube="mail"}`: 36,
			`haricot_tube_job_run_seconds_bucket{tube="mail",le="2.048"}`: 0, `haricot_tube_job_run_seconds_bucket{tube="mail",le="4.096"}`: 1,
			`haricot_tube_job_run_seconds_count{tube="mail"}`: 1, `haricot_tube_job_run_seconds_sum{tube="mail"}`: 3,
			`haricot_tube_oldest_ready_seconds{tube="default"}`: 0, "haricot_metrics_tubes_left_out": 0,
		})
		for _, series := range []string{`haricot_tube_oldest_ready_seconds{tube="mail"}`, "haricot_oldest_ready_seconds"} {
			if age := got[series]; age < 74 || age > 74*1.125+0.1 {
				t.Errorf("%s is %g, want about 74", series, age)
			}
		}
		for series := range got.of("haricot_tube_job_wait_seconds_count") {
			if strings.Contains(series, "default") {
				t.Errorf("%s is there, though no job was ever reserved", series)
			}
		}
		started := got["haricot_start_time_seconds"]
		wait(time.Hour)
		s.scrape().expect(t, samples{"haricot_start_time_seconds": started, `haricot_tube_pause_remaining_seconds{tube="mail"}`: 0})
	})
}

// TestDeadTubes checks that the series of a tube end with the tube, and that a
// new tube of the name begins anew.
func TestDeadTubes(t *testing.T) {
	s := open(t, haricot.Config{}, Config{MaxTubes: 10})
	c := s.client()
	c.ask("USING", "use brief")
	c.ask("DELETED", "delete %d", c.put("INSERTED", 0, ""))
	s.scrape().expect(t, samples{`haricot_tube_deletes_total{tube="brief"}`: 1})
	c.ask("USING", "use default")
	if text := s.text(); strings.Contains(text, "brief") {
		t.Errorf("the tube is gone and its metrics are not:\n%s", text)
	}
	c.ask("USING", "use brief")
	s.scrape().expect(t, samples{`haricot_tube_deletes_total{tube="brief"}`: 0})
}

// TestMostTubes checks which tubes have metrics when not all may.
func TestMostTubes(t *testing.T) {
	s := open(t, haricot.Config{}, Config{MaxTubes: 3, Tubes: regexp.MustCompile("^(?:job-.*)$")})
	c := s.client()
	shown := func() string {
		var list []string
		for series := range s.scrape().of("haricot_tube_body_bytes") {
			_, name, _ := strings.Cut(series, `tube="`)
			list = append(list, strings.TrimSuffix(name, `"}`))
		}
		return strings.Join(slices.Sorted(slices.Values(list)), " ")
	}
	expect := func(want string, leftOut float64) {
		t.Helper()
		if got := shown(); got != want {
			t.Errorf("shown are %q, want %q", got, want)
		}
		s.scrape().expect(t, samples{"haricot_metrics_tubes_left_out": leftOut})
	}
	expect("", 0)
	for _, tube := range []string{"x-job-1", "job-5", "job-4", "job-3", "job-2", "job-1"} {
		c.ask("WATCHING", "watch %s", tube)
	}
	expect("job-3 job-4 job-5", 2)
	c.ask("WATCHING", "ignore job-4")
	c.ask("WATCHING", "watch job-9") // may be found where job-4 was
	got := shown()
	if !strings.HasPrefix(got, "job-") || !strings.Contains(got, "job-3") || !strings.Contains(got, "job-5") || len(strings.Fields(got)) != 3 {
		t.Errorf("shown are %q: those that were have to stay", got)
	}
	expect(got, 2)
	c.ask("WATCHING", "ignore job-2")
	c.ask("WATCHING", "ignore job-1")
	c.ask("WATCHING", "ignore job-9")
	expect("job-3 job-5", 0)

	none := open(t, haricot.Config{}, Config{})
	if text := none.text(); strings.Contains(text, "haricot_tube_jobs{") || !strings.Contains(text, "haricot_metrics_tubes_left_out 1\n") {
		t.Error("no tube may have metrics, and the default one has, or is not counted")
	}
}

// TestRoster checks what a pass makes of tubes that go and come while it is under
// way, and of passes that are given up.
func TestRoster(t *testing.T) {
	r := newRoster(2)
	meet := func(tube string, want meeting) {
		t.Helper()
		if got := r.meet(tube); got != want {
			t.Errorf("in pass %d %s is met as %d, want %d", r.pass, tube, got, want)
		}
	}
	r.begin()
	meet("a", placeless)
	r.end()
	if !r.admit("a") || !r.admit("b") || r.admit("c") {
		t.Error("the two places are not given to a and b")
	}
	meet("a", metAgain)
	r.begin() // given up before it meets b
	meet("a", placed)
	r.begin()
	meet("b", placed)
	meet("b", metAgain)
	meet("c", placeless)
	r.end() // a has gone
	meet("a", placeless)
	if !r.admit("c") || r.admit("a") {
		t.Error("the place of a is not given to c")
	}
}

// hostile are names that tubes may have and that mean something elsewhere.
var hostile = []string{
	"default;$(reboot)", "a+b/c.d_e-f;g$h(i)j", "()", "$__all", ";", "/../..", "0", "NaN", "+Inf", "le", "__name__", strings.Repeat("x", protocol.MaxTubeName),
}

// TestHostileNames has tubes of odd names, and asks for their labels.
func TestHostileNames(t *testing.T) {
	s := open(t, haricot.Config{}, Config{MaxTubes: 100})
	c := s.client()
	for _, name := range hostile {
		c.ask("USING", "use %s", name)
		c.put("INSERTED", 0, name)
	}
	got := s.scrape()
	for _, name := range hostile {
		got.expect(t, samples{`haricot_tube_jobs{state="ready",tube="` + name + `"}`: 1})
	}
}

// TestNegotiation asks for other formats and encodings.
func TestNegotiation(t *testing.T) {
	s := open(t, haricot.Config{}, Config{MaxTubes: 10})
	open := s.get("Accept", "application/openmetrics-text; version=1.0.0", "Accept-Encoding", "gzip")
	if kind, encoding := open.Header.Get("Content-Type"), open.Header.Get("Content-Encoding"); !strings.HasPrefix(kind, "application/openmetrics-text") || encoding != "gzip" {
		t.Fatalf("got %q as %q", kind, encoding)
	}
	in, err := gzip.NewReader(open.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(in)
	if err != nil || !strings.HasSuffix(string(text), "\n# EOF\n") {
		t.Fatalf("%v at the end of %q", err, text)
	}
	// There a counter is called by what stands before _total, and no other
	// metric may be called so. Of Go's own two are.
	names := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^# TYPE (haricot_\S+) `).FindAllStringSubmatch(string(text), -1) {
		if names[match[1]] {
			t.Errorf("two metrics are called %s", match[1])
		}
		names[match[1]] = true
	}
	if !names["haricot_puts"] || !names["haricot_jobs"] {
		t.Errorf("names are missing among %v", names)
	}
	if kind := s.get().Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/plain; version=0.0.4") {
		t.Errorf("got %q where nothing was asked for", kind)
	}
}

// TestStopped asks while the server runs, stops and has stopped: each answer is
// whole, or 503.
func TestStopped(t *testing.T) {
	s := open(t, haricot.Config{}, Config{MaxTubes: 1000})
	c := s.client()
	for i := range 500 {
		c.ask("WATCHING", "watch tube-%d", i)
	}
	web := httptest.NewServer(s.handler)
	defer web.Close()
	defer http.DefaultClient.CloseIdleConnections()
	scraped := make(chan struct{}, 1)
	var scrapers sync.WaitGroup
	for range 4 {
		scrapers.Go(func() {
			for {
				response, err := http.Get(web.URL)
				if err != nil {
					t.Error(err)
					return
				}
				text, err := io.ReadAll(response.Body)
				response.Body.Close()
				switch {
				case err == nil && response.StatusCode == http.StatusServiceUnavailable && strings.Contains(string(text), haricot.ErrStopped.Error()):
					return
				case err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(text), "\nprocess_start_time_seconds "):
					t.Errorf("status %s, %v: %.200q", response.Status, err, text)
					return
				}
				select {
				case scraped <- struct{}{}:
				default:
				}
			}
		})
	}
	<-scraped
	s.stop()
	scrapers.Wait()
}

// TestGivenUp checks that a scrape ends with its request, and that one waits for
// another.
func TestGivenUp(t *testing.T) {
	s := open(t, haricot.Config{}, Config{MaxTubes: 10})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ask := func() int {
		recorder := httptest.NewRecorder()
		s.handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody).WithContext(ctx))
		return recorder.Code
	}
	if code := ask(); code != http.StatusServiceUnavailable {
		t.Errorf("status %d of a scrape that nobody waits for", code)
	}
	h := s.handler.(*handler)
	h.turn <- struct{}{} // a scrape is under way
	if code := ask(); code != http.StatusServiceUnavailable {
		t.Errorf("status %d of a scrape that waits and is given up", code)
	}
	<-h.turn
	if text := s.text(); !strings.Contains(text, "haricot_tubes 1\n") {
		t.Errorf("the next scrape is not whole:\n%s", text)
	}
}
