package console

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/haricotq/haricot/internal/operator"
)

// TestChangesAreSigned holds every change to a line in the log that says who it was.
func TestChangesAreSigned(t *testing.T) {
	s := newSite(t, Config{})
	var log bytes.Buffer
	o := operator.New(s.server, slog.New(slog.NewTextHandler(&log, nil)))
	s.handler = New(o, s.history, Config{Token: "the-token"})
	form := func(pairs ...string) url.Values {
		f := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			f.Set(pairs[i], pairs[i+1])
		}
		return f
	}
	job := form("tube", "mail", "pri", "1", "delay", "0", "ttr", "60", "body", "x")
	for _, step := range []struct {
		path   string
		fields url.Values
		line   string
	}{
		{"/put", job, `put" tube=mail job=1`},
		{"/put", job, `put" tube=mail job=2`},
		{"/jobs/1/bury", form(), `bury" job=1`},
		{"/tube/kick", form("tube", "mail", "n", "1"), `kick in bulk" tube=mail found=1 done=1`},
		{"/jobs/1/alter", form("delay", "1h"), `alter" job=1`},
		{"/jobs/1/kick", form(), `kick" job=1`},
		{"/jobs/1/move", form("to", "post"), `move" job=1`},
		{"/jobs/1/edit", job, `replace" job=1 by_job=3`},
		{"/tube/pause", form("tube", "mail", "length", "5m"), `pause" tube=mail seconds=300`},
		{"/tube/resume", form("tube", "mail"), `resume" tube=mail`},
		{"/jobs/2/delete", form(), `delete" job=2`},
		{"/bulk", form("tube", "mail", "do", "delete"), `delete in bulk" tube=mail found=1 done=1`},
	} {
		log.Reset()
		r := s.post(step.path, step.fields)
		if r.Status != http.StatusSeeOther || !strings.Contains(log.String(), `msg="operator: `+step.line) || !strings.Contains(log.String(), `by="a test"`) {
			t.Errorf("%s is answered with %d and logged as %q", step.path, r.Status, log.String())
		}
		s.get(r.Header.Get("Location"))
	}
}

// TestLiveState has the part of a tube's page that changes most come without the list.
func TestLiveState(t *testing.T) {
	s := newSite(t, Config{})
	s.put(s.dial(), "mail", "in the list")
	r := httptest.NewRequest(http.MethodGet, "/tubes/mail", nil)
	r.Header.Set("HX-Request", "true")
	r.Header.Set("HX-Target", "div#tube-state")
	part := s.do(r)
	wants(t, part, "1 ready job")
	if strings.Contains(part.text(), "in the list") {
		t.Error("the list is made for nothing")
	}
	wants(t, s.get("/tubes/mail"), "1 ready job", "in the list")
}

func TestFormsLeadToOurPagesOnly(t *testing.T) {
	s := newSite(t, Config{})
	s.bury(s.dial(), "mail", "x")
	for _, to := range []string{"https://example.org/", "//example.org/", `/\example.org`, "javascript:alert(1)", "/x\r\nSet-Cookie: a=b"} {
		for path, fields := range map[string]url.Values{
			"/jobs/1/alter": {"pri": {"1"}}, "/tube/pause": {"tube": {"mail"}, "length": {"1s"}}, "/bulk": {"tube": {"none"}, "do": {"kick"}},
		} {
			fields.Set("back", to)
			location := s.post(path, fields).Header.Get("Location")
			if !strings.HasPrefix(location, "/") || strings.HasPrefix(location, "//") || strings.Contains(location, "example") {
				t.Errorf("%s with %q leads to %q", path, to, location)
			}
		}
	}
}
