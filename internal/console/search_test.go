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

func TestSearch(t *testing.T) {
	s := newSite(t, Config{})
	c := s.dial()
	s.put(c, "mail", `{"user": {"id": 7}, "to": "a@b.example"}`)
	s.put(c, "mail", `{"user": {"id": 8}}`, client.WithDelay(time.Hour))
	s.put(c, "post", "job 1 & <b>")
	s.bury(c, "mail", "buried user")
	for query, want := range map[string]string{
		"q=user":                             "1 2 4",
		"q=user&tube=mail&state=delayed":     "2",
		"q=user&state=ready&state=buried":    "1 4",
		"field=user.id":                      "1 2",
		"field=user.id&value=7":              "1",
		"tube=post":                          "3",
		"tube=nowhere":                       "",
		"q=" + url.QueryEscape("& <b>"):      "3",
		"min_tries=1":                        "4",
		"max_tries=0&tube=mail":              "1 2",
		"older=1h":                           "",
		"younger=1h":                         "1 2 3 4",
		"q=a%40b.example&field=to&older=0":   "1",
		"state=reserved":                     "",
		"q=%22%3E%3Cscript%3Ealert(1)":       "",
		"field=" + url.QueryEscape(`a.#(b=`): "",
	} {
		r := s.get("/search?" + query)
		var ids []string
		for _, row := range r.rows() {
			id, _, _ := strings.Cut(row, " ")
			ids = append(ids, id)
		}
		if got := strings.Join(ids, " "); got != want || r.Status != http.StatusOK {
			t.Errorf("%s finds %q, not %q (%d)", query, got, want, r.Status)
		}
	}
	wants(t, s.get("/search?q=1"), "There is a job 1")
	if r := s.get("/search?q=99"); strings.Contains(r.text(), "There is a") {
		t.Error("there is a job 99")
	}
	r, path := s.sheet("/search", "Search").set("q", "user").set("tube", "mail").check("state", "buried").press("Search")
	if rows := r.rows(); len(rows) != 1 || !strings.HasPrefix(rows[0], "4 buried mail") {
		t.Errorf("%s: %q", path, rows)
	}
	if again := s.sheet(path, "Search").fields; again.Get("q") != "user" || again.Get("state") != "buried" {
		t.Errorf("the form has %v", again)
	}
}

func TestSearchFaults(t *testing.T) {
	s := newSite(t, Config{})
	for query, fault := range map[string]string{
		"older=long":             "“long” is no time",
		"younger=5m30":           "is no time",
		"min_tries=x":            "“x” is no number of tries",
		"max_tries=-1":           "is no number of tries",
		"value=7":                "Name the field",
		"tube=" + "%3Cscript%3E": "letters, digits and",
	} {
		r := s.get("/search?" + query)
		name, value, _ := strings.Cut(query, "=")
		if !strings.Contains(r.text(), fault) || r.rows() != nil {
			t.Errorf("%s: %s", query, r.text())
		}
		value, _ = url.QueryUnescape(value)
		if got := s.sheetOf(r, "/search", "Search").fields.Get(name); got != value {
			t.Errorf("%s: the form has %q", query, got)
		}
	}
	if r := s.get("/search?q=x&from=y"); r.Status != http.StatusBadRequest {
		t.Errorf("a place that is none is answered with %d", r.Status)
	}
}

func TestSearchPages(t *testing.T) {
	s := newSite(t, Config{})
	c := s.dial()
	s.must(c.Use(t.Context(), "many"))
	bodies := make([][]byte, 3*jobsPerPage)
	for i := range bodies {
		bodies[i] = []byte("number " + strconv.Itoa(i))
	}
	_, err := c.PutAll(t.Context(), bodies)
	s.must(err)
	met := make(map[string]bool)
	for path := "/search?q=number"; path != ""; {
		r := s.get(path)
		for _, row := range r.rows() {
			id, _, _ := strings.Cut(row, " ")
			met[id] = true
		}
		path = r.link("Next page")
	}
	if len(met) != len(bodies) {
		t.Errorf("%d jobs are met", len(met))
	}
}

func TestBulk(t *testing.T) {
	s := newSite(t, Config{})
	c, worker := s.dial(), s.dial()
	for i := range 10 {
		s.put(c, "mail", fmt.Sprintf("even %t", i%2 == 0))
	}
	bulk := func(button string, fill ...string) (*response, string) {
		t.Helper()
		f := s.sheet("/search?q=even+true&tube=mail", button)
		for i := 0; i < len(fill); i += 2 {
			f.set(fill[i], fill[i+1])
		}
		return f.press(button)
	}
	counts := func() string {
		v, err := s.operator.Tube("mail")
		s.must(err)
		return fmt.Sprint(v.Jobs.Ready, v.Jobs.Reserved, v.Jobs.Delayed, v.Jobs.Buried)
	}
	r, path := bulk("Bury…")
	wants(t, r, "Bury 5 jobs?", "whose body has “even true” in it")
	if got := counts(); got != "10 0 0 0" {
		t.Errorf("the question has changed something: %s", got)
	}
	r, path = s.sheetOf(r, path, "Bury 5 jobs").press("Bury 5 jobs")
	if got := counts(); got != "5 0 0 5" || r.notice() != "Buried 5 jobs." || path != "/search?q=even+true&tube=mail" {
		t.Errorf("%s, %q at %s", got, r.notice(), path)
	}
	r, path = bulk("Change…", "pri", "1", "ttr", "5m")
	s.sheetOf(r, path, "Change 5 jobs").press("Change 5 jobs")
	if v, err := s.look(1); err != nil || v.Priority != 1 || v.TTR != 5*time.Minute || v.State != queue.Buried {
		t.Errorf("changed to %+v, %v", v, err)
	}
	r, path = bulk("Kick…")
	s.sheetOf(r, path, "Kick 5 jobs").press("Kick 5 jobs")

	// One of them is held: it is left alone unless asked for.
	s.must(worker.WatchOnly(t.Context(), "mail"))
	held, err := worker.Reserve(t.Context())
	s.must(err)
	r, path = bulk("Move…", "to", "post")
	wants(t, r, "Move 5 jobs to tube post?", "Also the 1 one that workers hold")
	r, _ = s.sheetOf(r, path, "Move 5 jobs").press("Move 5 jobs")
	if got := counts(); got != "5 1 0 0" || !strings.Contains(r.notice(), "Moved 4 jobs of 5 that were found; 1 is left as it was") {
		t.Errorf("%s, %q", got, r.notice())
	}
	r, path = bulk("Delete…")
	r, _ = s.sheetOf(r, path, "Delete 1 job").check("hold", "take").press("Delete 1 job")
	if got := counts(); got != "5 0 0 0" || r.notice() != "Deleted 1 job." {
		t.Errorf("%s, %q; %d was held", got, r.notice(), held.ID)
	}
	for _, query := range []string{"do=explode", "do=move&to=%3C", "do=alter", "do=alter&pri=x", "do=release&delay=x", "do=delete&older=x", ""} {
		if r := s.get("/bulk?" + query); r.Status != http.StatusBadRequest {
			t.Errorf("/bulk?%s is answered with %d", query, r.Status)
		}
	}
	if r := s.post("/bulk", url.Values{"do": {"delete"}, "older": {"x"}}); r.Status != http.StatusBadRequest {
		t.Errorf("a fault is answered with %d", r.Status)
	}
	if got := counts(); got != "5 0 0 0" {
		t.Errorf("a fault has changed something: %s", got)
	}
	wants(t, s.get("/bulk?do=delete"), "every job of every tube")
}

// TestBulkOfMany deletes as many jobs as somebody may have to get rid of.
func TestBulkOfMany(t *testing.T) {
	many := 500_000
	if testing.Short() {
		many = 20_000
	}
	s := newSite(t, Config{})
	c := s.dial()
	s.must(c.Use(t.Context(), "many"))
	batch := make([][]byte, 10_000)
	for i := range batch {
		batch[i] = []byte("delete me")
	}
	for range many / len(batch) {
		_, err := c.PutAll(t.Context(), batch)
		s.must(err)
	}
	kept := s.put(c, "many", "keep me")
	r := s.get("/bulk?q=delete&tube=many&do=delete")
	button := "Delete " + number(many) + " jobs"
	wants(t, r, button+"?")
	r, _ = s.sheetOf(r, "/bulk", button).press(button)
	if want := "Deleted " + number(many) + " jobs."; r.notice() != want {
		t.Errorf("%q, not %q", r.notice(), want)
	}
	if _, err := s.look(kept); err != nil {
		t.Errorf("what does not match is gone: %v", err)
	}
}
