package console

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/haricotq/haricot/client"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// look is a job as the server has it.
func (s *site) look(id uint64) (queue.JobView, error) {
	j, err := s.operator.Job(s.t.Context(), protocol.JobID(id), 0)
	if err != nil {
		return queue.JobView{}, err
	}
	return j.JobView, nil
}

func TestJobPage(t *testing.T) {
	s := newSite(t, Config{})
	c := s.dial()
	id := s.put(c, "mail", `{"n":12345678901234567890,"a":"</pre><script>alert(1)</script>"}`, client.WithPriority(7), client.WithTTR(90*time.Second))
	r := s.get(jobURL(protocol.JobID(id)))
	wants(t, r, "Job 1", "ready", "mail", "JSON", "Priority 7", "Time to run 1m 30s", "Reserved 0 times", "Copy", "Download")
	want := "{\n  \"n\": 12345678901234567890,\n  \"a\": \"</pre><script>alert(1)</script>\"\n}"
	if got := r.tagged("body-view"); got != want {
		t.Errorf("the body is shown as %q", got)
	}
	if got := r.tagged("body-raw"); got != `{"n":12345678901234567890,"a":"</pre><script>alert(1)</script>"}` {
		t.Errorf("what is copied is %q", got)
	}
	hex := s.get(r.link("Hex"))
	if got := hex.tagged("body-view"); !strings.HasPrefix(got, "00000000  7b 22 6e 22 3a 31 32 33  34 35") {
		t.Errorf("hex: %q", got)
	}
	for _, path := range []string{"/jobs/99", "/jobs/0", "/jobs/x", "/jobs/99/body", "/jobs/99/edit", "/jobs/-1"} {
		if r := s.get(path); r.Status != http.StatusNotFound {
			t.Errorf("%s is answered with %d", path, r.Status)
		}
	}
}

func TestBodiesAreShownWhole(t *testing.T) {
	s := newSite(t, Config{})
	c := s.dial()
	for _, body := range []string{"\nfirst line is empty", "x\n", "", "<!--", "&amp;<b>", "</pre>", "ü\u202e", strings.Repeat("long ", 10000)} {
		id := s.put(c, "mail", body)
		r := s.get(fmt.Sprintf("/jobs/%d", id))
		if got := r.tagged("body-raw"); got != body {
			t.Errorf("%.30q is there to be copied as %.30q", body, got)
		}
		file := s.get(fmt.Sprintf("/jobs/%d/body", id))
		if file.Text != body {
			t.Errorf("%.30q is downloaded as %.30q", body, file.Text)
		}
	}
	packed := s.get(fmt.Sprintf("/jobs/%d", s.put(c, "mail", "\x81\xa1k\x07")))
	wants(t, packed, "MessagePack")
	if got := packed.tagged("body-view"); got != "{\n  \"k\": 7\n}" {
		t.Errorf("MessagePack is shown as %q", got)
	}
}

func TestBodyFile(t *testing.T) {
	s := newSite(t, Config{})
	c := s.dial()
	for body, want := range map[string][2]string{
		"<script>alert(1)</script>": {"text/plain; charset=utf-8", `attachment; filename="job-%d.txt"`},
		"\xff\x00":                  {"application/octet-stream", `attachment; filename="job-%d.bin"`},
	} {
		id := s.put(c, "mail", body)
		r := s.get(fmt.Sprintf("/jobs/%d/body", id))
		if r.Text != body || r.Header.Get("Content-Type") != want[0] || r.Header.Get("Content-Disposition") != fmt.Sprintf(want[1], id) ||
			r.Header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(r.Header.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%q is sent as %q with %v", body, r.Text, r.Header)
		}
	}
}

func TestJobActions(t *testing.T) {
	s := newSite(t, Config{})
	c := s.dial()
	id := s.put(c, "mail", "x")
	page := fmt.Sprintf("/jobs/%d", id)
	step := func(button, notice string, check func(queue.JobView) bool, fill ...string) {
		t.Helper()
		f := s.sheet(page, button)
		for i := 0; i < len(fill); i += 2 {
			f.set(fill[i], fill[i+1])
		}
		r, _ := f.press(button)
		v, err := s.look(id)
		if !strings.Contains(r.notice(), notice) || err != nil || !check(v) {
			t.Errorf("%s: %q, and the job is %+v, %v", button, r.notice(), v, err)
		}
	}
	step("Bury", "Buried job 1.", func(v queue.JobView) bool { return v.State == queue.Buried })
	step("Kick", "Kicked job 1.", func(v queue.JobView) bool { return v.State == queue.Ready })
	step("Change", "Changed job 1.", func(v queue.JobView) bool {
		return v.State == queue.Delayed && v.Priority == 3 && v.TTR == 5*time.Minute && v.Delay == time.Hour
	}, "pri", "3", "delay", "1h", "ttr", "5m")
	step("Change", "Changed job 1.", func(v queue.JobView) bool {
		return v.State == queue.Delayed && v.Priority == 4 && v.TTR == 5*time.Minute
	}, "pri", "4")
	step("Kick", "Kicked job 1.", func(v queue.JobView) bool { return v.State == queue.Ready })
	step("Move", "Moved job 1 to tube a/b.", func(v queue.JobView) bool { return v.Tube == "a/b" }, "to", "a/b")
	for _, fault := range [][]string{
		{"Change"},
		{"Change", "pri", "-1"},
		{"Change", "pri", "4294967296"},
		{"Change", "delay", "soon"},
		{"Change", "ttr", "0"},
		{"Move", "to", "<script>"},
		{"Move", "to", "-x"},
		{"Move", "to", strings.Repeat("x", 201)},
		{"Move", "to", ""},
	} {
		before, _ := s.look(id)
		step(fault[0], "Nothing is changed", func(v queue.JobView) bool { return v == before }, fault[1:]...)
	}
	r, path := s.sheet(page, "Delete").press("Delete")
	if _, err := s.look(id); !errors.Is(err, queue.ErrNoJob) || r.notice() != "Deleted job 1." || r.Status != http.StatusOK {
		t.Errorf("after the deletion: %v, %q at %s", err, r.notice(), path)
	}
}

func TestHeldJob(t *testing.T) {
	s := newSite(t, Config{})
	c, worker := s.dial(), s.dial()
	s.must(worker.WatchOnly(t.Context(), "mail"))
	for button, check := range map[string]func(queue.JobView, error) bool{
		"Release": func(v queue.JobView, err error) bool { return err == nil && v.State == queue.Delayed },
		"Bury":    func(v queue.JobView, err error) bool { return err == nil && v.State == queue.Buried },
		"Move": func(v queue.JobView, err error) bool {
			return err == nil && v.State == queue.Ready && v.Tube == "other"
		},
		"Delete": func(_ queue.JobView, err error) bool { return errors.Is(err, queue.ErrNoJob) },
	} {
		s.put(c, "mail", "x")
		job, err := worker.Reserve(t.Context())
		s.must(err)
		page := fmt.Sprintf("/jobs/%d", job.ID)
		wants(t, s.get(page), "A worker holds this job", "127.0.0.1:", "NOT_FOUND", "Held by", "Time left")
		f := s.sheet(page, button)
		switch button {
		case "Release":
			f.set("delay", "1h")
		case "Move":
			f.set("to", "other")
		}
		r, _ := f.press(button)
		if v, err := s.look(job.ID); !check(v, err) || strings.Contains(r.notice(), "Nothing") {
			t.Errorf("%s: %q, and the job is %+v, %v", button, r.notice(), v, err)
		}
		if err := job.Release(t.Context()); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("%s: the worker is told %v", button, err)
		}
	}
}

// TestMeanwhile has jobs change between the page and the button.
func TestMeanwhile(t *testing.T) {
	s := newSite(t, Config{})
	c, worker := s.dial(), s.dial()
	s.must(worker.WatchOnly(t.Context(), "mail"))

	id := s.put(c, "mail", "x")
	page := fmt.Sprintf("/jobs/%d", id)
	forms := map[string]*sheet{"Bury": s.sheet(page, "Bury"), "Delete": s.sheet(page, "Delete"), "Change": s.sheet(page, "Change").set("pri", "1"), "Move": s.sheet(page, "Move").set("to", "b")}
	job, err := worker.Reserve(t.Context())
	s.must(err)
	for button, f := range forms {
		r, _ := f.press(button)
		if v, err := s.look(id); err != nil || v.State != queue.Reserved || !strings.Contains(r.notice(), "a worker has reserved the job in the meantime") {
			t.Errorf("%s of a job that was reserved: %q, %+v, %v", button, r.notice(), v, err)
		}
	}
	release := s.sheet(page, "Release")
	s.must(job.Bury(t.Context()))
	if r, _ := release.press("Release"); !strings.Contains(r.notice(), "not reserved any more") {
		t.Errorf("releasing what is not held: %q", r.notice())
	}
	kick := s.sheet(page, "Kick")
	s.must(c.KickJob(t.Context(), id))
	if r, _ := kick.press("Kick"); !strings.Contains(r.notice(), "neither buried nor delayed") {
		t.Errorf("kicking what is ready: %q", r.notice())
	}
	s.must(c.Delete(t.Context(), id))
	for button, f := range forms {
		if r, _ := f.press(button); !strings.Contains(r.notice(), "the job has been deleted in the meantime") {
			t.Errorf("%s of a job that is gone: %q", button, r.notice())
		}
	}
	if r := s.post("/jobs/1/explode", url.Values{}); r.Status != http.StatusNotFound {
		t.Errorf("what nobody can do is answered with %d", r.Status)
	}
	if r := s.post("/jobs/x/kick", url.Values{}); r.Status != http.StatusNotFound {
		t.Errorf("an id that is none is answered with %d", r.Status)
	}
	r := s.post("/jobs/1/kick", url.Values{"back": {"https://example.org/"}})
	if to := r.Header.Get("Location"); !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") {
		t.Errorf("a form leads to %q", to)
	}
}

func TestReadOnlyJobs(t *testing.T) {
	s := newSite(t, Config{ReadOnly: true})
	c := s.dial()
	s.bury(c, "mail", "one")
	for _, path := range []string{"/jobs/1", "/tubes/mail", "/buried", "/tubes/mail/buried", "/search?state=buried"} {
		r := s.get(path)
		if r.Status != http.StatusOK {
			t.Errorf("%s is answered with %d", path, r.Status)
		}
		for _, form := range r.all("form") {
			if attribute(form, "method") == "post" || attribute(form, "action") == "/bulk" {
				t.Errorf("%s has a form for %s", path, attribute(form, "action"))
			}
		}
		for _, a := range r.all("a") {
			if to := attribute(a, "href"); strings.Contains(to, "/edit") || strings.HasPrefix(to, "/bulk") || strings.HasPrefix(to, "/put") {
				t.Errorf("%s leads to %s", path, to)
			}
		}
	}
	for _, path := range []string{"/put", "/jobs/1/edit", "/bulk?do=delete"} {
		if r := s.get(path); r.Status != http.StatusBadRequest || !strings.Contains(r.text(), "read-only") {
			t.Errorf("%s is answered with %d: %s", path, r.Status, r.text())
		}
	}
}
