package operator_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
	"github.com/haricotq/haricot/internal/server"
)

// find searches in one go and returns the ids in their order.
func (s *shop) find(q operator.Query) []protocol.JobID {
	s.t.Helper()
	f, err := s.Search(s.t.Context(), &operator.SearchRequest{Query: q, Limit: 1 << 30, Patience: time.Hour})
	if err != nil || f.Next != 0 {
		s.t.Fatalf("the search goes on at %d: %v", f.Next, err)
	}
	list := ids(f.Jobs)
	slices.Sort(list)
	n, err := s.Count(s.t.Context(), &q)
	if err != nil || n != len(list) {
		s.t.Errorf("%d jobs were counted, of %d: %v", n, len(list), err)
	}
	return list
}

// ptr is a pointer to a value.
func ptr[T any](v T) *T { return &v }

// TestSearchFields looks with each field of a query by itself, and with some.
func TestSearchFields(t *testing.T) {
	s := openShop(t, server.Config{})
	bodies := []string{
		`{"user":{"id":42,"name":"ann"},"tags":["a","b"]}`,
		`{"user":{"id":"42"},"ok":true,"none":null}`,
		`{"user":{"id":421}}`,
		`not JSON, user.id 42`,
		`{"user":{"id":42}`, // cut off
		"",
		"\xff\x00binary\r\n",
		`[1,2,3]`,
	}
	for i, body := range bodies {
		s.fill([]string{"a", "b"}[i%2], 1, func(_ int, in *queue.Insertion) {
			if in.Body = []byte(body); i == 5 {
				in.Delay = time.Hour
			}
		})
	}
	c := s.client()
	for range 2 {
		s.ask(c, "RESERVED", "reserve-job 8")
		s.ask(c, "RELEASED", "release 8 0 0")
	}
	s.ask(c, "RESERVED", "reserve-job 7")
	s.ask(c, "BURIED", "bury 7 0")
	s.ask(c, "RESERVED", "reserve-job 6")
	s.ask(c, "RESERVED", "reserve-job 1")
	s.ask(c, "RELEASED", "release 1 0 1000")
	all := []protocol.JobID{1, 2, 3, 4, 5, 6, 7, 8}
	hour := time.Hour
	tests := []struct {
		name  string
		query operator.Query
		want  []protocol.JobID
	}{
		{"all", operator.Query{}, all},
		{"a job", operator.Query{Job: 3}, []protocol.JobID{3}},
		{"no such job", operator.Query{Job: 99}, nil},
		{"a job of another tube", operator.Query{Job: 3, Tube: "b"}, nil},
		{"a job of another body", operator.Query{Job: 3, Contains: "ann"}, nil},
		{"a job of this body", operator.Query{Job: 1, Contains: "ann"}, []protocol.JobID{1}},
		{"a tube", operator.Query{Tube: "a"}, []protocol.JobID{1, 3, 5, 7}},
		{"no such tube", operator.Query{Tube: "c"}, nil},
		{"ready", operator.Query{States: queue.StatesOf(queue.Ready)}, []protocol.JobID{2, 3, 4, 5, 8}},
		{"reserved", operator.Query{States: queue.StatesOf(queue.Reserved)}, []protocol.JobID{6}},
		{"delayed or buried", operator.Query{States: queue.StatesOf(queue.Delayed, queue.Buried)}, []protocol.JobID{1, 7}},
		{"young", operator.Query{YoungerThan: hour}, all},
		{"old", operator.Query{OlderThan: hour}, nil},
		{"old enough", operator.Query{OlderThan: 1}, all},
		{"younger than time", operator.Query{YoungerThan: 1 << 62}, all},
		{"older than time", operator.Query{OlderThan: 1 << 62}, nil},
		{"tried", operator.Query{MinTries: 1}, []protocol.JobID{1, 6, 7, 8}},
		{"tried often", operator.Query{MinTries: 2}, []protocol.JobID{8}},
		{"never tried", operator.Query{MaxTries: ptr(uint32(0))}, []protocol.JobID{2, 3, 4, 5}},
		{"tried once", operator.Query{MinTries: 1, MaxTries: ptr(uint32(1))}, []protocol.JobID{1, 6, 7}},
		{"a part", operator.Query{Contains: "42"}, []protocol.JobID{1, 2, 3, 4, 5}},
		{"a part that is binary", operator.Query{Contains: "\xff\x00b"}, []protocol.JobID{7}},
		{"a field", operator.Query{Field: "user.id"}, []protocol.JobID{1, 2, 3}},
		{"a field of a value", operator.Query{Field: "user.id", Value: ptr("42")}, []protocol.JobID{1, 2}},
		{"a field of no value", operator.Query{Field: "user.id", Value: ptr("")}, nil},
		{"true", operator.Query{Field: "ok", Value: ptr("true")}, []protocol.JobID{2}},
		{"null", operator.Query{Field: "none"}, []protocol.JobID{2}},
		{"a list's first", operator.Query{Field: "tags.0", Value: ptr("a")}, []protocol.JobID{1}},
		{"a list's length", operator.Query{Field: "#", Value: ptr("3")}, []protocol.JobID{8}},
		{"one of a list", operator.Query{Field: `tags.#(=="b")`}, []protocol.JobID{1}},
		{"nonsense for a field", operator.Query{Field: "nobody.#(((..@|{"}, nil},
		{"everything", operator.Query{
			Tube: "a", States: queue.StatesOf(queue.Delayed), YoungerThan: hour, MinTries: 1, MaxTries: ptr(uint32(1)), Contains: "tags",
			Field: "user.name", Value: ptr("ann"),
		}, []protocol.JobID{1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s.t = t
			if got := s.find(test.query); !slices.Equal(got, test.want) {
				t.Errorf("found %v, want %v", got, test.want)
			}
		})
	}
}

// TestSearchHostileJSON looks into bodies that are made to end the process.
func TestSearchHostileJSON(t *testing.T) {
	const deep = 20 << 20
	s := openShop(t, server.Config{MaxJobSize: deep})
	for _, open := range []string{"[", `{"a":`} {
		s.fill("a", 1, func(_ int, in *queue.Insertion) { in.Body = bytes.Repeat([]byte(open), deep/len(open)) })
	}
	s.fill("a", 1, func(_ int, in *queue.Insertion) {
		in.Body = fmt.Appendf(nil, `{"a":%s1%s}`, bytes.Repeat([]byte("["), 9000), bytes.Repeat([]byte("]"), 9000))
	})
	if got := s.find(operator.Query{Field: "a"}); !slices.Equal(got, []protocol.JobID{3}) {
		t.Errorf("found %v, want job 3", got)
	}
}

// TestSearchGoesOn meets each job once that is there all the time, in portions
// that end at the limit, while others come and go.
func TestSearchGoesOn(t *testing.T) {
	const jobs = 3000
	s := openShop(t, server.Config{})
	s.fill("a", jobs, func(i int, in *queue.Insertion) { in.Body = fmt.Appendf(nil, "%d wanted", i) })
	gone := protocol.JobID(0)
	for _, limit := range []int{1, 7, 100, jobs} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			met := make(map[protocol.JobID]int)
			portions := 0
			for at, more := queue.Position(0), true; more && portions < 1000; portions++ {
				f, err := s.Search(t.Context(), &operator.SearchRequest{
					Query: operator.Query{Contains: "wanted"}, From: at, Limit: limit, BodyLimit: 4, Patience: time.Hour,
				})
				if err != nil || len(f.Jobs) > limit {
					t.Fatalf("%d jobs were found, more than %d: %v", len(f.Jobs), limit, err)
				}
				for _, j := range f.Jobs {
					if met[j.ID]++; len(j.Body) != 4 || !j.Truncated() {
						t.Errorf("the body of job %d is %q", j.ID, j.Body)
					}
				}
				at, more = f.Next, f.Next != 0
				if gone < jobs/2 && portions%2 == 0 {
					gone++
					s.do(operator.Delete(queue.Take), gone, nil)
					s.fill("b", 1, func(_ int, in *queue.Insertion) { in.Body = []byte("wanted, and new") })
				}
			}
			for id, n := range met {
				if n != 1 {
					t.Errorf("job %d was met %d times", id, n)
				}
			}
			if portions < 1000 { // else the search was given up
				for id := protocol.JobID(jobs/2 + 1); id <= jobs; id++ {
					if met[id] != 1 {
						t.Fatalf("job %d was there all the time and was met %d times", id, met[id])
					}
				}
			}
		})
	}
}

// TestSearchPatience comes back with what it has when the time is up, and tells
// where to go on.
func TestSearchPatience(t *testing.T) {
	const jobs = 2000
	for _, where := range []string{"memory", "disk"} {
		t.Run(where, func(t *testing.T) {
			config := server.Config{}
			if where == "disk" {
				config.Store, config.MemoryLimit = openStore(t, t.TempDir()), 1
			}
			s := openShop(t, config)
			s.fill("a", jobs, func(i int, in *queue.Insertion) { in.Body = fmt.Appendf(nil, "%d", i) })
			o, _ := s.slow()
			met := make(map[protocol.JobID]int)
			searches := 0
			for at, more := queue.Position(0), true; more; searches++ {
				f, err := o.Search(t.Context(), &operator.SearchRequest{
					Query: operator.Query{Contains: "9"}, From: at, Limit: jobs, Patience: 10 * operator.StepTime,
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, j := range f.Jobs {
					met[j.ID]++
				}
				if f.Next != 0 && f.Next <= at {
					t.Fatalf("the search from %d on goes on at %d", at, f.Next)
				}
				at, more = f.Next, f.Next != 0
			}
			if searches < 3 {
				t.Errorf("it took %d searches, which shows nothing", searches)
			}
			want := s.find(operator.Query{Contains: "9"})
			for _, id := range want {
				if met[id] != 1 {
					t.Fatalf("job %d was met %d times", id, met[id])
				}
			}
			if len(met) != len(want) {
				t.Errorf("%d jobs were met, of %d", len(met), len(want))
			}
		})
	}
}

// TestMatching lists no more than is asked for, and tells whether there is more.
func TestMatching(t *testing.T) {
	s := openShop(t, server.Config{})
	s.fill("a", 10, nil)
	for _, test := range []struct {
		limit, want int
		more        bool
	}{{9, 9, true}, {10, 10, false}, {11, 10, false}, {0, 0, true}} {
		got, more, err := s.Matching(t.Context(), &operator.Query{}, test.limit)
		if len(got) != test.want || more != test.more || err != nil {
			t.Errorf("of 10 jobs at most %d are %d, more: %v, %v", test.limit, len(got), more, err)
		}
	}
}
