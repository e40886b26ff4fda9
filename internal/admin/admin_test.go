package admin

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/haricotq/haricot/internal/operator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scene is a server that answers until the end of the test.
type scene struct {
	*Server
	t       *testing.T
	log     bytes.Buffer
	address string
	client  *http.Client
}

// start starts a server on a listener; nil is a TCP port of its own.
func start(t *testing.T, config Config, ln net.Listener) *scene {
	t.Helper()
	s := &scene{t: t, client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	config.Logger = slog.New(slog.NewTextHandler(&s.log, nil))
	s.Server = New(config)
	if ln == nil {
		var err error
		if ln, err = net.Listen("tcp", "127.0.0.1:0"); err != nil { //nolint:noctx // nothing to cancel
			t.Fatal(err)
		}
	}
	s.address = "http://" + ln.Addr().String()
	s.Serve(ln)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return s
}

// open lets requests through to handlers that say what they are, and who asks.
func (s *scene) open(ready error) {
	named := func(name string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, name+" for "+operator.Who(r.Context()))
		})
	}
	s.Open(Handlers{
		Metrics: named("metrics"), API: named("api"), Console: named("console"),
		Ready: func() error { return ready },
	})
}

// ask sends a request and returns the status and the text of the answer.
func (s *scene) ask(method, path string, change func(*http.Request)) (int, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.address+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func (s *scene) expect(method, path string, change func(*http.Request), status int, part string) {
	s.t.Helper()
	if got, text := s.ask(method, path, change); got != status || !strings.Contains(text, part) {
		s.t.Errorf("%s %s: %d %q, want %d with %q", method, path, got, text, status, part)
	}
}

func TestLife(t *testing.T) {
	s := start(t, Config{}, nil)
	s.expect("GET", "/healthz", nil, 200, "ok")
	s.expect("GET", "/readyz", nil, 503, "not ready: the server is starting")
	for _, path := range []string{"/", "/metrics", "/api/v1/tubes"} {
		s.expect("GET", path, nil, 503, "recovered")
	}
	s.open(nil)
	s.expect("GET", "/readyz", nil, 200, "ready")
	s.expect("GET", "/metrics", nil, 200, "metrics for 127.0.0.1:")
	s.expect("GET", "/api/v1/tubes", nil, 200, "api for 127.0.0.1:")
	s.expect("GET", "/tubes/a", nil, 200, "console for 127.0.0.1:")
	s.expect("GET", "/debug/pprof/", nil, 200, "console") // not asked for
	s.open(errors.New("it is draining"))
	s.expect("GET", "/readyz", nil, 503, "not ready: it is draining")
	s.expect("GET", "/healthz", nil, 200, "ok")
	s.Stopping()
	s.expect("GET", "/readyz", nil, 503, "stopping")
	s.expect("GET", "/metrics", nil, 200, "metrics")
}

// TestStreamsEnd: a stream that would go on for ever ends with the server.
func TestStreamsEnd(t *testing.T) {
	s := start(t, Config{}, nil)
	began := make(chan struct{})
	s.Open(Handlers{Console: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		close(began)
		<-r.Context().Done()
	})})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.address+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	<-began
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(answer.Body); err != nil {
		t.Errorf("the stream broke off: %v", err)
	}
}

func TestProfiles(t *testing.T) {
	s := start(t, Config{Profiles: true}, nil)
	s.expect("GET", "/debug/pprof/", nil, 200, "goroutine")
	s.expect("GET", "/debug/pprof/cmdline", nil, 200, "admin.test")
}

// TestHosts: a page of another site that points a name of its own at this
// machine gets nothing.
func TestHosts(t *testing.T) {
	s := start(t, Config{Hosts: []string{"Queue.example.org"}}, nil)
	s.open(nil)
	for host, status := range map[string]int{
		"127.0.0.1":                200,
		"10.1.2.3:80":              200,
		"[::1]:8080":               200,
		"[::1]":                    200,
		"localhost:11380":          200,
		"LOCALHOST":                200,
		"localhost.":               200,
		"queue.example.org":        200,
		"queue.example.org:443":    200,
		"evil.example":             421,
		"127.0.0.1.evil.example":   421,
		"localhost.evil.example:1": 421,
	} {
		s.expect("GET", "/", func(r *http.Request) { r.Host = host }, status, "")
	}
	s.expect("GET", "/metrics", func(r *http.Request) { r.Host = "evil.example" }, 421, "--http-host evil.example")
	s.expect("GET", "/api/v1/tubes", func(r *http.Request) { r.Host = "evil.example" }, 421, `"status":421`)
}

// form makes a request one that a browser sends for a form.
func form(values url.Values, headers ...string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		text := values.Encode()
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
		set(headers...)(r)
	}
}

func set(headers ...string) func(*http.Request) {
	return func(r *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
}

// TestChanges: what a page of another site can have a browser send changes
// nothing.
func TestChanges(t *testing.T) {
	s := start(t, Config{}, nil)
	s.open(nil)
	token := url.Values{"token": {s.Token()}}
	for _, c := range []struct {
		name   string
		change func(*http.Request)
		status int
	}{
		{"nothing that a page could not send", nil, 403},
		{"a form without a token", form(nil), 403},
		{"a form with another token", form(url.Values{"token": {"x"}}), 403},
		{"a form with the token in the address", func(r *http.Request) { form(nil)(r); r.URL.RawQuery = token.Encode() }, 403},
		{"text", set("Content-Type", "text/plain"), 403},
		{"the console's form", form(token), 200},
		{"the console's form, sent by another site", form(token, "Sec-Fetch-Site", "cross-site"), 403},
		{"JSON", set("Content-Type", "application/json; charset=utf-8"), 200},
		{"a header", set("X-Requested-With", "curl"), 200},
		{"htmx", set("HX-Request", "true"), 200},
		{"a header, from another site", set("X-Requested-With", "x", "Origin", "http://evil.example"), 403},
	} {
		for _, method := range []string{"POST", "DELETE", "PATCH", "PUT"} {
			if method != "POST" && strings.Contains(c.name, "form") {
				continue
			}
			if got, text := s.ask(method, "/api/v1/jobs/1", c.change); got != c.status {
				t.Errorf("%s with %s: %d %q, want %d", method, c.name, got, text, c.status)
			}
		}
	}
}

func TestReadOnly(t *testing.T) {
	s := start(t, Config{ReadOnly: true}, nil)
	s.open(nil)
	s.expect("GET", "/api/v1/tubes", nil, 200, "api")
	s.expect("DELETE", "/api/v1/jobs/1", set("X-Requested-With", "curl"), 403, "read-only")
	s.expect("POST", "/jobs/1/kick", form(url.Values{"token": {s.Token()}}), 403, "read-only")
}

// TestUnixSocket: over a unix socket any name will do, and the caller is known.
func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "http")
	ln, err := net.Listen("unix", path) //nolint:noctx // nothing to cancel
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, Config{}, ln)
	s.address = "http://whatever.example"
	s.client.Transport = &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}
	s.open(nil)
	s.expect("GET", "/", nil, 200, "console for unix socket")
	if strings.Contains(s.log.String(), "WARN") {
		t.Errorf("a unix socket is warned of: %s", s.log.String())
	}
}

func TestWarnsBeyondLoopback(t *testing.T) {
	ln, err := net.Listen("tcp", ":0") //nolint:noctx // nothing to cancel
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, Config{}, ln)
	if !strings.Contains(s.log.String(), "open to other machines") {
		t.Errorf("no warning: %s", s.log.String())
	}
}
