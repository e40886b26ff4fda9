package console

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/haricotq/haricot/client"
	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/server"
)

// site is a console in front of a real server.
type site struct {
	t        *testing.T
	address  string
	socket   string // a unix socket of the same server
	server   *server.Server
	operator *operator.Operator
	history  *operator.History
	handler  http.Handler
	cookies  map[string]string
	log      *bytes.Buffer // what the console logs; read it after its pages only
}

// newSite starts a server and a console, until the test ends.
func newSite(t *testing.T, config Config) *site {
	t.Helper()
	srv, err := server.New(server.Config{Observed: true, MaxJobSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, server: srv, socket: filepath.Join(t.TempDir(), "socket"), cookies: make(map[string]string), log: new(bytes.Buffer)}
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": s.socket} {
		ln, err := net.Listen(network, address)
		s.must(err)
		s.must(srv.Serve(ln))
		if network == "tcp" {
			s.address = ln.Addr().String()
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- srv.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	config.Logger = slog.New(slog.NewTextHandler(s.log, nil))
	if config.Token == "" {
		config.Token = "the-token"
	}
	s.operator = operator.New(srv, slog.New(slog.DiscardHandler))
	s.history = operator.NewHistory(s.operator)
	s.handler = New(s.operator, s.history, config)
	return s
}

// dial connects a client.
func (s *site) dial() *client.Conn { return s.dialTo(s.address) }

func (s *site) dialTo(address string) *client.Conn {
	s.t.Helper()
	c, err := client.Dial(s.t.Context(), address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// put puts a job into a tube.
func (s *site) put(c *client.Conn, tube, body string, options ...client.Option) uint64 {
	s.t.Helper()
	s.must(c.Use(s.t.Context(), tube))
	id, err := c.Put(s.t.Context(), []byte(body), options...)
	s.must(err)
	return id
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// response is an answer of the console.
type response struct {
	Status int
	Header http.Header
	Text   string     // as it was sent
	Page   *html.Node // as a browser reads it
}

// get gets a page, as a browser does that keeps cookies.
func (s *site) get(path string) *response {
	return s.do(httptest.NewRequest(http.MethodGet, path, nil))
}

// post posts a form, with the token that forms of the console have.
func (s *site) post(path string, form url.Values) *response {
	form.Set("token", "the-token")
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return s.do(r)
}

func (s *site) do(r *http.Request) *response {
	s.t.Helper()
	for name, value := range s.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r.WithContext(operator.WithWho(s.t.Context(), "a test")))
	for _, cookie := range w.Result().Cookies() { //nolint:bodyclose // a recorder has nothing to close
		if s.cookies[cookie.Name] = cookie.Value; cookie.MaxAge < 0 {
			delete(s.cookies, cookie.Name)
		}
	}
	page, err := html.Parse(strings.NewReader(w.Body.String()))
	s.must(err)
	return &response{w.Code, w.Header(), w.Body.String(), page}
}

// all are the elements of a name.
func (r *response) all(name string) (list []*html.Node) {
	for n := range r.Page.Descendants() {
		if n.Type == html.ElementNode && n.Data == name {
			list = append(list, n)
		}
	}
	return list
}

// rows are the texts of the rows of a page's first list, one line each.
func (r *response) rows() (list []string) {
	for _, body := range r.all("tbody")[:min(1, len(r.all("tbody")))] {
		for n := range body.ChildNodes() {
			if n.Type == html.ElementNode {
				list = append(list, textOf(n))
			}
		}
	}
	return list
}

// text is the visible text of the page.
func (r *response) text() string { return textOf(r.all("body")[0]) }

// textOf is the text of an element, words set apart by one space.
func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// attribute is an element's attribute, empty if it has none of that name.
func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// link is the address of the first link with a text.
func (r *response) link(text string) string {
	for _, a := range r.all("a") {
		if textOf(a) == text {
			return attribute(a, "href")
		}
	}
	return ""
}
