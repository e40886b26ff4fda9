package apiclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// site answers as the API does, and notes what it was asked.
type site struct {
	asked []string
	paths map[string]string // answers by "METHOD path?query"
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	content, _ := io.ReadAll(r.Body) // An error shows as content that is missing.
	key := r.Method + " " + r.URL.EscapedPath()
	if r.URL.RawQuery != "" {
		key += "?" + r.URL.RawQuery
	}
	s.asked = append(s.asked, strings.TrimSpace(key+" "+string(content)))
	answer, ok := s.paths[key]
	status, kind := http.StatusOK, "application/json"
	switch {
	case r.Header.Get("X-Requested-With") == "":
		status, kind, answer = http.StatusForbidden, "application/problem+json", `{"detail":"the header is missing"}`
	case !ok:
		status, kind, answer = http.StatusNotFound, "application/problem+json", `{"status":404,"title":"Not Found","detail":"There is no such job."}`
	case strings.HasPrefix(answer, "409 "):
		status, kind, answer = http.StatusConflict, "application/problem+json", answer[4:]
	case strings.HasPrefix(answer, "event"):
		kind = "text/event-stream"
	case strings.HasPrefix(answer, "<"):
		kind = "text/html"
	case answer == "":
		status = http.StatusNoContent
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	io.WriteString(w, answer)
}

// opened serves a site until the end of the test.
func opened(t *testing.T, paths map[string]string) (*site, *Client) {
	t.Helper()
	s := &site{paths: paths}
	server := httptest.NewServer(s)
	c, err := New(server.URL, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		server.Close()
		goleak.VerifyNone(t)
	})
	return s, c
}

func TestJobsPageByPage(t *testing.T) {
	s, c := opened(t, map[string]string{
		"GET /api/v1/tubes/a%2Fb/jobs?body_limit=9&state=ready":            `{"jobs":[{"id":1,"tube":"a/b","state":"ready","body":"x","new":[1]},{"id":2}],"next":"5-2"}`,
		"GET /api/v1/tubes/a%2Fb/jobs?body_limit=9&cursor=5-2&state=ready": `{"jobs":[{"id":3,"body_base64":"/w=="}],"next":""}`,
	})
	var got []string
	for job, err := range c.Jobs(t.Context(), "a/b", "ready", 9) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(job.Raw))
	}
	if want := []string{`{"id":1,"tube":"a/b","state":"ready","body":"x","new":[1]}`, `{"id":2}`, `{"id":3,"body_base64":"/w=="}`}; !slices.Equal(got, want) {
		t.Errorf("the jobs are %q, want %q", got, want)
	}
	for range c.Jobs(t.Context(), "a/b", "ready", 9) {
		break
	}
	if len(s.asked) != 3 {
		t.Errorf("asked %q: a page that nobody wants must not be asked for", s.asked)
	}
}

func TestQueryInBothForms(t *testing.T) {
	s, c := opened(t, map[string]string{
		"GET /api/v1/jobs?body_limit=0&field=to&max_age=0.5&max_tries=0&min_age=60&min_tries=2&q=a+b&state=ready&state=buried&tube=t&value=": `{"jobs":[],"next":""}`,
		"POST /api/v1/jobs/bulk": `{"matched":4,"done":3,"skipped":1}`,
	})
	none, empty := 0, ""
	q := &Query{
		Tube: "t", States: []string{"ready", "buried"}, Contains: "a b", Field: "to", Value: &empty,
		MinAge: time.Minute, MaxAge: time.Second / 2, MinTries: 2, MaxTries: &none,
	}
	for _, err := range c.Search(t.Context(), q, 0) {
		t.Fatal(err)
	}
	if n, err := c.Count(t.Context(), q); n != 4 || err != nil {
		t.Errorf("counted %d (%v)", n, err)
	}
	o, err := c.Bulk(t.Context(), q, "move", Parameters{"tube": "u"}, 4)
	if err != nil || o != (Outcome{4, 3, 1}) {
		t.Errorf("the outcome is %+v (%v)", o, err)
	}
	query := `"query":{"field":"to","max_age":0.5,"max_tries":0,"min_age":60,"min_tries":2,"q":"a b","state":["ready","buried"],"tube":"t","value":""}`
	want := []string{
		`POST /api/v1/jobs/bulk {"action":"delete","dry_run":true,` + query + `}`,
		`POST /api/v1/jobs/bulk {"action":"move","expect":4,` + query + `,"tube":"u"}`,
	}
	if got := s.asked[1:]; !slices.Equal(got, want) {
		t.Errorf("asked\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestChanges(t *testing.T) {
	s, c := opened(t, map[string]string{
		"DELETE /api/v1/jobs/7?force=true":   "",
		"POST /api/v1/jobs/7/move":           "",
		"POST /api/v1/tubes/t/clear":         `{"matched":2,"done":2,"skipped":0}`,
		"GET /api/v1/tubes/t":                `{"name":"t","ready":1,"reserved":2,"delayed":3,"buried":4}`,
		"GET /api/v1/connections":            `{"connections":[{"id":1,"address":"x","watches":["a"],"hold_count":2}],"next":""}`,
		"POST /api/v1/jobs/8/bury":           `409 {"status":409,"title":"Conflict","detail":"Job 8 is held.","matched":3}`,
		"POST /api/v1/jobs/9/release?x=%22y": "",
	})
	ctx := t.Context()
	if err := errors.Join(c.Do(ctx, 7, "delete", Parameters{"force": true}), c.Do(ctx, 7, "move", Parameters{"tube": "u"})); err != nil {
		t.Error(err)
	}
	if o, err := c.Clear(ctx, "t", []string{"ready"}, true); err != nil || o.Done != 2 {
		t.Errorf("cleared %+v (%v)", o, err)
	}
	if n, err := c.Tube(ctx, "t"); err != nil || n != (TubeCounts{1, 2, 3, 4}) {
		t.Errorf("the tube is %+v (%v)", n, err)
	}
	if list, err := c.Connections(ctx); err != nil || len(list) != 1 || list[0].HoldCount != 2 || !json.Valid(list[0].Raw) {
		t.Errorf("the connections are %+v (%v)", list, err)
	}
	if err := c.Do(ctx, 8, "bury", nil); !errors.Is(err, ErrConflict) || err.Error() != "Job 8 is held" {
		t.Errorf("a job that is held: %v", err)
	}
	if err := c.Do(ctx, 99, "kick", nil); !errors.Is(err, ErrNotFound) {
		t.Errorf("a job that is not there: %v", err)
	}
	if got, want := s.asked[2], `POST /api/v1/tubes/t/clear {"force":true,"state":["ready"]}`; got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
}

func TestWatch(t *testing.T) {
	_, c := opened(t, map[string]string{
		"GET /api/v1/events?tube=t": "event: sample\ndata: {\"at\":\"2026-05-04T09:30:00Z\",\"tube\":{\"ready\":3,\"rates\":{\"puts\":2}}}\n\n: still here\n\n" +
			"event: sample\ndata: {\"at\":\"2026-05-04T09:30:01Z\"}\n\n",
	})
	var got []string
	err := c.Watch(t.Context(), "t", func(s *Sample) error {
		text := s.At.Format(time.TimeOnly)
		if s.Tube != nil {
			text += fmt.Sprintf(" %d ready, %g put", s.Tube.Ready, s.Tube.Rates.Puts)
		}
		got = append(got, text)
		return nil
	})
	if want := []string{"09:30:00 3 ready, 2 put", "09:30:01"}; !slices.Equal(got, want) || err == nil {
		t.Errorf("seen %q, want %q; the end of the stream is %v, want an error", got, want, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	err = c.Watch(ctx, "t", func(*Sample) error { stop(); return nil })
	if err != nil {
		t.Errorf("a watch that was ended: %v", err)
	}
}

func TestAddresses(t *testing.T) {
	for address, base := range map[string]string{
		"127.0.0.1:80":              "http://127.0.0.1:80/api/v1",
		"http://h:1/":               "http://h:1/api/v1",
		"http://h:1/api/v1":         "http://h:1/api/v1",
		"https://h/queue":           "https://h/queue/api/v1",
		"[::1]:8080":                "http://[::1]:8080/api/v1",
		"unix:/run/haricot/api":     "http://localhost/api/v1",
		"":                          "",
		"ftp://h":                   "",
		"http://":                   "",
		"http://bad host":           "",
		"unix-socket-without-colon": "http://unix-socket-without-colon/api/v1",
	} {
		c, err := New(address, time.Second)
		if base == "" {
			if !errors.Is(err, ErrNeeded) && !errors.Is(err, ErrAddress) {
				t.Errorf("%q: %v, want a refusal", address, err)
			}
			continue
		}
		if err != nil || c.base != base {
			t.Errorf("%q: %+v (%v), want %s", address, c, err, base)
		}
	}
}

func TestUnixSocketAndStrangers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(&site{paths: map[string]string{"GET /api/v1/tubes/t": "<html>"}})
	server.Listener.Close()
	server.Listener = ln
	server.Start()
	defer goleak.VerifyNone(t)
	defer server.Close()
	c, err := New("unix:"+path, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Tube(t.Context(), "t"); !errors.Is(err, ErrNoAPI) {
		t.Errorf("a page of HTML: %v", err)
	}
	if _, err := c.Tube(t.Context(), "u"); !errors.Is(err, ErrNotFound) {
		t.Errorf("no such tube: %v", err)
	}
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	if c, err = New(plain.URL, time.Minute); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Tube(t.Context(), "t"); !errors.Is(err, ErrNoAPI) {
		t.Errorf("a server of something else: %v", err)
	}
	plain.Close()
	_, err = c.Tube(t.Context(), "t")
	if inner, ok := errors.AsType[*url.Error](err); err == nil || ok {
		t.Errorf("nobody there: %v, %v", err, inner)
	}
}
