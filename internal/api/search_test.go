package api

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/server"
)

func TestSearch(t *testing.T) {
	inBubble(t, server.Config{}, func(t *testing.T, s *site) {
		s.put("a", `{"user": {"id": 7}, "ok": true}`, `{"user": {"id": "7"}}`, "plain seven")
		pass(time.Minute)
		s.put("b", `{"user": {"id": 8}}`, "<seven>")
		c := s.dial()
		s.say(c, "watch b")
		s.say(c, "release %d 1024 0", s.say(c, "reserve").ID()) // 4 has one try
		s.say(c, "bury %d 0", s.say(c, "reserve-job 5").ID())
		for query, want := range map[string]string{
			"":                                      "1 2 3 4 5",
			"id=4":                                  "4",
			"id=4&tube=a":                           "",
			"id=99":                                 "",
			"tube=a":                                "1 2 3",
			"q=seven":                               "3 5",
			"q=" + url.QueryEscape("<seven>"):       "5",
			"field=user.id":                         "1 2 4",
			"field=user.id&value=7":                 "1 2",
			"field=ok&value=true":                   "1",
			"field=none":                            "",
			"state=buried":                          "5",
			"state=buried&state=ready":              "1 2 3 4 5",
			"state=delayed":                         "",
			"min_age=30.5":                          "1 2 3",
			"max_age=30":                            "4 5",
			"min_tries=1":                           "4 5",
			"max_tries=0":                           "1 2 3",
			"tube=b&q=user&min_tries=1&max_tries=1": "4",
		} {
			a := s.get("/jobs?" + query)
			if got := strings.Join(a.ids(), " "); got != want || a.at("next") != "" {
				t.Errorf("%s: %s, want %s in %s", query, got, want, a.text)
			}
			var got []string
			cursor := ""
			for more := true; more; more = cursor != "" {
				a := s.get("/jobs?limit=1&body_limit=0&cursor=" + cursor + "&" + query)
				got = append(got, a.ids()...)
				cursor = a.at("next").(string)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s one by one: %v, want %s", query, got, want)
			}
		}
		for _, query := range []string{"id=0", "tube=-", "state=x", "min_age=0", "max_age=-1", "min_age=NaN", "min_age=1e300", "min_tries=-1", "max_tries=x", "value=7", "cursor=x", "limit=5000"} {
			name, _, _ := strings.Cut(query, "=")
			s.wants(s.get("/jobs?"+query), 400, "errors.0.parameter", name)
		}
		s.wants(s.get("/jobs?q=%zz"), 400)
		s.wants(s.get("/jobs?q=a;b"), 400)
	})
}

func TestBulk(t *testing.T) {
	inBubble(t, server.Config{}, func(t *testing.T, s *site) {
		for i := range 20 {
			s.put("a", fmt.Sprintf(`{"n": %d}`, i%2))
		}
		c := s.dial()
		s.say(c, "watch a")
		s.say(c, "reserve-job 1") // n is 0
		bulk := func(content string) *answer { t.Helper(); return s.post("/jobs/bulk", content) }
		odd := `"query": {"tube": "a", "field": "n", "value": 1}`
		even := `"query": {"tube": "a", "field": "n", "value": "0"}`
		s.wants(bulk(`{`+odd+`, "action": "bury", "dry_run": true}`), 200, "matched", 10, "done", 0, "skipped", 0)
		s.wants(s.get("/tubes/a"), 200, "buried", 0)
		s.wants(bulk(`{`+odd+`, "action": "bury", "expect": 9}`), 409, "matched", 10, "done", 0)
		s.wants(s.get("/tubes/a"), 200, "buried", 0)
		s.wants(bulk(`{`+odd+`, "action": "bury", "expect": 10}`), 200, "matched", 10, "done", 10, "skipped", 0)
		s.wants(s.get("/tubes/a"), 200, "buried", 10, "ready", 9, "reserved", 1)
		s.wants(bulk(`{"query": {"tube": "a"}, "action": "kick"}`), 200, "matched", 20, "done", 10, "skipped", 10)
		s.wants(bulk(`{`+even+`, "action": "change", "pri": 3, "delay": 40}`), 200, "matched", 10, "done", 9, "skipped", 1)
		s.wants(s.get("/jobs/3"), 200, "pri", 3, "state", "delayed", "time_left", 40)
		s.wants(bulk(`{"query": {"state": "delayed"}, "action": "move", "tube": "b"}`), 200, "matched", 9, "done", 9)
		s.wants(s.get("/tubes/b"), 200, "delayed", 9)
		s.wants(bulk(`{"query": {"state": ["reserved"]}, "action": "release", "delay": 5}`), 200, "matched", 1, "done", 1)
		s.wants(s.get("/jobs/1"), 200, "state", "delayed", "time_left", 5)
		s.say(c, "reserve-job 2")
		s.wants(bulk(`{"query": {"tube": "a", "state": ["ready", "reserved"]}, "action": "delete"}`), 200, "matched", 10, "done", 9, "skipped", 1)
		s.wants(bulk(`{"query": {"id": 2}, "action": "delete", "force": true, "expect": 1}`), 200, "matched", 1, "done", 1)
		s.wants(s.get("/jobs"), 200, "jobs.9.id", 19, "jobs.10", nil)
		if !strings.Contains(s.log.String(), "operator: delete in bulk") {
			t.Errorf("the log has no line for the deletion: %s", s.log.String())
		}
		for content, parameter := range map[string]string{
			`{}`:                                 "query",
			`{"action": "delete"}`:               "query",
			`{"query": {}, "action": "delete"}`:  "query",
			`{"query": "a", "action": "delete"}`: "query",
			`{"query": {"tube": "-"}, "action": "delete"}`:           "query.tube",
			`{"query": {"colour": "red"}, "action": "delete"}`:       "query.colour",
			`{"query": {"id": 1}}`:                                   "action",
			`{"query": {"id": 1}, "action": "destroy"}`:              "action",
			`{"query": {"id": 1}, "action": "move"}`:                 "tube",
			`{"query": {"id": 1}, "action": "change"}`:               "pri",
			`{"query": {"id": 1}, "action": "delete", "delay": 1}`:   "delay",
			`{"query": {"id": 1}, "action": "delete", "expect": -1}`: "expect",
			`{"query": {"id": 1}, "action": "delete", "dry_run": 1}`: "dry_run",
		} {
			s.wants(bulk(content), 400, "errors.0.parameter", parameter)
		}
		s.wants(s.get("/stats"), 200, "jobs.delayed", 10)
	})
}
