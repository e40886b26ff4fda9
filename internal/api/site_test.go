package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"go.uber.org/goleak"

	"github.com/haricotq/haricot/internal/memnet"
	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/server"
	"github.com/haricotq/haricot/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a running server and its API, in a bubble.
type site struct {
	t       *testing.T
	ln      *memnet.Listener
	handler http.Handler
	history *operator.History
	log     bytes.Buffer
	drain   func(on bool)
	// stop ends the server and waits for it.
	stop func()
}

// inBubble runs a test beside a server, in fake time.
func inBubble(t *testing.T, config server.Config, test func(t *testing.T, s *site)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, config)
		defer s.stop()
		test(t, s)
	})
}

func open(t *testing.T, config server.Config) *site {
	t.Helper()
	config.Portable, config.Observed = true, true
	if config.MaxJobSize == 0 {
		config.MaxJobSize = 65535
	}
	s := &site{t: t, ln: memnet.Listen()}
	srv, err := server.New(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Serve(s.ln); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- srv.Run(ctx) }()
	o := operator.New(srv, slog.New(slog.NewTextHandler(&s.log, nil)))
	s.history = operator.NewHistory(o)
	var samples sync.WaitGroup
	samples.Go(func() { s.history.Run(ctx) })
	s.drain = srv.Drain
	s.handler = New(o, s.history, Config{Version: "9.9"})
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		samples.Wait()
	})
	return s
}

// dial connects a client of the queue, until the end of the test.
func (s *site) dial() *wire.Conn {
	s.t.Helper()
	conn, err := s.ln.Dial()
	if err != nil {
		s.t.Fatal(err)
	}
	c := wire.New(conn)
	s.t.Cleanup(func() { c.Close() })
	return c
}

// say sends a command and returns the reply.
func (s *site) say(c *wire.Conn, format string, args ...any) wire.Reply {
	s.t.Helper()
	c.Send(format, args...)
	return s.receive(c)
}

func (s *site) receive(c *wire.Conn) wire.Reply {
	s.t.Helper()
	r, err := c.Receive()
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// put puts jobs with bodies into a tube.
func (s *site) put(tube string, bodies ...string) {
	s.t.Helper()
	c := s.dial()
	defer c.Close()
	s.say(c, "use %s", tube)
	for _, body := range bodies {
		c.Put(1024, 0, 60, []byte(body))
		if r := s.receive(c); r.Word != "INSERTED" {
			s.t.Fatalf("put: %s", r)
		}
	}
}

// pass lets time go by in a bubble.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // in a bubble this is free
}

// answer is what came of a request.
type answer struct {
	status int
	header http.Header
	text   []byte
	json   any
}

// get and post make requests, whose answers have to be as the description says.
func (s *site) get(target string) *answer {
	s.t.Helper()
	return s.ask(http.MethodGet, target, "", "")
}

func (s *site) post(target, content string) *answer {
	s.t.Helper()
	kind := ""
	if content != "" {
		kind = "application/json"
	}
	return s.ask(http.MethodPost, target, kind, content)
}

func (s *site) ask(method, target, kind, content string) *answer {
	s.t.Helper()
	r := httptest.NewRequestWithContext(operator.WithWho(context.Background(), "tester"), method, prefix+target, strings.NewReader(content))
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	recorder := httptest.NewRecorder()
	s.handler.ServeHTTP(recorder, r)
	a := &answer{status: recorder.Code, header: recorder.Header(), text: recorder.Body.Bytes()}
	if strings.HasSuffix(a.header.Get("Content-Type"), "json") {
		a.decode(s.t)
	}
	if err := s.described(r, content, a); err != nil {
		s.t.Errorf("%s %s: the description does not fit: %v", method, target, err)
	}
	return a
}

// decode reads the text, and leaves numbers as they are written.
func (a *answer) decode(t *testing.T) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(a.text))
	decoder.UseNumber()
	if err := decoder.Decode(&a.json); err != nil {
		t.Fatalf("%v in %s", err, a.text)
	}
}

// described tells in what a request or its answer is not as the description
// says. A request that was refused may be anything.
func (s *site) described(r *http.Request, content string, a *answer) error {
	doc := strict()
	method, path, ok := strings.Cut(r.Pattern, " "+prefix)
	if !ok { // no path of ours: all that is certain is what a problem is
		return fits("Problem", a.text)
	}
	item := doc.Paths.Value(path)
	if item == nil || item.GetOperation(method) == nil {
		return fmt.Errorf("there is no %s", r.Pattern)
	}
	input := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: map[string]string{"tube": r.PathValue("tube"), "id": r.PathValue("id")},
		Route:   &routers.Route{Spec: doc, Path: path, PathItem: item, Method: method, Operation: item.GetOperation(method)},
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	}
	if a.status < 300 {
		r.Body = io.NopCloser(strings.NewReader(content))
		if r.Header.Get("Content-Type") != "" && r.Header.Get("Content-Type") != "application/json" {
			input.Options.ExcludeRequestBody = true // a body as it stands
		}
		if err := openapi3filter.ValidateRequest(r.Context(), input); err != nil {
			return err
		}
	}
	return openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: a.status, Header: a.header, Body: io.NopCloser(bytes.NewReader(a.text)), Options: input.Options,
	})
}

// fits tells in what JSON is not as a schema of the description says.
func fits(schema string, text []byte) error {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	return strict().Components.Schemas[schema].Value.VisitJSON(value, openapi3.EnableJSONSchema2020())
}

// description reads openapi.yaml.
func description(t testing.TB) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(documentYAML)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// strict is the description with objects that have no other members than it
// names: clients have to take others, but here they were forgotten.
var strict = sync.OnceValue(func() *openapi3.T {
	doc, err := openapi3.NewLoader().LoadFromData(documentYAML)
	if err != nil {
		panic(err)
	}
	for _, schema := range doc.Components.Schemas {
		if len(schema.Value.Properties) > 0 {
			schema.Value.AdditionalProperties.Has = new(bool)
		}
	}
	return doc
})

// at follows members and positions into an answer.
func (a *answer) at(path ...any) any {
	value := a.json
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := value.(map[string]any)
			value = object[step]
		case int:
			list, _ := value.([]any)
			if step >= len(list) {
				return nil
			}
			value = list[step]
		}
	}
	return value
}

// wants compares parts of an answer with what they should be, as they print.
func (s *site) wants(a *answer, status int, parts ...any) {
	s.t.Helper()
	if a.status != status {
		s.t.Errorf("status %d, want %d: %s", a.status, status, a.text)
	}
	for i := 0; i+1 < len(parts); i += 2 {
		var path []any
		for step := range strings.SplitSeq(parts[i].(string), ".") {
			var n int
			if _, err := fmt.Sscanf(step, "%d", &n); err == nil {
				path = append(path, n)
			} else {
				path = append(path, step)
			}
		}
		if got, want := fmt.Sprint(a.at(path...)), fmt.Sprint(parts[i+1]); got != want {
			s.t.Errorf("%s is %s, want %s in %s", parts[i], got, want, a.text)
		}
	}
}

// length is how many elements a part of an answer has.
func (a *answer) length(path ...any) int {
	list, _ := a.at(path...).([]any)
	return len(list)
}

func escape(tube string) string { return url.PathEscape(tube) }
