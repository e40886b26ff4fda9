package console

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/haricotq/haricot/client"
)

// hostileTubes are names that the protocol allows and that mean something in
// addresses, in HTML or in paths.
var hostileTubes = []string{"..", ".", "a/b", "a/../b", "x;y", "$(reboot)", "a+b", "tube.with.$_()/;+", strings.Repeat("n", 200)}

// hostileBodies mean something to browsers, terminals and templates.
var hostileBodies = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `</pre><script src=//example.org></script>`,
	`{{.Token}}`, `javascript:alert(1)`, "\x1b[31mred\x00\xff\xfe", `{"a":"</script><script>alert(1)</script>"}`,
}

// fill gives a server something to show of everything.
func fill(s *site) {
	producer, worker := s.dial(), s.dial()
	for _, tube := range hostileTubes {
		for _, body := range hostileBodies {
			s.put(producer, tube, body)
		}
	}
	s.put(producer, "later", "delayed", client.WithDelay(time.Hour))
	s.must(worker.WatchOnly(s.t.Context(), "grave"))
	s.put(producer, "grave", `<script>alert("buried")</script>`)
	job, err := worker.Reserve(s.t.Context())
	s.must(err)
	s.must(job.Bury(s.t.Context()))
	s.put(producer, "grave", "held")
	_, err = worker.Reserve(s.t.Context())
	s.must(err)
	s.must(producer.PauseTube(s.t.Context(), "a/b", time.Hour))
}

// TestPagesAreSafe follows every link of the console from page to page, as a
// reader could, and holds each page to what must be true of all.
func TestPagesAreSafe(t *testing.T) {
	s := newSite(t, Config{})
	fill(s)
	const most = 250
	queue, seen := []string{"/", "/tubes?filter=%3Cscript%3E", "/nowhere", "/connections/4000000", "/tubes/<b>"}, map[string]bool{}
	for len(queue) > 0 && len(seen) < most {
		path := queue[0]
		queue = queue[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		r := s.get(path)
		if r.Status >= http.StatusInternalServerError {
			t.Errorf("%s is answered with %d: %s\n%s", path, r.Status, r.text(), s.log)
			continue
		}
		checkPage(t, path, r)
		for _, a := range r.all("a") {
			if href := attribute(a, "href"); strings.HasPrefix(href, "/") && !foreign(href) {
				u, err := url.Parse(href)
				if err != nil {
					t.Errorf("%s links to %q, which is no address: %v", path, href, err)
					continue
				}
				queue = append(queue, u.RequestURI())
			}
		}
	}
	for _, path := range []string{"/", "/tubes", "/connections"} {
		if !seen[path] {
			t.Errorf("no link led to %s", path)
		}
	}
	t.Logf("%d pages", len(seen))
}

// foreign tells whether an address is somebody else's, or no page.
func foreign(href string) bool {
	return strings.HasPrefix(href, "/metrics") || strings.HasPrefix(href, "/jobs/") && strings.HasSuffix(href, "/body") || strings.HasPrefix(href, "/api/") || strings.HasPrefix(href, "/static/")
}

// checkPage holds a page to what must be true of all.
func checkPage(t *testing.T, path string, r *response) {
	t.Helper()
	for name, want := range map[string]string{
		"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
		"Cache-Control": "no-store", "Content-Type": "text/html; charset=utf-8",
	} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s: the header %s is %q, not %q", path, name, got, want)
		}
	}
	for n := range r.Page.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || strings.HasPrefix(a.Key, "hx-on") {
				t.Errorf("%s: <%s> has the attribute %s=%q", path, n.Data, a.Key, a.Val)
			}
			if (a.Key == "href" || a.Key == "src" || a.Key == "action") && !strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "#") &&
				!strings.HasPrefix(a.Val, "?") {
				t.Errorf("%s: <%s> leads to %q", path, n.Data, a.Val)
			}
		}
		switch n.Data {
		case "script":
			if !strings.HasPrefix(attribute(n, "src"), "/static/") || n.FirstChild != nil {
				t.Errorf("%s: a script that is not ours: %v %s", path, n.Attr, textOf(n))
			}
		case "style", "iframe", "object", "embed", "base":
			t.Errorf("%s: there is a <%s>", path, n.Data)
		case "img":
			if !strings.HasPrefix(attribute(n, "src"), "/static/") {
				t.Errorf("%s: an image that is not ours: %v", path, n.Attr)
			}
		case "form":
			checkForm(t, path, n)
		}
	}
	if titles := r.all("title"); len(titles) == 0 || !strings.HasSuffix(textOf(titles[0]), "· haricot") {
		t.Errorf("%s has no title", path)
	}
	if len(r.all("h1")) != 1 {
		t.Errorf("%s has %d headings of the first level", path, len(r.all("h1")))
	}
}

// checkForm holds a form to what must be true of all: one that changes something
// has the token, and can be sent without a script.
func checkForm(t *testing.T, path string, form *html.Node) {
	t.Helper()
	if attribute(form, "method") != "post" {
		return
	}
	token, button := false, false
	for n := range form.Descendants() {
		token = token || n.Data == "input" && attribute(n, "name") == "token" && attribute(n, "value") == "the-token"
		button = button || n.Data == "button" && attribute(n, "type") != "button"
	}
	if !token || !button {
		t.Errorf("%s: the form for %s has a token: %t, a button: %t", path, attribute(form, "action"), token, button)
	}
}

func TestReadOnlyHidesChanges(t *testing.T) {
	s := newSite(t, Config{ReadOnly: true})
	fill(s)
	for _, path := range []string{"/", "/tubes", "/tubes/grave", "/tubes/?name=..", "/connections", "/search?q=1"} {
		r := s.get(path)
		if !strings.Contains(r.text(), "Read only") {
			t.Errorf("%s does not say that it is read-only", path)
		}
		for _, form := range r.all("form") {
			if attribute(form, "method") == "post" {
				t.Errorf("%s has a form for %s", path, attribute(form, "action"))
			}
		}
		if r.link("Put") != "" {
			t.Errorf("%s leads to where jobs are put", path)
		}
	}
}

func TestFailuresAreTold(t *testing.T) {
	s := newSite(t, Config{})
	for path, want := range map[string]int{
		"/nowhere":                  http.StatusNotFound,
		"/connections/77":           http.StatusNotFound,
		"/connections/x":            http.StatusNotFound,
		"/connections/99999999999":  http.StatusNotFound,
		"/tubes?sort=shoe-size":     http.StatusBadRequest,
		"/tubes?order=sideways":     http.StatusBadRequest,
		"/tubes?page=0":             http.StatusBadRequest,
		"/tubes?page=many":          http.StatusBadRequest,
		"/?span=1y":                 http.StatusBadRequest,
		"/static/nothing.css":       http.StatusNotFound,
		"/static/../console.go":     http.StatusTemporaryRedirect,
		"/tubes?page=1000000":       http.StatusOK,
		"/connections?page=1000000": http.StatusOK,
	} {
		if r := s.get(path); r.Status != want {
			t.Errorf("%s is answered with %d, not %d: %s", path, r.Status, want, r.text())
		}
	}
}

func TestAssets(t *testing.T) {
	s := newSite(t, Config{})
	page := s.get("/")
	var files []string
	for _, n := range append(page.all("script"), page.all("link")...) {
		files = append(files, attribute(n, "src")+attribute(n, "href"))
	}
	if len(files) < 5 {
		t.Fatalf("a page needs the files %q", files)
	}
	for _, file := range files {
		r := s.get(file)
		if r.Status != http.StatusOK || !strings.Contains(r.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: status %d, Cache-Control %q", file, r.Status, r.Header.Get("Cache-Control"))
		}
		plain, _, _ := strings.Cut(file, "?")
		again := httptest.NewRequest(http.MethodGet, plain, nil)
		again.Header.Set("If-None-Match", r.Header.Get("ETag"))
		if r := s.do(again); r.Status != http.StatusNotModified || r.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s again: status %d, Cache-Control %q", plain, r.Status, r.Header.Get("Cache-Control"))
		}
	}
}
