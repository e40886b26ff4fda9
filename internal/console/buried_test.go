package console

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/haricotq/haricot/internal/queue"
)

func TestTriage(t *testing.T) {
	s := newSite(t, Config{})
	c := s.dial()
	ids := s.bury(c, "mail", "first", "second", "third", "fourth", "fifth")
	other := s.bury(c, "post", "elsewhere")

	r := s.get("/tubes/mail/buried")
	wants(t, r, "Buried jobs of mail", "1 of 5", "first")
	if r.link("← Previous b") != "" {
		t.Error("there is something before the first")
	}
	next := r.link("Next → n")
	r = s.get(next)
	wants(t, r, "2 of 5", "second")
	wants(t, s.get(r.link("← Previous b")), "1 of 5", "first")

	r, path := s.sheet(next, "Kick").press("Kick")
	wants(t, r, fmt.Sprintf("Kicked job %d.", ids[1]), "2 of 4", "third")
	r, path = s.sheet(path, "Delete job").press("Delete job")
	wants(t, r, fmt.Sprintf("Deleted job %d.", ids[2]), "2 of 3", "fourth")

	// Edit and requeue leads back to the next one.
	for _, a := range r.all("a") {
		if strings.HasPrefix(textOf(a), "Edit and requeue") {
			path = attribute(a, "href")
		}
	}
	r, path = s.sheet(path, "Replace job").set("body", "corrected").press("Replace job")
	wants(t, r, "has taken the place of job", "2 of 2", "fifth")
	r, path = s.sheet(path, "Move").set("to", "b").press("Move")
	wants(t, r, "That was the last", "1 job is still buried")
	wants(t, s.get(r.link("Begin again")), "1 of 1", "first")
	wants(t, s.get(r.link("Previous")), "1 of 1", "first")
	if v, err := s.look(ids[4]); err != nil || v.State != queue.Buried || v.Tube != "b" {
		t.Errorf("the moved job is %+v, %v at %s", v, err, path)
	}

	// All tubes, in the order in which they were buried.
	r = s.get("/buried")
	wants(t, r, "Buried jobs", "1 of 3", "first")
	r = s.get(r.link("Next → n"))
	wants(t, r, "2 of 3", fmt.Sprintf("Job %d", other[0]), "elsewhere", "post")
	if r := s.get("/buried?at=x"); r.Status != http.StatusBadRequest {
		t.Errorf("a place that is none is answered with %d", r.Status)
	}
}

func TestTriageOfNothing(t *testing.T) {
	s := newSite(t, Config{})
	wants(t, s.get("/buried"), "No job is buried")
	wants(t, s.get("/tubes/gone/buried"), "No job is buried in this tube")
	c := s.dial()
	for _, tube := range []string{"a/b", "..", "."} {
		s.bury(c, tube, "x")
		wants(t, s.get(buriedURL(tube)), "1 of 1")
		found := s.get(tubeURL(tube) + "")
		if found.Status != http.StatusOK || found.link("Go through buried") != buriedURL(tube) {
			t.Errorf("%s leads to %q", tube, found.link("Go through buried"))
		}
	}
}

func TestBulkOfBuried(t *testing.T) {
	s := newSite(t, Config{})
	c := s.dial()
	ids := s.bury(c, "mail", `{"to": "a", "n": 1}`, `{"to": "b", "n": 1}`, `{"to": "a", "n": 2}`, "no JSON")
	s.bury(c, "post", `{"to": "a"}`)

	form := s.sheet("/tubes/mail/buried", "Count, to delete").set("field", "to").set("value", "a")
	r, path := form.press("Count, to delete")
	wants(t, r, "Delete 2 jobs?", "buried jobs of tube mail whose to is “a”", `"n": 1`)
	r, _ = s.sheetOf(r, path, "Delete 2 jobs").press("Delete 2 jobs")
	wants(t, r, "Deleted 2 jobs.", "1 of 2")
	for i, gone := range []bool{true, false, true, false} {
		if _, err := s.look(ids[i]); errors.Is(err, queue.ErrNoJob) != gone {
			t.Errorf("job %d: %v", ids[i], err)
		}
	}
	r, path = s.sheet("/buried", "Count, to kick").set("q", "JSON").set("min_tries", "1").press("Count, to kick")
	wants(t, r, "Kick 1 job?")
	r, path = s.sheetOf(r, path, "Kick 1 job").press("Kick 1 job")
	wants(t, r, "Kicked 1 job.")
	if path != "/buried" {
		t.Errorf("it leads to %s", path)
	}
	r, _ = s.sheet("/buried", "Count, to kick").set("older", "1h").press("Count, to kick")
	wants(t, r, "No job is found")
	r, _ = s.sheet("/buried", "Show them").set("q", "to").press("Show them")
	if rows := r.rows(); len(rows) != 2 {
		t.Errorf("found: %q", rows)
	}
	if r, _ := s.sheet("/buried", "Count, to kick").set("older", "long").press("Count"); r.Status != http.StatusBadRequest || !strings.Contains(r.text(), "“long” is no time") {
		t.Errorf("an age that is none: %d, %s", r.Status, r.text())
	}
}
