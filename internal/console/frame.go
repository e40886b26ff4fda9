package console

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// files are templates/*.html, one a page, which defines the blocks "title" and
// "main" of layout.html, and templates/parts/*.html, which any page may use.
//
//go:embed templates
var files embed.FS

// frame is what a template is given. What the page is about is in Data.
type frame struct {
	// Here is the address of the page: path and query.
	Here string
	// Section is the part of the console in which the page is, for the menu:
	// the first part of its path.
	Section  string
	Token    string
	ReadOnly bool
	Version  string
	Notice   *notice // what has just been done; nil if nothing
	Data     any
}

// readPages parses the templates, which are part of the program: a fault in one
// is a fault of the program.
func readPages(functions template.FuncMap) map[string]*template.Template {
	shared := template.Must(template.New("layout.html").Funcs(functions).
		ParseFS(files, "templates/layout.html", "templates/parts/*.html"))
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		panic(err)
	}
	pages := make(map[string]*template.Template)
	for _, name := range names {
		if name != "templates/layout.html" {
			pages[path.Base(name)] = template.Must(template.Must(shared.Clone()).ParseFS(files, name))
		}
	}
	return pages
}

// show answers with a page: a template by its file's name and what it is about.
func (c *Console) show(w http.ResponseWriter, r *http.Request, name string, data any) error {
	return c.showAs(w, r, http.StatusOK, name, data)
}

// showAs is show with another status. A page is made whole before anything of it
// is sent, so that one that cannot be made is answered with an error.
func (c *Console) showAs(w http.ResponseWriter, r *http.Request, status int, name string, data any) error {
	section, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	f := frame{
		Here: here(r), Section: section, Token: c.config.Token, ReadOnly: c.config.ReadOnly, Version: c.config.Version,
		Notice: c.takeNotice(w, r), Data: data,
	}
	var body bytes.Buffer
	if err := c.pages[name].ExecuteTemplate(&body, "layout.html", &f); err != nil {
		return fmt.Errorf("console: page %s: %w", name, err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = body.WriteTo(w) // a reader who has gone needs no page
	return nil
}

// here is the address of a request: path and query.
func here(r *http.Request) string {
	return (&url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}).String()
}

// back is the page from which a form was posted, as its field "back" says, or
// another if it names none of ours.
func back(r *http.Request, otherwise string) string {
	to := r.FormValue("back")
	u, err := url.Parse(to)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") ||
		strings.ContainsAny(to, "\\\r\n\t") {
		return otherwise
	}
	return to
}

// tubeURL is the address of a tube's page. Two names would be taken for steps
// in the path, even escaped.
func tubeURL(name string) string {
	if name == "." || name == ".." {
		return "/tubes/?name=" + name
	}
	return "/tubes/" + url.PathEscape(name)
}

// tubeName is the tube whose page tubeURL has led to; routes of tubes are
// "/tubes/{tube}" and "/tubes/{$}".
func tubeName(r *http.Request) string {
	if name := r.PathValue("tube"); name != "" {
		return name
	}
	return r.FormValue("name")
}
