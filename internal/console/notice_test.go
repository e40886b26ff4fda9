package console

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestNotice passes a notice over a redirect: it is shown once, as text, and not
// to a part of a page that is fetched in between.
func TestNotice(t *testing.T) {
	s := newSite(t, Config{})
	c := &Console{config: Config{Token: "the-token"}}
	say := func(act func(http.ResponseWriter, *http.Request, string, string), text string) {
		w := httptest.NewRecorder()
		act(w, httptest.NewRequest(http.MethodPost, "/", nil), "/tubes", text)
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/tubes" {
			t.Fatalf("the answer is %d to %q", w.Code, w.Header().Get("Location"))
		}
		s.cookies[noticeCookie] = w.Result().Cookies()[0].Value //nolint:bodyclose // a recorder has nothing to close
	}

	say(c.done, "<b>Kicked</b> 3 jobs")
	live := httptest.NewRequest(http.MethodGet, "/tubes", nil)
	live.Header.Set("HX-Request", "true")
	if r := s.do(live); strings.Contains(r.text(), "Kicked") {
		t.Error("a part of a page has taken the notice")
	}
	if r := s.get("/tubes"); !strings.Contains(r.text(), "<b>Kicked</b> 3 jobs") {
		t.Errorf("the notice is not shown: %s", r.text())
	}
	if r := s.get("/tubes"); strings.Contains(r.text(), "Kicked") {
		t.Error("the notice is shown twice")
	}

	say(c.refused, "No such job "+strings.Repeat("ü", 2000))
	if r := s.get("/tubes"); !strings.Contains(r.Text, `role="alert"`) || !strings.Contains(r.text(), "No such job ü") {
		t.Error("a refusal is not shown as one")
	}

	c.config.Token = "somebody else's"
	say(c.done, "You have won")
	if r := s.get("/tubes"); strings.Contains(r.text(), "You have won") {
		t.Error("a notice of somebody else is shown")
	}
	for _, value := range []string{"", "x", strings.Repeat("A", 43), strings.Repeat("A", 60)} {
		s.cookies[noticeCookie] = value
		if r := s.get("/tubes"); r.Status != http.StatusOK {
			t.Errorf("the cookie %q is answered with %d", value, r.Status)
		}
	}
}

func TestBack(t *testing.T) {
	for to, want := range map[string]string{
		"/tubes?page=2": "/tubes?page=2", "/tubes/a%2Fb": "/tubes/a%2Fb", "": "/else", "https://example.org/": "/else",
		"//example.org/": "/else", `/\example.org`: "/else", "tubes": "/else", "javascript:alert(1)": "/else", "/a\nb": "/else", "/%zz": "/else",
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Form = map[string][]string{"back": {to}}
		if got := back(r, "/else"); got != want {
			t.Errorf("back to %q leads to %q, not %q", to, got, want)
		}
	}
}
