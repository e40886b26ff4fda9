package metrics

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/haricotq/haricot/internal/memnet"
	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/protocol"
	haricot "github.com/haricotq/haricot/internal/server"
	"github.com/haricotq/haricot/internal/store"
	"github.com/haricotq/haricot/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen. It runs out in
// failing tests only.
const patience = 30 * time.Second

// site is a running server and the handler of its metrics.
type site struct {
	t       testing.TB
	ln      net.Listener
	handler http.Handler
	cancel  context.CancelFunc
	ended   chan struct{}
}

// open starts a server, which ends with the test.
func open(t testing.TB, server haricot.Config, config Config) *site {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return openOn(t, ln, server, config)
}

// openInBubble starts one whose network is in memory, for fake time.
func openInBubble(t *testing.T, config Config) *site {
	t.Helper()
	return openOn(t, memnet.Listen(), haricot.Config{Portable: true}, config)
}

// openDurable starts one with a store and all limits that there are.
func openDurable(t *testing.T) *site {
	t.Helper()
	s, err := store.Open(store.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	limits := haricot.Config{Store: s, MemoryLimit: 1 << 30, TubeMaxJobs: 1e6, TubeMaxBytes: 1 << 30}
	return open(t, limits, Config{MaxTubes: 100, Store: durabilityOf(s)})
}

func openOn(t testing.TB, ln net.Listener, server haricot.Config, config Config) *site {
	t.Helper()
	server.Observed = true
	if server.MaxJobSize == 0 {
		server.MaxJobSize = protocol.DefaultMaxJobSize
	}
	srv, err := haricot.New(server)
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Serve(ln); err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, ln: ln, ended: make(chan struct{}), handler: New(operator.New(srv, slog.New(slog.DiscardHandler)), config)}
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	go func() {
		defer close(s.ended)
		if err := srv.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	t.Cleanup(s.stop)
	return s
}

// stop stops the server and waits for its end.
func (s *site) stop() {
	s.cancel()
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.t.Error("Run does not return")
	}
}

// client connects a client, which the test's end disconnects.
func (s *site) client() *client {
	s.t.Helper()
	var conn net.Conn
	var err error
	if ln, ok := s.ln.(*memnet.Listener); ok {
		conn, err = ln.Dial()
	} else {
		conn, err = net.Dial("tcp", s.ln.Addr().String())
	}
	if err != nil {
		s.t.Fatal(err)
	}
	c := &client{s.t, wire.New(conn)}
	s.t.Cleanup(func() { c.Close() })
	return c
}

// client is a client of the server, whose methods fail the test if the reply is
// not the one that is wanted.
type client struct {
	t testing.TB
	*wire.Conn
}

// ask sends a command and compares the first word of the reply.
func (c *client) ask(want, command string, args ...any) wire.Reply {
	c.t.Helper()
	r, err := c.Ask(command, args...)
	return c.compare(want, command, r, err)
}

// put puts a job into the tube that is used.
func (c *client) put(want string, delay uint64, body string) protocol.JobID {
	c.t.Helper()
	c.Put(1, delay, 60, []byte(body))
	r, err := c.Receive()
	return c.compare(want, "put", r, err).ID()
}

func (c *client) compare(want, command string, r wire.Reply, err error) wire.Reply {
	c.t.Helper()
	if err != nil || r.Word != want {
		c.t.Fatalf("%s: got %s, %v, want %s", command, r.String(), err, want)
	}
	return r
}

// get asks the handler for the metrics.
func (s *site) get(headers ...string) *http.Response {
	s.t.Helper()
	request := httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	recorder := httptest.NewRecorder()
	s.handler.ServeHTTP(recorder, request)
	return recorder.Result()
}

// text is what a scrape returns.
func (s *site) text() string {
	s.t.Helper()
	response := s.get()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		s.t.Fatalf("status %s, %v\n%s", response.Status, err, text)
	}
	return string(text)
}

// scrape are the values of a scrape by name and labels, as they are written.
func (s *site) scrape() samples {
	s.t.Helper()
	return parse(s.t, s.text())
}

// samples are values by name and labels, as they are written.
type samples map[string]float64

func parse(t testing.TB, text string) samples {
	t.Helper()
	all := samples{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(strings.TrimSpace(line[at+1:]), 64)
		if err != nil {
			t.Fatalf("%q is no sample: %v", line, err)
		}
		if _, ok := all[line[:at]]; ok {
			t.Errorf("%s is there twice", line[:at])
		}
		all[line[:at]] = value
	}
	return all
}

// expect compares some of the samples.
func (s samples) expect(t *testing.T, want samples) {
	t.Helper()
	for series, value := range want {
		if got, ok := s[series]; !ok || got != value {
			t.Errorf("%s is %g (there: %v), want %g", series, got, ok, value)
		}
	}
}

// of are the samples of a metric.
func (s samples) of(name string) samples {
	some := samples{}
	for series, value := range s {
		if series == name || strings.HasPrefix(series, name+"{") {
			some[series] = value
		}
	}
	return some
}

// requireReference is the variable that makes a tool that is missing a failure.
const requireReference = "HARICOT_REQUIRE_REFERENCE"

func missing(t *testing.T, what string, err error) {
	t.Helper()
	if os.Getenv(requireReference) != "" {
		t.Fatalf("%s: %v", what, err)
	}
	t.Skipf("%s: %v", what, err)
}
