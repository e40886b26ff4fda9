package api

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/haricotq/haricot/internal/memnet"
	"github.com/haricotq/haricot/internal/server"
)

func TestUnknownPathsAndMethods(t *testing.T) {
	inBubble(t, server.Config{}, func(t *testing.T, s *site) {
		for _, path := range []string{"", "/", "/nothing", "/tubes/", "/tubes/a/b/c", "/jobs/1/explode", "/jobs/"} {
			s.wants(s.get(path), 404, "status", 404, "title", "Not Found")
		}
		for _, c := range []struct{ method, path, allow string }{
			{http.MethodDelete, "/tubes", "GET, HEAD"},
			{http.MethodPost, "/tubes/a", "GET, HEAD"},
			{http.MethodGet, "/jobs/1/kick", "POST"},
			{http.MethodPut, "/jobs/1", "DELETE, GET, HEAD, PATCH"},
			{http.MethodOptions, "/jobs/bulk", "DELETE, GET, HEAD, PATCH, POST"},
		} {
			a := s.ask(c.method, c.path, "", "")
			s.wants(a, 405, "status", 405, "title", "Method Not Allowed")
			if a.header.Get("Allow") != c.allow || a.header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s %s: Allow is %q, want %q", c.method, c.path, a.header.Get("Allow"), c.allow)
			}
		}
		a := s.get("/tubes?colour=red")
		s.wants(a, 400, "errors.0.parameter", "colour")
		if a.header.Get("Cache-Control") != "no-store" || a.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("headers are %v", a.header)
		}
		if a := s.ask(http.MethodHead, "/tubes", "", ""); a.status != 200 {
			t.Errorf("HEAD gives %d", a.status)
		}
		s.wants(s.ask(http.MethodPost, "/jobs/1/kick", "text/plain", "x"), 415)
		s.wants(s.post("/jobs/1/kick", `{"x": "`+strings.Repeat("x", 1<<20)+`"}`), 413)
	})
}

func TestConnections(t *testing.T) {
	inBubble(t, server.Config{}, func(t *testing.T, s *site) {
		worker, waiter := s.dial(), s.dial()
		s.put("mail", "a", "b")
		s.say(worker, "watch mail")
		s.say(worker, "use out")
		s.say(worker, "reserve")
		pass(3 * time.Second)
		s.say(worker, "reserve")
		s.say(waiter, "watch other")
		waiter.Send("reserve-with-timeout 100")
		waiter.Put(0, 0, 1, nil)
		s.say(worker, "list-tube-used") // what the other has sent is sent with this
		pass(2 * time.Second)
		a := s.get("/connections")
		s.wants(a, 200, "connections.0.id", 1, "connections.0.address", "memory", "connections.0.worker", true, "connections.0.producer", false,
			"connections.0.uses", "out", "connections.0.watches", "[default mail]", "connections.0.watch_count", 2,
			"connections.0.hold_count", 2, "connections.0.holds.0.job", 1, "connections.0.holds.0.tube", "mail",
			"connections.0.holds.0.held_for", 5, "connections.0.holds.0.time_left", 55, "connections.0.holds.1.held_for", 2,
			"connections.0.longest_held", 5, "connections.0.age", 5, "connections.1.watches", "[default other]", "next", "")
		first := s.get("/connections?limit=1")
		s.wants(first, 200, "connections.0.id", 1, "connections.1", nil)
		s.wants(s.get(fmt.Sprintf("/connections?limit=5&cursor=%v", first.at("next"))), 200, "connections.0.id", 2, "next", "")
		s.wants(s.get("/connections?cursor=x"), 400)
		s.wants(s.get("/connections/1"), 200, "id", 1, "hold_count", 2)
		s.wants(s.get("/connections/99"), 404, "detail", "There is no connection 99.")
		s.wants(s.get("/connections/x"), 400)
		s.wants(s.get("/connections/4294967296"), 400)
	})
}

func TestStats(t *testing.T) {
	inBubble(t, server.Config{MemoryLimit: 1 << 30}, func(t *testing.T, s *site) {
		s.put("mail", "a", "b")
		c := s.dial()
		s.say(c, "watch mail")
		s.say(c, "delete %d", s.say(c, "reserve").ID())
		pass(90 * time.Second)
		s.wants(s.get("/stats"), 200, "version", "9.9", "protocol_version", "2.0", "jobs.ready", 1, "jobs.reserved", 0, "total_jobs", 2,
			"oldest_ready_age", 90, "uptime", 90, "max_job_size", 65535, "tubes", 2, "connections", 1, "workers", 1, "producers", 0,
			"total_connections", 2, "counts.puts", 2, "counts.deletes", 1, "commands.put", 2, "commands.reserve", 1, "commands.kick-job", 0,
			"memory_limit", 1<<30, "store.durable", false, "run.count", 1, "wait.count", 1, "draining", false, "disk_full", false)
	})
}

// TestStoppedServer asks on after the server has ended.
func TestStoppedServer(t *testing.T) {
	inBubble(t, server.Config{}, func(t *testing.T, s *site) {
		s.put("a", "x")
		s.stop()
		for _, target := range []string{"/tubes", "/tubes/a", "/tubes/a/jobs", "/jobs", "/jobs/1", "/connections", "/connections/1", "/stats", "/events"} {
			a := s.get(target)
			s.wants(a, 503, "detail", "The server has stopped.")
			if a.header.Get("Retry-After") == "" {
				t.Errorf("%s: there is no Retry-After", target)
			}
		}
		s.wants(s.post("/tubes/a/jobs", `{"body": "x"}`), 503)
		s.wants(s.post("/jobs/bulk", `{"query": {"tube": "a"}, "action": "delete"}`), 503)
		s.wants(s.post("/jobs/1/kick", ""), 503)
	})
}

func TestDrainingServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, server.Config{})
		defer s.stop()
		s.put("a", "x")
		s.drain(true)
		a := s.post("/tubes/a/jobs", `{"body": "x"}`)
		s.wants(a, 503, "detail", "The server is draining and takes no jobs.")
		if a.header.Get("Retry-After") == "" {
			t.Error("there is no Retry-After")
		}
		s.wants(s.get("/stats"), 200, "draining", true)
		s.wants(s.ask(http.MethodDelete, "/jobs/1", "", ""), 204)
	})
}

// listen serves the API on a network in memory, and returns what asks it. stop
// ends requests that are under way.
func (s *site) listen() (client *http.Client, stop func()) {
	ln := memnet.Listen()
	ctx, cancel := context.WithCancel(context.Background())
	srv := &http.Server{Handler: s.handler, BaseContext: func(net.Listener) context.Context { return ctx }}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = srv.Serve(ln)
	}()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return ln.Dial() }}
	return &http.Client{Transport: transport}, func() {
		cancel()
		if err := srv.Shutdown(context.Background()); err != nil {
			s.t.Error(err)
		}
		transport.CloseIdleConnections()
		<-ended
	}
}

// event is an event of a stream; a comment has no data.
type event struct {
	name, data string
}

// events reads a stream.
func events(body *bufio.Scanner) (e event, ok bool) {
	for body.Scan() {
		line := body.Text()
		switch name, value, _ := strings.Cut(line, ": "); name {
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "":
			if strings.HasPrefix(line, ":") {
				e.name = "comment"
			} else if e.name != "" {
				return e, true
			}
		}
	}
	return e, false
}

func TestEvents(t *testing.T) {
	inBubble(t, server.Config{}, func(t *testing.T, s *site) {
		client, stop := s.listen()
		r, err := client.Get("http://haricot" + prefix + "/events?tube=mail")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		if kind := r.Header.Get("Content-Type"); kind != "text/event-stream" {
			t.Fatalf("the stream is %s", kind)
		}
		lines := bufio.NewScanner(r.Body)
		next := func() (a *answer) {
			t.Helper()
			e, ok := events(lines)
			if !ok || e.name != "sample" {
				t.Fatalf("the stream has %v, %v", e, lines.Err())
			}
			a = &answer{status: 200, text: []byte(e.data)}
			a.decode(t)
			if err := fits("Sample", a.text); err != nil {
				t.Errorf("%v in %s", err, e.data)
			}
			return a
		}
		first := next()
		s.wants(first, 200, "jobs.ready", 0, "rates.puts", 0, "tube", nil)
		s.put("mail", "a", "b", "c")
		second := next()
		s.wants(second, 200, "jobs.ready", 3, "rates.puts", 3, "rates.deletes", 0, "tube.name", "mail", "tube.ready", 3)
		s.put("mail", "d")
		s.put("other", "e")
		s.wants(next(), 200, "jobs.ready", 5, "rates.puts", 2, "tube.ready", 4, "tube.rates.puts", 1, "oldest_ready_age", 2)
		before, _ := time.Parse(time.RFC3339Nano, first.at("at").(string))
		after, _ := time.Parse(time.RFC3339Nano, second.at("at").(string))
		if d := after.Sub(before); d != time.Second {
			t.Errorf("samples are %v apart, want a second", d)
		}
		stop() // as a server that stops
		if e, ok := events(lines); ok {
			t.Errorf("a stream goes on with %v when the server stops", e)
		}
		if err := lines.Err(); err != nil {
			t.Errorf("a stream ends with %v", err)
		}
	})
}

// TestEventsOfAClientThatGoes leaves a stream; goroutines that stay would hold
// up the bubble.
func TestEventsOfAClientThatGoes(t *testing.T) {
	inBubble(t, server.Config{}, func(t *testing.T, s *site) {
		client, stop := s.listen()
		defer stop()
		r, err := client.Get("http://haricot" + prefix + "/events")
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(r.Body)
		if _, ok := events(lines); !ok {
			t.Fatal("there is no event")
		}
		r.Body.Close()
		s.wants(s.get("/events?tube=-"), 400, "errors.0.parameter", "tube")
	})
}

// TestEventsWithoutSamples has a stream whose samples end, as when the queue has
// stopped and HTTP goes on: it says that it is there, and ends.
func TestEventsWithoutSamples(t *testing.T) {
	inBubble(t, server.Config{}, func(t *testing.T, s *site) {
		client, stop := s.listen()
		defer stop()
		r, err := client.Get("http://haricot" + prefix + "/events")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		lines := bufio.NewScanner(r.Body)
		for range 2 {
			if e, ok := events(lines); !ok || e.name != "sample" {
				t.Fatalf("the stream has %v", e)
			}
		}
		s.stop()
		for { // a sample may be on its way
			if _, ok := events(lines); !ok {
				return
			}
		}
	})
}
