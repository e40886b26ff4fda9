package console

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// bodyOf is the body of a job.
func (s *site) bodyOf(id uint64) string {
	s.t.Helper()
	j, err := s.operator.Job(s.t.Context(), protocol.JobID(id), everyByte)
	s.must(err)
	return string(j.Body)
}

func TestPut(t *testing.T) {
	s := newSite(t, Config{})
	r, path := s.sheet("/put?tube=mail", "Put").set("body", "\n<b>one</b>\ntwo\n").set("pri", "5").set("delay", "1h").set("ttr", "2m").press("Put")
	if r.notice() != "Put job 1 into tube mail." || path != "/jobs/1" {
		t.Errorf("notice %q at %s", r.notice(), path)
	}
	v, err := s.look(1)
	if err != nil || v.Tube != "mail" || v.Priority != 5 || v.State != queue.Delayed || v.Delay != time.Hour || v.TTR != 2*time.Minute {
		t.Errorf("the job is %+v, %v", v, err)
	}
	if got := s.bodyOf(1); got != "\n<b>one</b>\ntwo\n" {
		t.Errorf("its body is %q", got)
	}
	s.sheet("/put", "Put").set("tube", "mail").set("encoding", "hex").set("body", "00 ff\n0a").press("Put")
	s.sheet("/put", "Put").set("tube", "mail").set("encoding", "base64").set("body", "AP8K").press("Put")
	s.sheet("/put", "Put").set("tube", "mail").press("Put")
	if a, b, c := s.bodyOf(2), s.bodyOf(3), s.bodyOf(4); a != "\x00\xff\n" || b != a || c != "" {
		t.Errorf("bodies %q, %q, %q", a, b, c)
	}
}

func TestPutFaults(t *testing.T) {
	s := newSite(t, Config{})
	for _, test := range []struct{ field, value, fault string }{
		{"tube", "", "A tube needs a name"},
		{"tube", "<script>", "letters, digits and"},
		{"tube", "-x", "does not begin with -"},
		{"pri", "high", "“high” is no priority"},
		{"pri", "4294967296", "is no priority"},
		{"delay", "soon", "“soon” is no time; write it as 90s, 5m"},
		{"ttr", "0", "is one second at least"},
		{"ttr", "", "is no time"},
	} {
		r, _ := s.sheet("/put?tube=mail", "Put").set("body", "kept\n").set(test.field, test.value).press("Put")
		if r.Status != http.StatusUnprocessableEntity || r.tagged(test.field+"-fault") == "" || !strings.Contains(r.tagged(test.field+"-fault"), test.fault) {
			t.Errorf("%s=%q: %d, %q", test.field, test.value, r.Status, r.tagged(test.field+"-fault"))
		}
		again := s.sheetOf(r, "/put", "Put")
		if again.fields.Get("body") != "kept\n" || again.fields.Get(test.field) != test.value {
			t.Errorf("%s=%q: what was written is not kept: %v", test.field, test.value, again.fields)
		}
	}
	r, _ := s.sheet("/put?tube=mail", "Put").set("encoding", "hex").set("body", "xyz").press("Put")
	if !strings.Contains(r.tagged("body-fault"), "hexadecimal") || s.sheetOf(r, "/put", "Put").fields.Get("encoding") != "hex" {
		t.Errorf("a body that is not hexadecimal: %q", r.tagged("body-fault"))
	}
	r, _ = s.sheet("/put?tube=mail", "Put").set("body", strings.Repeat("x", 1<<20+1)).press("Put")
	if r.Status != http.StatusRequestEntityTooLarge || !strings.Contains(r.tagged("body-fault"), "larger than a job may be") {
		t.Errorf("a body that is too large: %d, %q", r.Status, r.tagged("body-fault"))
	}
	s.server.Drain(true)
	r, _ = s.sheet("/put?tube=mail", "Put").set("body", "kept").press("Put")
	if r.Status != http.StatusServiceUnavailable || !strings.Contains(r.text(), "draining") || s.sheetOf(r, "/put", "Put").fields.Get("body") != "kept" {
		t.Errorf("while the server drains: %d, %s", r.Status, r.text())
	}
	if _, err := s.operator.Tube("mail"); !errors.Is(err, queue.ErrNoTube) {
		t.Error("something was put all the same")
	}
}

// TestEditKeepsBodies edits nothing, which must change nothing of the body.
func TestEditKeepsBodies(t *testing.T) {
	s := newSite(t, Config{})
	c := s.dial()
	for _, body := range append([]string{
		"plain", "\nfirst\n\nlast\n", "a\r\nb\r\n", "a\r\nb\n", "a\rb", "\x00\x01\xff", "", "\n", "\r\n", "</textarea><script>", "ü\u202e\U0001F600",
	}, hostileBodies...) {
		id := s.put(c, "mail", body)
		r, path := s.sheet(fmt.Sprintf("/jobs/%d/edit", id), "Replace job").press("Replace job")
		if got := s.bodyOf(id + 1); got != body {
			t.Errorf("%q has become %q", body, got)
		}
		if _, err := s.look(id); !errors.Is(err, queue.ErrNoJob) || path != fmt.Sprintf("/jobs/%d", id+1) || r.Status != http.StatusOK {
			t.Errorf("after the edit: %v at %s, %d", err, path, r.Status)
		}
	}
}

func TestEdit(t *testing.T) {
	s := newSite(t, Config{})
	c, worker := s.dial(), s.dial()
	ids := s.bury(c, "mail", `{"to": 1}`)
	page := s.get(fmt.Sprintf("/jobs/%d", ids[0]))
	form := s.sheet(page.link("Edit and requeue"), "Replace job")
	r, _ := form.set("body", `{"to": 2}`).set("tube", "post").press("Replace job 1")
	if r.notice() != "Job 2 in tube post has taken the place of job 1." {
		t.Errorf("notice %q", r.notice())
	}
	v, err := s.look(2)
	if err != nil || v.State != queue.Ready || v.Tube != "post" || v.Priority != 0 || s.bodyOf(2) != `{"to": 2}` {
		t.Errorf("the new job is %+v, %v", v, err)
	}

	// A worker reserves it between the page and the button.
	form = s.sheet("/jobs/2/edit", "Replace job").set("body", "mine").set("ttr", "x")
	r, _ = form.press("Replace")
	form = s.sheetOf(r, "/jobs/2/edit", "Replace job").set("ttr", "1m")
	s.must(worker.WatchOnly(t.Context(), "post"))
	_, err = worker.Reserve(t.Context())
	s.must(err)
	r, _ = form.press("Replace")
	if r.Status != http.StatusConflict || !strings.Contains(r.text(), "A worker has reserved the job in the meantime") || !strings.Contains(r.text(), "NOT_FOUND") {
		t.Errorf("editing a job that was reserved: %d, %s", r.Status, r.text())
	}
	again := s.sheetOf(r, "/jobs/2/edit", "Replace job")
	if again.fields.Get("body") != "mine" {
		t.Errorf("what was written is not kept: %v", again.fields)
	}
	// It is taken from the worker now, as the page has said.
	if r, _ = again.press("Replace"); !strings.Contains(r.notice(), "has taken the place of job 2") {
		t.Errorf("taking it from the worker: %q, %s", r.notice(), r.text())
	}

	// It is deleted between the page and the button.
	form = s.sheet("/jobs/3/edit", "Replace job").set("body", "late")
	s.must(c.Delete(t.Context(), 3))
	r, _ = form.press("Replace")
	if r.Status != http.StatusConflict || !strings.Contains(r.text(), "has been deleted in the meantime") {
		t.Errorf("editing a job that is gone: %d, %s", r.Status, r.text())
	}
	r, _ = s.sheetOf(r, "/put", "Put as a new job").press("Put as a new job")
	wants(t, r, "late")
}

func TestEditLimits(t *testing.T) {
	s := newSite(t, Config{})
	c := s.dial()
	id := s.put(c, "mail", strings.Repeat("x", editedBody+1))
	if r := s.get(fmt.Sprintf("/jobs/%d/edit", id)); r.Status != http.StatusBadRequest || !strings.Contains(r.text(), "too large to be edited") {
		t.Errorf("a large body: %d, %s", r.Status, r.text())
	}
	if r := s.get(fmt.Sprintf("/jobs/%d", id)); r.link("Edit and requeue") != "" {
		t.Error("the page leads to where it cannot be edited")
	}
}
