package load

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// visiting makes a visitor of a server that answers in some way.
func visiting(t *testing.T, answer http.HandlerFunc) *visitor {
	t.Helper()
	srv := httptest.NewServer(answer)
	t.Cleanup(srv.Close)
	v := visit(t.Context(), strings.TrimPrefix(srv.URL, "http://"))
	t.Cleanup(v.leave)
	return v
}

func TestVisitorRefusesWrongAnswers(t *testing.T) {
	v := visiting(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/short":
			_, _ = io.WriteString(w, "nine byte")
		case "/torn":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "less")
		default:
			http.Error(w, "no such page", http.StatusNotFound)
		}
	})
	if err := v.look("/short", 9); err != nil {
		t.Error(err)
	}
	for path, want := range map[string]error{"/short": ErrReply, "/torn": io.ErrUnexpectedEOF, "/none": ErrReply} {
		if err := v.look(path, 10); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	if _, err := v.leaf("/short", "/none"); err == nil {
		t.Error("a page that is not there was accepted")
	}
	if slowest, err := v.leaf("/short", "/short"); err != nil || slowest <= 0 {
		t.Errorf("two pages: %v, %v", slowest, err)
	}
}

// A search goes on to its end, and a bulk delete says what is meant as the API wants it.
func TestVisitorCallsTheAPI(t *testing.T) {
	v := visiting(t, func(w http.ResponseWriter, r *http.Request) {
		content, _ := io.ReadAll(r.Body)
		switch said := fmt.Sprintf("%s %s %s", r.Method, r.URL, content); said {
		case "GET /api/v1/jobs?q=a+text ":
			_, _ = io.WriteString(w, `{"jobs":[{"id":1}],"next":"77"}`)
		case "GET /api/v1/jobs?cursor=77&q=a+text ":
			_, _ = io.WriteString(w, `{"jobs":[{"id":2},{"id":3}],"next":""}`)
		case `POST /api/v1/jobs/bulk {"query":{"tube":"default","state":"ready"},"action":"delete"}`:
			if r.Header.Get("X-Requested-With") == "" {
				http.Error(w, "a page of somebody else's could have sent this", http.StatusForbidden)
				return
			}
			_, _ = io.WriteString(w, `{"matched":9,"done":8,"skipped":1}`)
		default:
			http.Error(w, said, http.StatusBadRequest)
		}
	})
	if found, err := v.search("a text"); found != 3 || err != nil {
		t.Errorf("search: %d found, %v", found, err)
	}
	if done, err := v.clear("default"); done != 8 || err != nil {
		t.Errorf("clear: %d done, %v", done, err)
	}
}

// Cycles begin as often as the rate says, and those for which no client was free are made up for, counted from when they were due.
func TestPace(t *testing.T) {
	p := &pace{}
	c := &client{}
	if p.due(c) {
		t.Fatal("a cycle began before it was due")
	}
	p.free = nil
	for i := range time.Duration(3) {
		if err := p.tick(1, 10+i); err != nil {
			t.Fatal(err)
		}
	}
	for i := range time.Duration(3) {
		if !p.due(c) || c.due != 10+i {
			t.Errorf("the cycle due at %d: %d", 10+i, c.due)
		}
	}
	if p.due(c) || len(p.free) != 1 {
		t.Error("a cycle began that nobody wanted")
	}
}

func TestStaffKeepsPace(t *testing.T) {
	const rate = 200
	trial := &trial{t.Context(), Plan{Connections: 3, Window: 2, Body: 10, Rate: rate, Duration: 50 * time.Millisecond}, inProcess(t)}
	trial.server.program.Path = "none" // as if it was started for the purpose
	began := time.Now()
	d, err := trial.staff()
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	result, err := trial.undisturbed(d)
	if err != nil {
		t.Fatal(err)
	}
	most := uint64(3 * (1 + rate*time.Since(began).Seconds()))
	if n := result.Operations; n == 0 || n > most || result.Telling().P50 <= 0 {
		t.Errorf("%d commands, want some and at most %d: %+v", n, most, result)
	}
}

// The commands beside a duty are counted by themselves, and a duty that fails is no result.
func TestBesideDuty(t *testing.T) {
	trial := &trial{t.Context(), Plan{Connections: 2, Window: 1, Body: 10, Duration: 10 * time.Millisecond}, inProcess(t)}
	trial.server.program.Path = "none"
	v := visiting(t, http.NotFound)
	d, err := trial.staff()
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	o, err := trial.beside(d, v, &duty{name: Spin, do: compute})
	if err != nil {
		t.Fatal(err)
	}
	if o.commands.Count() == 0 || o.requests.Count() == 0 {
		t.Errorf("nothing was counted: %d commands, %d requests", o.commands.Count(), o.requests.Count())
	}
	once := 0
	o, err = trial.beside(d, v, &duty{once: true, do: func() (time.Duration, error) { once++; return 7, nil }})
	if err != nil || once != 1 || o.page != 7 {
		t.Errorf("a duty to be done once was done %d times, slowest page %v, %v", once, o.page, err)
	}
	_, err = trial.beside(d, v, &duty{do: func() (time.Duration, error) { return 0, v.look("/", 0) }})
	if !errors.Is(err, ErrReply) {
		t.Errorf("a duty that failed: %v", err)
	}
}

func TestOperatorsNeedHTTP(t *testing.T) {
	w, err := Find("operators")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Prepare(t.Context(), &Server{}, w.Complete(Plan{})); err == nil {
		t.Error("a server without HTTP was accepted")
	}
}
