package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/server"
)

// names are the names of the tubes in an answer.
func (a *answer) names() (list []string) {
	for i := range a.length("tubes") {
		list = append(list, a.at("tubes", i, "name").(string))
	}
	return list
}

func TestTubeHasAllItsNumbers(t *testing.T) {
	inBubble(t, server.Config{}, func(t *testing.T, s *site) {
		c := s.dial()
		s.say(c, "use mail")
		s.say(c, "watch mail")
		for _, pri := range []int{10, 2000, 2000, 2000} {
			c.Put(0, 0, 60, nil)
			s.receive(c)
			s.say(c, "release %d %d 0", s.say(c, "reserve").ID(), pri)
		}
		c.Put(5000, 30, 60, []byte("late"))
		s.receive(c)
		s.say(c, "bury %d 0", s.say(c, "reserve").ID())
		s.say(c, "reserve")
		pass(10 * time.Second)
		s.say(c, "pause-tube mail 100")
		pass(1500 * time.Millisecond)
		a := s.get("/tubes/mail")
		s.wants(a, 200, "name", "mail", "ready", 2, "urgent", 0, "reserved", 1, "delayed", 1, "buried", 1, "bytes", 4, "total_jobs", 5,
			"oldest_ready_age", 11.5, "using", 1, "watching", 1, "waiting", 0, "paused", true, "pause_time_left", 98.5, "pauses", 1,
			"counts.puts", 5, "counts.reserves", 6, "counts.buries", 1, "counts.releases", 4, "run.count", 0, "wait.count", 6,
			"wait.p50", 0.001, "wait.buckets.0.below", 0.001, "wait.buckets.0.count", 6, "run.p50", nil, "diagnosis.0.code", "paused")
		if n := a.length("wait", "buckets"); n != 22 {
			t.Errorf("%d buckets, want 22", n)
		}
		s.wants(s.get("/tubes?filter=mail"), 200, "tubes.0.ready", 2, "tubes.0.paused", true, "tubes.0.wait", nil, "tubes.0.diagnosis", nil)
	})
}

func TestTubesAreFilteredSortedAndPaged(t *testing.T) {
	inBubble(t, server.Config{}, func(t *testing.T, s *site) {
		for i, tube := range []string{"mail-a", "mail-b", "other/mail", "image"} {
			for range i {
				s.put(tube, "x")
			}
			s.put(tube, "x")
			pass(time.Second)
		}
		for query, want := range map[string]string{
			"":                              "default image mail-a mail-b other/mail",
			"?filter=mail":                  "mail-a mail-b other/mail",
			"?filter=mail*":                 "mail-a mail-b",
			"?filter=*mail":                 "other/mail",
			"?filter=mail-%3F":              "mail-a mail-b",
			"?filter=(":                     "",
			"?filter=nothing":               "",
			"?sort=-ready":                  "image other/mail mail-b mail-a default",
			"?sort=ready":                   "default mail-a mail-b other/mail image",
			"?sort=-oldest_ready_age":       "mail-a mail-b other/mail image default",
			"?sort=bytes&filter=i&limit=10": "mail-a mail-b other/mail image",
			"?sort=paused":                  "",
		} {
			a := s.get("/tubes" + query)
			if got := strings.Join(a.names(), " "); got != want {
				t.Errorf("%s: %s, want %s", query, got, want)
			}
		}
		for _, order := range []string{"name", "ready", "-ready", "-waiting"} {
			want := s.get("/tubes?sort=" + order).names()
			var got []string
			cursor := ""
			for more := true; more; more = cursor != "" {
				a := s.get("/tubes?limit=2&sort=" + order + "&cursor=" + cursor)
				got = append(got, a.names()...)
				cursor = a.at("next").(string)
			}
			if !slices.Equal(got, want) {
				t.Errorf("sorted by %s the pages have %v, want %v", order, got, want)
			}
		}
		s.wants(s.get("/tubes?filter="+strings.Repeat("*", 201)), 400, "errors.0.parameter", "filter")
		s.wants(s.get("/tubes?cursor=%25"), 400, "errors.0.parameter", "cursor")
		s.wants(s.get("/tubes?cursor=abcd"), 400, "errors.0.parameter", "cursor")
		s.wants(s.get("/tubes?sort=paused"), 400, "errors.0.parameter", "sort", "errors.0.value", "paused")
	})
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		fits          bool
	}{
		{"*", "", true},
		{"*", "abc", true},
		{"a*", "abc", true},
		{"*c", "abc", true},
		{"*b*", "abc", true},
		{"a*c", "abc", true},
		{"?b?", "abc", true},
		{"*a*b*a", "aabbaabba", true},
		{"**c**", "abc", true},
		{"a*bc*bd", "abcbcbd", true},
		{"abc*", "abc", true},
		{"?", "", false},
		{"?", "ab", false},
		{"a*", "ba", false},
		{"*c", "ca", false},
		{"a*c*d", "abc", false},
		{"abc?", "abc", false},
		{"a*bc*bd", "abcbcb", false},
		{"*a*a*a*a*a*a*a*a*b", strings.Repeat("a", 200), false},
	} {
		if got := fitsPattern(c.pattern, c.text); got != c.fits {
			t.Errorf("%s fits %s: %v", c.pattern, c.text, got)
		}
	}
}

// TestNamesOfTubesAreEscaped goes through names that mean something in a URL.
func TestNamesOfTubesAreEscaped(t *testing.T) {
	inBubble(t, server.Config{}, func(t *testing.T, s *site) {
		for _, tube := range []string{"a/b", "a//b", "/a", "a/", "a+b", "a;b", "$x", "a.b", "..", ".", "(a)", "a_b", "0-", "a/../b", strings.Repeat("x", 200)} {
			path := strings.ReplaceAll(escape(tube), ".", "%2E")
			s.put(tube, "of "+tube)
			s.wants(s.get("/tubes/"+path), 200, "name", tube, "ready", 1)
			s.wants(s.get("/tubes/"+path+"/jobs"), 200, "jobs.0.body", "of "+tube, "jobs.0.tube", tube)
			id := s.get("/tubes/"+path+"/jobs").at("jobs", 0, "id")
			s.wants(s.get(fmt.Sprintf("/jobs?tube=%s", strings.ReplaceAll(strings.ReplaceAll(escape(tube), "+", "%2B"), ";", "%3B"))), 200, "jobs.0.id", id)
			s.wants(s.ask(http.MethodDelete, fmt.Sprintf("/jobs/%v", id), "", ""), 204)
		}
		// The mux takes a segment that is nothing but a slash for the end of the path.
		s.put("/", "x")
		s.wants(s.get("/tubes/%2F"), 404)
		s.wants(s.get("/jobs?tube=/"), 200, "jobs.0.tube", "/")
		for _, tube := range []string{"-a", "a b", "a*", "ä", "a%00", "a%0Ab", strings.Repeat("x", 201)} {
			a := s.get("/tubes/" + strings.ReplaceAll(tube, " ", "%20"))
			s.wants(a, 400, "errors.0.parameter", "tube", "errors.0.allowed", "1 to 200 letters, digits and -+/;.$_(), the first not a hyphen")
		}
		s.wants(s.get("/tubes/none"), 404, "detail", "There is no such tube.", "status", 404, "title", "Not Found", "type", "about:blank",
			"instance", "/api/v1/tubes/none")
		s.wants(s.get("/tubes/none/jobs"), 404)
		s.wants(s.post("/tubes/none/pause", `{"seconds": 1}`), 404)
		s.wants(s.post("/tubes/none/kick", `{"count": 1}`), 404)
		s.wants(s.post("/tubes/none/clear", `{"state": "ready"}`), 404)
	})
}

func TestPauseAndResume(t *testing.T) {
	inBubble(t, server.Config{}, func(t *testing.T, s *site) {
		s.put("a", "x")
		c := s.dial()
		s.say(c, "watch a")
		s.wants(s.post("/tubes/a/pause", `{"seconds": 60}`), 204)
		s.wants(s.get("/tubes/a"), 200, "paused", true, "pause_time_left", 60)
		if r := s.say(c, "reserve-with-timeout 10"); r.Word != "TIMED_OUT" {
			t.Errorf("a paused tube gives out %s", r)
		}
		s.wants(s.post("/tubes/a/resume", ""), 204)
		s.wants(s.get("/tubes/a"), 200, "paused", false, "pause_time_left", 0)
		if r := s.say(c, "reserve-with-timeout 10"); r.Word != "RESERVED" {
			t.Errorf("a resumed tube gives out %s", r)
		}
		s.wants(s.post("/tubes/a/pause?seconds=5", ""), 204)
		s.wants(s.post("/tubes/a/pause?seconds=5", `{"seconds": 5}`), 400, "errors.0.parameter", "seconds")
		s.wants(s.post("/tubes/a/pause", ""), 400, "errors.0.parameter", "seconds", "errors.0.allowed", "missing; it has to be how long the pause is")
		s.wants(s.post("/tubes/a/pause?seconds=0", ""), 400, "errors.0.allowed", "a whole number from 1 to 4294967295")
		s.wants(s.post("/tubes/a/pause?seconds=1.5", ""), 400, "errors.0.value", "1.5")
		for _, line := range []string{"operator: pause", "seconds=60", "operator: resume", "by=tester"} {
			if !strings.Contains(s.log.String(), line) {
				t.Errorf("the log has no %q: %s", line, s.log.String())
			}
		}
	})
}

func TestKickAndClearOfATube(t *testing.T) {
	inBubble(t, server.Config{}, func(t *testing.T, s *site) {
		c := s.dial()
		s.say(c, "watch a")
		for range 3 {
			s.put("a", "x")
			s.say(c, "bury %d 0", s.say(c, "reserve").ID())
		}
		s.say(c, "use a")
		c.Put(0, 100, 60, nil)
		s.receive(c)
		s.wants(s.post("/tubes/a/kick", ""), 400, "errors.0.parameter", "count")
		s.wants(s.post("/tubes/a/kick?count=2", ""), 200, "matched", 2, "done", 2, "skipped", 0)
		s.wants(s.post("/tubes/a/kick?count=2", ""), 200, "matched", 1, "done", 1)
		s.wants(s.post("/tubes/a/kick?count=2", ""), 200, "matched", 1, "done", 1) // the delayed one
		s.wants(s.get("/tubes/a"), 200, "ready", 4)
		s.say(c, "reserve")
		s.wants(s.post("/tubes/a/clear", ""), 400, "errors.0.parameter", "state", "errors.0.allowed",
			"missing; it has to be ready, reserved, delayed, buried")
		s.wants(s.post("/tubes/a/clear?state=gone", ""), 400, "errors.0.value", "gone")
		s.wants(s.post("/tubes/a/clear?state=buried&state=delayed", ""), 200, "matched", 0, "done", 0)
		s.wants(s.post("/tubes/a/clear", `{"state": ["ready", "reserved"]}`), 400, "errors.0.value", "reserved")
		s.wants(s.get("/tubes/a"), 200, "ready", 3, "reserved", 1)
		s.wants(s.post("/tubes/a/clear", `{"state": "ready"}`), 200, "matched", 3, "done", 3)
		s.wants(s.post("/tubes/a/clear", `{"state": ["ready", "reserved"], "force": true}`), 200, "matched", 1, "done", 1)
		s.wants(s.get("/tubes/a"), 200, "ready", 0, "reserved", 0)
	})
}
