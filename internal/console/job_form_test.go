package console

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// sheet is a form of a page, which is filled in and sent as a browser without
// JavaScript does.
type sheet struct {
	site    *site
	form    *html.Node
	page    string // its address
	fields  url.Values
	buttons map[string]*html.Node
}

// sheet finds the form of a page that has a button of a text.
func (s *site) sheet(path, button string) *sheet {
	s.t.Helper()
	r := s.get(path)
	if r.Status != http.StatusOK {
		s.t.Fatalf("%s is answered with %d: %s", path, r.Status, r.text())
	}
	return s.sheetOf(r, path, button)
}

func (s *site) sheetOf(r *response, path, button string) *sheet {
	s.t.Helper()
	var buttons []string
	for _, form := range r.all("form") {
		f := &sheet{site: s, form: form, page: path, fields: make(url.Values), buttons: make(map[string]*html.Node)}
		f.read()
		for text := range f.buttons {
			buttons = append(buttons, text)
			if strings.HasPrefix(text, button) {
				return f
			}
		}
	}
	s.t.Fatalf("%s has no form with the button %q, but: %q", path, button, buttons)
	return nil
}

// read notes the fields of a form as a browser would send them.
func (f *sheet) read() {
	for n := range f.form.Descendants() {
		name := attribute(n, "name")
		switch n.Data {
		case "input":
			checkable := attribute(n, "type") == "checkbox" || attribute(n, "type") == "radio"
			if name != "" && (!checkable || has(n, "checked")) {
				f.fields.Add(name, attribute(n, "value"))
			}
		case "textarea":
			if text := n.FirstChild; text != nil {
				f.fields.Add(name, text.Data)
			} else {
				f.fields.Add(name, "")
			}
		case "option":
			if has(n, "selected") {
				f.fields.Set(attribute(n.Parent, "name"), attribute(n, "value"))
			}
		case "button":
			if attribute(n, "type") != "button" {
				f.buttons[textOf(n)] = n
			}
		}
	}
}

func has(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

// set fills in a field, which the form must have.
func (f *sheet) set(name, value string) *sheet {
	f.site.t.Helper()
	if _, ok := f.fields[name]; !ok {
		f.site.t.Fatalf("the form of %s has no field %q, but: %v", f.page, name, f.fields)
	}
	f.fields.Set(name, value)
	return f
}

// check ticks a box.
func (f *sheet) check(name, value string) *sheet {
	f.fields.Add(name, value)
	return f
}

// press sends the form with one of its buttons, and follows where that leads.
func (f *sheet) press(button string) (*response, string) {
	f.site.t.Helper()
	action, fields := attribute(f.form, "action"), url.Values{}
	for name, values := range f.fields {
		fields[name] = values
	}
	pressed := false
	for text, b := range f.buttons {
		if !strings.HasPrefix(text, button) || pressed {
			continue
		}
		pressed = true
		if to := attribute(b, "formaction"); to != "" {
			action = to
		}
		if name := attribute(b, "name"); name != "" {
			fields.Add(name, attribute(b, "value"))
		}
	}
	if !pressed {
		f.site.t.Fatalf("the form of %s has no button %q", f.page, button)
	}
	if attribute(f.form, "method") != "post" {
		return f.site.follow(action + "?" + fields.Encode())
	}
	if fields.Get("token") != "the-token" {
		f.site.t.Fatalf("the form for %s has no token", action)
	}
	for _, values := range fields { // as browsers do, whatever the page's line ends are
		for i := range values {
			values[i] = strings.ReplaceAll(strings.ReplaceAll(values[i], "\r\n", "\n"), "\n", "\r\n")
		}
	}
	r := httptest.NewRequest(http.MethodPost, action, strings.NewReader(fields.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := f.site.do(r)
	if answer.Status != http.StatusSeeOther {
		return answer, action
	}
	return f.site.follow(answer.Header.Get("Location"))
}

// follow gets a page, and what it redirects to.
func (s *site) follow(path string) (*response, string) {
	r := s.get(path)
	for range 3 {
		if r.Status != http.StatusSeeOther {
			break
		}
		path = r.Header.Get("Location")
		r = s.get(path)
	}
	return r, path
}

// notice is what a page says of what has been done.
func (r *response) notice() string {
	for _, p := range r.all("p") {
		if has(p, "data-notice") {
			return textOf(p)
		}
	}
	return ""
}

// tagged is the text of the first element with an id.
func (r *response) tagged(id string) string {
	for n := range r.Page.Descendants() {
		if n.Type == html.ElementNode && attribute(n, "id") == id {
			var text strings.Builder
			for d := range n.Descendants() {
				if d.Type == html.TextNode {
					text.WriteString(d.Data)
				}
			}
			return text.String()
		}
	}
	return ""
}

// wants fails the test unless a page is there and its text has all of the parts.
func wants(t *testing.T, r *response, parts ...string) {
	t.Helper()
	if r.Status != http.StatusOK {
		t.Errorf("the page is answered with %d", r.Status)
	}
	text := r.text()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in %q", part, text)
		}
	}
}
