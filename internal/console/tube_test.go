package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/haricotq/haricot/client"
	"github.com/haricotq/haricot/internal/queue"
)

func TestTubePage(t *testing.T) {
	s := newSite(t, Config{})
	c, worker := s.dial(), s.dial()
	r := s.get("/tubes/mail")
	if r.Status != http.StatusNotFound {
		t.Errorf("a tube that is not there is answered with %d", r.Status)
	}
	for i := range 3 {
		s.put(c, "mail", fmt.Sprintf(`{"to": "<b>%d</b>"}`, i), client.WithPriority(uint32(10-i)))
	}
	s.put(c, "mail", "later", client.WithDelay(time.Hour))
	s.must(worker.WatchOnly(t.Context(), "mail"))
	held, err := worker.Reserve(t.Context())
	s.must(err)

	r = s.get("/tubes/mail")
	wants(t, r, "mail", "ready 2", "reserved 1", "delayed 1", "buried 0", `{"to": "<b>1</b>"}`)
	if rows := r.rows(); len(rows) != 2 || !strings.HasPrefix(rows[0], "2 9") || !strings.HasPrefix(rows[1], "1 10") {
		t.Errorf("ready jobs: %q", rows)
	}
	if len(r.all("li")) == 0 || textOf(r.all("li")[0]) == "" {
		t.Error("nothing is said of how the tube is")
	}

	r = s.get("/tubes/mail?state=reserved")
	if rows := r.rows(); len(rows) != 1 || !strings.HasPrefix(rows[0], fmt.Sprint(held.ID)) || !strings.Contains(rows[0], "127.0.0.1:") {
		t.Errorf("reserved jobs: %q", rows)
	}
	holder := ""
	for _, a := range r.all("a") {
		if strings.Contains(textOf(a), "127.0.0.1:") {
			holder = attribute(a, "href")
		}
	}
	wants(t, s.get(holder), "127.0.0.1:", "mail")
	if rows := s.get("/tubes/mail?state=delayed").rows(); len(rows) != 1 || !strings.Contains(rows[0], "59m") {
		t.Errorf("delayed jobs: %q", rows)
	}
	wants(t, s.get("/tubes/mail?state=buried"), "No job is buried")

	s.must(held.Delete(t.Context()))
	wants(t, s.get("/tubes/mail"), "of 1 job since the tube was made", "9 of 10")
	for _, path := range []string{"/tubes/mail?state=lost", "/tubes/mail?after=x", "/tubes/mail?after=1"} {
		if r := s.get(path); r.Status != http.StatusBadRequest {
			t.Errorf("%s is answered with %d", path, r.Status)
		}
	}
}

// TestTubePages goes from page to page and meets every job once.
func TestTubePages(t *testing.T) {
	s := newSite(t, Config{})
	c := s.dial()
	s.must(c.Use(t.Context(), "many"))
	bodies := make([][]byte, 2*jobsPerPage+7)
	for i := range bodies {
		bodies[i] = []byte(strconv.Itoa(i))
	}
	_, err := c.PutAll(t.Context(), bodies)
	s.must(err)
	path, pages, met := "/tubes/many", 0, make(map[string]bool)
	for path != "" {
		r := s.get(path)
		pages++
		for _, row := range r.rows() {
			id, _, _ := strings.Cut(row, " ")
			if met[id] {
				t.Errorf("job %s is there twice", id)
			}
			met[id] = true
		}
		if first := strings.TrimSuffix(r.link("First page"), "#tube-jobs"); (first == "") != (pages == 1) {
			t.Errorf("page %d has a link to the first page: %q", pages, first)
		}
		path = strings.TrimSuffix(r.link("Next page"), "#tube-jobs")
	}
	if pages != 3 || len(met) != len(bodies) {
		t.Errorf("%d pages with %d jobs", pages, len(met))
	}
	wants(t, s.get("/tubes/many?state=ready&after=99999999-99999999"), "No job is ready from here on")
}

func TestPauseAndResume(t *testing.T) {
	s := newSite(t, Config{})
	for _, tube := range []string{"mail", "a/b", ".."} {
		c := s.dial()
		s.put(c, tube, "x")
		r, _ := s.sheet(tubeURL(tube), "Pause").set("length", "1h30m").press("Pause")
		wants(t, r, "Paused", "1h 29m left")
		if got := r.notice(); got != "Tube "+tube+" is paused for 1h 30m." {
			t.Errorf("notice %q", got)
		}
		v, err := s.operator.Tube(tube)
		if err != nil || v.Pause != 90*time.Minute {
			t.Errorf("tube %s is paused for %v: %v", tube, v.Pause, err)
		}
		for _, text := range []string{"soon", "0", "", "1.5s"} {
			if r, _ := s.sheet(tubeURL(tube), "Pause").set("length", text).press("Pause"); !strings.Contains(r.notice(), "not paused") {
				t.Errorf("a pause of %q: %q", text, r.notice())
			}
		}
		r, _ = s.sheet(tubeURL(tube), "Resume").press("Resume")
		wants(t, r, "gives out jobs again", "not paused")
	}
	r := s.post("/tube/pause", url.Values{"tube": {"gone"}, "length": {"5m"}, "back": {"/tubes"}})
	if page, _ := s.follow(r.Header.Get("Location")); !strings.Contains(page.notice(), "the tube is gone") {
		t.Errorf("pausing a tube that is gone: %q", page.notice())
	}
}

func TestKickTube(t *testing.T) {
	s := newSite(t, Config{})
	c := s.dial()
	s.put(c, "mail", "later", client.WithDelay(time.Hour))
	s.bury(c, "mail", "one", "two", "three")
	r, _ := s.sheet("/tubes/mail", "Kick").set("n", "2").press("Kick")
	if r.notice() != "Kicked 2 jobs." {
		t.Errorf("notice %q", r.notice())
	}
	wants(t, r, "ready 2", "buried 1", "delayed 1")
	r, _ = s.sheet("/tubes/mail", "Kick").press("Kick")
	wants(t, r, "ready 3", "buried 0", "delayed 1", "of 1 delayed")
	if r, _ = s.sheet("/tubes/mail", "Kick").set("n", "-1").press("Kick"); !strings.Contains(r.notice(), "No job is kicked") {
		t.Errorf("notice %q", r.notice())
	}
}

func TestClearTube(t *testing.T) {
	s := newSite(t, Config{})
	c := s.dial()
	s.must(c.Use(t.Context(), "default"))
	producer := s.dial()
	s.bury(producer, "mail", "one", "two", "three")
	s.must(producer.Close())
	page := s.get("/tubes/mail?state=buried")
	question := page.link("Delete all buried…")
	r := s.get(question)
	wants(t, r, "Delete 3 jobs?", "buried jobs of tube mail", "gone for good")
	r, path := s.sheetOf(r, question, "Delete 3 jobs").press("Delete 3 jobs")
	if r.notice() != "Deleted 3 jobs." || r.Status != http.StatusOK {
		t.Errorf("status %d, notice %q at %s", r.Status, r.notice(), path)
	}
	if r := s.get("/tubes/mail"); r.Status != http.StatusNotFound {
		t.Errorf("the tube is still there: %d", r.Status)
	}
}

// bury puts jobs into a tube and buries them.
func (s *site) bury(c *client.Conn, tube string, bodies ...string) (ids []uint64) {
	s.t.Helper()
	worker := s.dial()
	s.must(worker.WatchOnly(s.t.Context(), tube))
	for _, body := range bodies {
		s.put(c, tube, body, client.WithPriority(0))
		job, err := worker.Reserve(s.t.Context())
		s.must(err)
		s.must(job.Bury(s.t.Context()))
		ids = append(ids, job.ID)
	}
	s.must(worker.Close())
	return ids
}

func TestTimes(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "5m": 5 * time.Minute, "1h 30m": 90 * time.Minute, "90": 90 * time.Second, "0": 0, "0s": 0,
		"1.5h": 90 * time.Minute, "2d": 48 * time.Hour, "1w1d": 8 * 24 * time.Hour, "2D": 48 * time.Hour,
	} {
		if d, err := readTime(text); err != nil || d != want {
			t.Errorf("readTime(%q) = %v, %v", text, d, err)
		}
	}
	for _, text := range []string{"", " ", "soon", "5x", "5m5m", "5s5m", "1.5s", "-5s", "1e3", "5m30", "9999999999", "999999d", "NaN", "..s", strings.Repeat("9", 400)} {
		if d, err := readTime(text); err == nil {
			t.Errorf("readTime(%.20q) = %v", text, d)
		}
	}
	for _, d := range []time.Duration{0, time.Second, 90 * time.Second, 25*time.Hour + time.Minute} {
		if got, err := readTime(timeText(d)); err != nil || got != d {
			t.Errorf("timeText(%v) = %q, which is %v, %v", d, timeText(d), got, err)
		}
	}
}

func TestSpread(t *testing.T) {
	var h queue.Histogram
	for range 98 {
		h.Add(3 * time.Millisecond)
	}
	h.Add(time.Second)
	h.Add(10 * time.Hour)
	s := spreadOf(&h)
	if s.P50 != "≤ 4ms" || s.P90 != "≤ 4ms" || s.P99 != "≤ 1.0s" && s.P99 != "≤ 1s" {
		t.Errorf("quantiles %s, %s, %s", s.P50, s.P90, s.P99)
	}
	if len(s.Bars) != 9 || s.Bars[0].Height != spreadHeight || s.Bars[1].Height != 0 {
		t.Errorf("bars %v", s.Bars)
	}
	if s := spreadOf(&queue.Histogram{}); s.P50 != "–" || s.Bars != nil {
		t.Errorf("of nothing: %v", s)
	}
	h = queue.Histogram{}
	h.Add(10 * time.Hour)
	if s := spreadOf(&h); !strings.HasPrefix(s.P50, "> ") || s.Bars != nil {
		t.Errorf("of what is beyond the last bucket: %v", s)
	}
}
