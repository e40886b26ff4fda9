package api

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
	"github.com/haricotq/haricot/internal/server"
)

// ids are the ids of the jobs in an answer.
func (a *answer) ids() (list []string) {
	for i := range a.length("jobs") {
		list = append(list, fmt.Sprint(a.at("jobs", i, "id")))
	}
	return list
}

func TestPutsInAllForms(t *testing.T) {
	inBubble(t, server.Config{MaxJobSize: 100}, func(t *testing.T, s *site) {
		a := s.post("/tubes/a/jobs", `{"body": "<script>ä\u0000\n"}`)
		s.wants(a, 201, "id", 1)
		if location := a.header.Get("Location"); location != "/api/v1/jobs/1" {
			t.Errorf("Location is %q", location)
		}
		s.wants(s.get("/jobs/1"), 200, "id", 1, "tube", "a", "state", "ready", "pri", 1024, "delay", 0, "ttr", 60, "size", 12,
			"body", "<script>ä\x00\n", "body_base64", nil, "body_truncated", false, "age", 0, "ready_age", 0, "holder", nil)
		s.wants(s.post("/tubes/a/jobs", `{"body_base64": "/wA=", "pri": 4294967295, "delay": 90, "ttr": 7}`), 201, "id", 2)
		pass(1234 * time.Millisecond)
		s.wants(s.get("/jobs/2"), 200, "state", "delayed", "pri", 4294967295, "delay", 90, "ttr", 7, "body", nil, "body_base64", "/wA=",
			"age", 1.234, "time_left", 88.766, "ready_age", nil)
		s.wants(s.ask(http.MethodPost, "/tubes/a/jobs?pri=3&delay=0&ttr=1", "application/octet-stream", "\xff{raw}"), 201, "id", 3)
		s.wants(s.get("/jobs/3"), 200, "pri", 3, "ttr", 1, "body_base64", base64.StdEncoding.EncodeToString([]byte("\xff{raw}")))
		s.wants(s.ask(http.MethodPost, "/tubes/a/jobs", "", ""), 201, "id", 4)
		s.wants(s.get("/jobs/4"), 200, "size", 0, "body", "")
		s.wants(s.ask(http.MethodPost, "/tubes/a/jobs", "application/x-www-form-urlencoded", "a=b"), 201, "id", 5)
		s.wants(s.get("/jobs/5"), 200, "body", "a=b")
		s.wants(s.ask(http.MethodPost, "/tubes/a/jobs?pri=1", "application/json; charset=utf-8", `{"body":"x"}`), 201, "id", 6)
		s.wants(s.ask(http.MethodPost, "/tubes/a/jobs", "text/plain", strings.Repeat("x", 100)), 201)
		s.wants(s.ask(http.MethodPost, "/tubes/a/jobs", "text/plain", strings.Repeat("x", 101)), 413)
		s.wants(s.post("/tubes/a/jobs", `{"body": "`+strings.Repeat("x", 101)+`"}`), 413)
		s.wants(s.post("/tubes/a/jobs", `{"body": "`+strings.Repeat("x", 100_000)+`"}`), 413)
		if r := s.say(s.dial(), "stats-job 7"); r.Word != "OK" {
			t.Errorf("the longest body is not there: %s", r)
		}
	})
}

func TestPutsAreRefused(t *testing.T) {
	inBubble(t, server.Config{TubeMaxJobs: 1}, func(t *testing.T, s *site) {
		for content, parameter := range map[string]string{
			`{}`:                                 "body",
			`{"body": 5}`:                        "body",
			`{"body": null}`:                     "body",
			`{"body": ["a", "b"]}`:               "body",
			`{"body": {"a": 1}}`:                 "body",
			`{"body": "a", "body_base64": "YQ"}`: "body_base64",
			`{"body_base64": "YQ"}`:              "body_base64",
			`{"body": "a", "pri": -1}`:           "pri",
			`{"body": "a", "pri": 4294967296}`:   "pri",
			`{"body": "a", "pri": "5"}`:          "pri",
			`{"body": "a", "pri": 1.5}`:          "pri",
			`{"body": "a", "delay": 0.5}`:        "delay",
			`{"body": "a", "ttr": 0}`:            "ttr",
			`{"body": "a", "tube": "b"}`:         "tube",
			`{"body": "a", "priority": 5}`:       "priority",
			`{"body": "a", "more": {"b": 1}}`:    "more",
		} {
			a := s.post("/tubes/a/jobs", content)
			s.wants(a, 400, "errors.0.parameter", parameter)
		}
		for content, where := range map[string]string{
			`{"body": "a",}`:       "line 1, column 14",
			"{\n \"ä\": x}":        "line 2, column 7",
			`{"body": "a"`:         "line 1, column 13",
			`["a"]`:                "line 1, column 1",
			`{"body": "a"} {}`:     "behind the object",
			"{\"body\": \"\xff\"}": "not UTF-8",
		} {
			a := s.post("/tubes/a/jobs", content)
			s.wants(a, 400)
			if detail := a.at("detail").(string); !strings.Contains(detail, where) {
				t.Errorf("%s: %s, want it to say %s", content, detail, where)
			}
		}
		s.wants(s.post("/tubes/a/jobs", `{"body": "a"}`), 201)
		s.wants(s.post("/tubes/a/jobs", `{"body": "a"}`), 507, "detail", "There is no room for the job.")
		s.wants(s.get("/stats"), 200, "total_jobs", 1)
	})
}

func TestJobsOfATubeArePaged(t *testing.T) {
	inBubble(t, server.Config{}, func(t *testing.T, s *site) {
		c := s.dial()
		s.say(c, "use a")
		s.say(c, "watch a")
		for i := range 7 {
			c.Put(0, uint64(10-i)*uint64(i&1), 60, []byte("x")) // 1, 3, 5, 7 ready, 2, 4, 6 delayed
			s.receive(c)
		}
		for state, want := range map[string]string{"": "1 3 5 7", "ready": "1 3 5 7", "delayed": "6 4 2", "buried": "", "reserved": ""} {
			for _, limit := range []int{1, 2, 3, 4, 100} {
				var got []string
				cursor, pages := "", 0
				for more := true; more; more = cursor != "" {
					a := s.get(fmt.Sprintf("/tubes/a/jobs?limit=%d&cursor=%s%s", limit, cursor, strings.Repeat("&state="+state, min(1, len(state)))))
					got = append(got, a.ids()...)
					cursor = a.at("next").(string)
					pages++
				}
				if strings.Join(got, " ") != want || pages > len(got)/limit+1 {
					t.Errorf("%s by %d: %v in %d pages, want %s", state, limit, got, pages, want)
				}
			}
		}
		for _, query := range []string{"limit=0", "limit=1001", "limit=x", "limit=1&limit=2", "cursor=x", "cursor=1-2x", "state=urgent", "state=", "body_limit=-1"} {
			name, _, _ := strings.Cut(query, "=")
			s.wants(s.get("/tubes/a/jobs?"+query), 400, "errors.0.parameter", name)
		}
		s.wants(s.get("/tubes/a/jobs?limit=0&state=urgent&colour=red"), 400, "errors.0.parameter", "state", "errors.1.parameter", "limit", "errors.2.parameter",
			"colour", "errors.2.allowed", "not known here; this call takes state, cursor, limit, body_limit",
			"detail", "The request has a fault in state, limit, colour.")
	})
}

func TestBodiesAreCutAtALimit(t *testing.T) {
	inBubble(t, server.Config{MaxJobSize: 1 << 20}, func(t *testing.T, s *site) {
		s.put("a", strings.Repeat("ä", 50_000), "aé", "\xff\xfe\xfd")
		a := s.get("/tubes/a/jobs")
		s.wants(a, 200, "jobs.0.size", 100_000, "jobs.0.body_truncated", true, "jobs.1.body_truncated", false)
		if n := len(a.at("jobs", 0, "body").(string)); n != 65536 {
			t.Errorf("a list shows %d bytes of a long body, want 65536", n)
		}
		s.wants(s.get("/tubes/a/jobs?body_limit=2"), 200, "jobs.0.body", "ä", "jobs.1.body", "a", "jobs.1.body_truncated", true,
			"jobs.2.body_base64", "//4=", "jobs.2.body_truncated", true)
		s.wants(s.get("/tubes/a/jobs?body_limit=0"), 200, "jobs.0.body", "", "jobs.2.body", "")
		if n := len(s.get("/jobs/1").at("body").(string)); n != 100_000 {
			t.Errorf("the job itself shows %d bytes, want all", n)
		}
		s.wants(s.get("/jobs/1?body_limit=3"), 200, "body", "ä", "body_truncated", true)
	})
}

func TestJobThatIsNotThere(t *testing.T) {
	inBubble(t, server.Config{}, func(t *testing.T, s *site) {
		s.wants(s.get("/jobs/1"), 404, "detail", "There is no such job.")
		for _, action := range []string{"kick", "bury", "release"} {
			s.wants(s.post("/jobs/1/"+action, ""), 404)
		}
		s.wants(s.post("/jobs/1/move?tube=b", ""), 404)
		s.wants(s.post("/jobs/1/replace", `{"body": ""}`), 404)
		s.wants(s.ask(http.MethodDelete, "/jobs/1", "", ""), 404)
		s.wants(s.ask(http.MethodPatch, "/jobs/1?pri=5", "", ""), 404)
		for _, id := range []string{"0", "-1", "x", "18446744073709551616"} {
			s.wants(s.get("/jobs/"+id), 400, "errors.0.parameter", "id", "errors.0.value", id)
		}
	})
}

// TestActionsOnAJob does everything to one job.
func TestActionsOnAJob(t *testing.T) {
	inBubble(t, server.Config{}, func(t *testing.T, s *site) {
		s.put("a", "x")
		is := func(parts ...any) { t.Helper(); s.wants(s.get("/jobs/1"), 200, parts...) }
		s.wants(s.post("/jobs/1/bury", ""), 204)
		is("state", "buried", "buries", 1)
		s.wants(s.post("/jobs/1/kick", ""), 204)
		is("state", "ready", "kicks", 1)
		s.wants(s.post("/jobs/1/kick", ""), 409, "detail", "The job is neither buried nor delayed.")
		s.wants(s.post("/jobs/1/release", ""), 409, "detail", "The job is not reserved.")
		s.wants(s.post("/jobs/1/move", `{"tube": "b/c"}`), 204)
		is("tube", "b/c", "state", "ready", "id", 1)
		s.wants(s.post("/jobs/1/move", ""), 400, "errors.0.parameter", "tube")
		s.wants(s.post("/jobs/1/move?tube=-", ""), 400, "errors.0.value", "-")
		s.wants(s.ask(http.MethodPatch, "/jobs/1", "application/json", `{"pri": 7, "ttr": 9}`), 204)
		is("pri", 7, "ttr", 9, "state", "ready")
		s.wants(s.ask(http.MethodPatch, "/jobs/1?delay=50", "", ""), 204)
		is("pri", 7, "state", "delayed", "time_left", 50)
		s.wants(s.ask(http.MethodPatch, "/jobs/1?delay=0", "", ""), 204)
		is("state", "ready")
		s.wants(s.ask(http.MethodPatch, "/jobs/1", "", ""), 400, "errors.0.parameter", "pri")
		a := s.post("/jobs/1/replace", `{"body": "y"}`)
		s.wants(a, 201, "id", 2)
		if a.header.Get("Location") != "/api/v1/jobs/2" {
			t.Errorf("Location is %q", a.header.Get("Location"))
		}
		s.wants(s.get("/jobs/1"), 404)
		s.wants(s.get("/jobs/2"), 200, "body", "y", "tube", "b/c", "pri", 7, "ttr", 9)
		s.wants(s.ask(http.MethodPost, "/jobs/2/replace?tube=c&pri=1&delay=3&ttr=2", "text/plain", "z"), 201, "id", 3)
		s.wants(s.get("/jobs/3"), 200, "body", "z", "tube", "c", "pri", 1, "ttr", 2, "state", "delayed")
		s.wants(s.ask(http.MethodDelete, "/jobs/3", "", ""), 204)
		s.wants(s.ask(http.MethodDelete, "/jobs/3", "", ""), 404)
		for _, line := range []string{"bury", "kick", "move", "alter", "replace", "delete"} {
			if !strings.Contains(s.log.String(), "operator: "+line) {
				t.Errorf("the log has no line for %s: %s", line, s.log.String())
			}
		}
	})
}

// TestHeldJobsNeedForce takes jobs from the client that holds them.
func TestHeldJobsNeedForce(t *testing.T) {
	inBubble(t, server.Config{}, func(t *testing.T, s *site) {
		c := s.dial()
		s.say(c, "watch a")
		reserve := func() string {
			t.Helper()
			s.put("a", "x")
			id := s.say(c, "reserve").ID()
			pass(2500 * time.Millisecond)
			return fmt.Sprintf("/jobs/%d", id)
		}
		for _, call := range []struct {
			method, path, content string
		}{
			{http.MethodDelete, "?", ""},
			{http.MethodPost, "/bury?", ""},
			{http.MethodPost, "/move?tube=b&", ""},
			{http.MethodPost, "/replace?", `{"body": "y"}`},
		} {
			job := reserve()
			kind := strings.Repeat("application/json", min(1, len(call.content)))
			a := s.ask(call.method, job+call.path+"force=false", kind, call.content)
			s.wants(a, 409, "holder.connection", 1, "holder.address", "memory", "holder.held_for", 2.5)
			if detail := a.at("detail").(string); !strings.Contains(detail, "held by connection 1, for 2 s so far. With force=true") {
				t.Errorf("%s: %s", call.path, detail)
			}
			s.wants(s.get(job), 200, "state", "reserved", "holder.connection", 1, "holder.held_for", 2.5, "time_left", 57.5)
			if a := s.ask(call.method, job+call.path+"force=true", kind, call.content); a.status/100 != 2 {
				t.Errorf("%s with force: %s", call.path, a.text)
			}
			if r := s.say(c, "touch %s", strings.TrimPrefix(job, "/jobs/")); r.Word != "NOT_FOUND" {
				t.Errorf("%s with force leaves the job with its client: %s", call.path, r)
			}
			s.post("/tubes/a/clear?state=buried&state=ready", "")
		}
		job := reserve()
		s.wants(s.ask(http.MethodDelete, job+"?force=1", "", ""), 400, "errors.0.allowed", "true or false")
		a := s.ask(http.MethodPatch, job+"?pri=1", "", "")
		s.wants(a, 409, "holder.connection", 1)
		if detail := a.at("detail").(string); !strings.HasSuffix(detail, "Release it first.") {
			t.Error(detail)
		}
		s.wants(s.post(job+"/release", `{"delay": 20}`), 204)
		s.wants(s.get(job), 200, "state", "delayed", "time_left", 20, "releases", 1, "holder", nil)
	})
}

// badStore has two jobs, of which the first cannot be read, and no room.
type badStore struct{}

func (badStore) Recover(into *queue.Restoration) (int, error) {
	for id := range protocol.JobID(2) {
		if err := into.Job(&queue.Record{ID: id + 1, Tube: "a", State: queue.Buried, Size: 4, TTR: time.Minute}); err != nil {
			return 0, err
		}
	}
	into.End(3)
	return 2, nil
}
func (badStore) Commit(*queue.Changes) error { return nil }
func (badStore) Load(id protocol.JobID, _ uint32, done func([]byte, error)) {
	if id == 1 {
		go done(nil, errors.New("the record is damaged"))
	} else {
		go done([]byte("good"), nil)
	}
}
func (badStore) Full() bool                          { return true }
func (badStore) LogStats() (stats protocol.LogStats) { return protocol.LogStats{File: 1} }

func TestJobsOfAStore(t *testing.T) {
	inBubble(t, server.Config{Store: badStore{}}, func(t *testing.T, s *site) {
		s.wants(s.get("/tubes/a/jobs?state=buried"), 200, "jobs.0.body_error", "the record is damaged", "jobs.0.body", nil,
			"jobs.0.body_truncated", false, "jobs.1.body", "good", "jobs.1.body_error", nil)
		s.wants(s.get("/jobs/2?body_limit=2"), 200, "body", "go", "body_truncated", true)
		s.wants(s.get("/jobs?q=oo"), 200, "jobs.0.id", 2, "jobs.1", nil)
		s.wants(s.get("/stats"), 200, "disk_full", true, "store.durable", true)
		s.wants(s.post("/tubes/a/jobs", `{"body": "x"}`), 507)
		s.wants(s.ask(http.MethodDelete, "/jobs/1", "", ""), 204)
	})
}
