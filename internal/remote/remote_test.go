package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/haricotq/haricot/client/clienttest"
	"github.com/haricotq/haricot/internal/protocol"
)

// reached connects to a server of the test.
func reached(t *testing.T) *Server {
	t.Helper()
	t.Cleanup(func() { goleak.VerifyNone(t) })
	return connected(t, clienttest.NewServer(t))
}

func connected(t *testing.T, server *clienttest.Server) *Server {
	t.Helper()
	conn, err := server.Dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	s := New(conn)
	t.Cleanup(func() { s.Close() })
	return s
}

// put puts jobs.
func put(t *testing.T, s *Server, tube string, p Properties, bodies ...string) (ids []protocol.JobID) {
	t.Helper()
	for _, body := range bodies {
		id, err := s.Put(tube, p, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// state asks for the state of a job; "gone" if there is none.
func state(t *testing.T, s *Server, id protocol.JobID) string {
	t.Helper()
	job, err := s.Job(id)
	if errors.Is(err, ErrNotFound) {
		return "gone"
	}
	if err != nil {
		t.Fatal(err)
	}
	return job.Stats.Value("state")
}

func quietly(int) {}

func TestFeed(t *testing.T) {
	s := reached(t)
	const n = 3 * feedWindow
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	var ids []string
	fed, err := s.Feed(t.Context(), "t", Properties{TTR: time.Minute}, Lines(strings.NewReader(text.String()), nil),
		func(id []byte) { ids = append(ids, string(id)) }, func() {})
	if err != nil || fed.Put != n || fed.Refused != 0 || len(ids) != n || ids[0] != "1" || ids[n-1] != fmt.Sprint(n) {
		t.Fatalf("fed %+v, %d ids (%v), want %d", fed, len(ids), err, n)
	}
	job, err := s.Job(n)
	if err != nil || string(job.Body) != fmt.Sprintf("line %d", n-1) || job.Stats.Value("ttr") != "60" {
		t.Errorf("the last job is %+v (%v)", job, err)
	}
	if stats, err := s.TubeStat("t"); err != nil || stats.Number("current-jobs-ready") != n {
		t.Errorf("the tube is %v (%v)", stats, err)
	}
}

// TestFeedSerialServer has a server that reads nothing before its last reply is taken from it, and nothing in between holds any bytes:
// whoever stops reading replies while he sends waits for ever.
func TestFeedSerialServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			in := bufio.NewReaderSize(theirs, 16)
			for id := 0; ; id++ {
				line, err := in.ReadString('\n')
				if err != nil {
					return
				}
				reply := "USING t\r\n"
				if strings.HasPrefix(line, "put") {
					if _, err := in.ReadString('\n'); err != nil {
						return
					}
					reply = fmt.Sprintf("INSERTED %d\r\n", id)
				}
				if _, err := io.WriteString(theirs, reply); err != nil {
					return
				}
			}
		}()
		s := New(ours)
		const n = 3 * feedWindow
		fed, err := s.Feed(t.Context(), "t", Properties{TTR: time.Minute}, Lines(strings.NewReader(strings.Repeat("x\n", n)), nil), func([]byte) {}, func() {})
		if err != nil || fed.Put != n {
			t.Errorf("fed %+v (%v), want %d", fed, err, n)
		}
		s.Close()
	})
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", lineBuffer+10)
	for text, want := range map[string][]string{
		"":                  nil,
		"\n":                {""},
		"a":                 {"a"},
		"a\r\nb\n\nc":       {"a", "b", "", "c"},
		long + "\n" + "b\n": {long, "b"},
		long:                {long},
		"a\rb\n":            {"a\rb"},
	} {
		var got []string
		source := Lines(strings.NewReader(text), nil)
		for {
			line, err := source(func() error { return nil })
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(line))
		}
		if !slices.Equal(got, want) {
			t.Errorf("lines of %.40q: %.100q, want %.100q", text, got, want)
		}
	}
}

// TestFeedLeavesOutWhatIsTooBig puts a line that no server takes among others.
func TestFeedLeavesOutWhatIsTooBig(t *testing.T) {
	s := reached(t)
	text := "a\n" + strings.Repeat("x", 70000) + "\nb\n"
	fed, err := s.Feed(t.Context(), "t", Properties{TTR: time.Minute}, Lines(strings.NewReader(text), nil), func([]byte) {}, func() {})
	if err != nil || fed.Put != 2 || fed.Refused != 1 || len(fed.Refusals) != 1 || fed.Refusals[0].Number != 2 || !errors.Is(fed.Refusals[0].Err, ErrTooBig) {
		t.Errorf("fed %+v (%v)", fed, err)
	}
}

// TestFeedStopsWhenDraining has a source that would never end.
func TestFeedStopsWhenDraining(t *testing.T) {
	server := clienttest.NewServer(t)
	server.Drain(true)
	s := connected(t, server)
	source := func(func() error) ([]byte, error) { return []byte("x"), nil }
	fed, err := s.Feed(t.Context(), "t", Properties{TTR: time.Minute}, source, func([]byte) {}, func() {})
	if !errors.Is(err, ErrDraining) || fed.Put != 0 || fed.Refused < 1 || fed.Refusals[0].Number != 1 {
		t.Errorf("fed %+v (%v)", fed, err)
	}
}

// TestFeedInterrupted ends the context while the source waits for input; what it gave before is put.
func TestFeedInterrupted(t *testing.T) {
	s := reached(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	wait := make(chan struct{})
	defer close(wait)
	n := 0
	source := func(flush func() error) ([]byte, error) {
		if n++; n <= 10 {
			return []byte("x"), nil
		}
		if err := flush(); err != nil {
			return nil, err
		}
		stop()
		<-wait
		return nil, io.EOF
	}
	fed, err := s.Feed(ctx, "t", Properties{TTR: time.Minute}, source, func([]byte) {}, func() {})
	if !errors.Is(err, context.Canceled) || fed.Put != 10 {
		t.Errorf("fed %+v (%v)", fed, err)
	}
}

// TestFeedCutOff loses the connection in the middle.
func TestFeedCutOff(t *testing.T) {
	server := clienttest.NewServer(t)
	s := connected(t, server)
	var given atomic.Int64 // the source may be asked once more after the end
	source := func(func() error) ([]byte, error) {
		if given.Add(1) == 1000 {
			server.Cut()
		}
		return []byte("x"), nil
	}
	fed, err := s.Feed(t.Context(), "t", Properties{TTR: time.Minute}, source, func([]byte) {}, func() {})
	if n := given.Load(); err == nil || int64(fed.Put) > n {
		t.Errorf("fed %+v (%v) of %d", fed, err, n)
	}
}

func TestKickTakesBuriedOrDelayed(t *testing.T) {
	s := reached(t)
	p := Properties{TTR: time.Minute}
	ids := put(t, s, "t", p, "a", "b", "c")
	p.Delay = time.Hour
	later := put(t, s, "t", p, "d")
	for _, id := range ids[:2] {
		if err := s.Bury(id, Change{}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.Kick(t.Context(), "t", Buried, 10, quietly); n != 2 || err != nil {
		t.Errorf("kicked %d buried jobs (%v), want 2", n, err)
	}
	if got := state(t, s, later[0]); got != "delayed" {
		t.Errorf("the delayed job is %s: it was kicked although buried ones were wanted", got)
	}
	if n, err := s.Kick(t.Context(), "t", Delayed, 10, quietly); n != 1 || err != nil {
		t.Errorf("kicked %d delayed jobs (%v), want 1", n, err)
	}
}

// TestDeleteNextStopsAtCount deletes no more than it is told to, of a tube that is paused as of one that is not.
func TestDeleteNextStopsAtCount(t *testing.T) {
	for _, pause := range []time.Duration{0, time.Hour} {
		t.Run(pause.String(), func(t *testing.T) { deleteSome(t, reached(t), pause) })
	}
}

func deleteSome(t *testing.T, s *Server, pause time.Duration) {
	var bodies []string
	for i := range 2*deleteAtOnce + 50 {
		bodies = append(bodies, fmt.Sprint(i))
	}
	put(t, s, "t", Properties{TTR: time.Minute}, bodies...)
	if err := s.Pause("t", pause); err != nil {
		t.Fatal(err)
	}
	var last int
	n, err := s.DeleteNext(t.Context(), "t", Ready, 2*deleteAtOnce+1, func(n int) { last = n })
	if n != 2*deleteAtOnce+1 || last != n || err != nil {
		t.Errorf("deleted %d, the last progress being %d (%v)", n, last, err)
	}
	stats, err := s.TubeStat("t")
	if err != nil || stats.Number("current-jobs-ready") != 49 || stats.Number("current-jobs-reserved") != 0 {
		t.Errorf("left are %v (%v)", stats, err)
	}
}

func TestChangeKeepsWhatItIsNotTold(t *testing.T) {
	s := reached(t)
	ids := put(t, s, "t", Properties{Priority: 77, TTR: time.Minute}, "a")
	if err := s.Release(ids[0], Change{Delay: time.Hour}); err != nil {
		t.Fatal(err)
	}
	job, err := s.Job(ids[0])
	if err != nil || job.Stats.Value("pri") != "77" || job.Stats.Value("delay") != "3600" {
		t.Errorf("the job is %+v (%v)", job, err)
	}
	priority := protocol.Priority(3)
	if err := s.Bury(ids[0], Change{Priority: &priority}); err != nil {
		t.Fatal(err)
	}
	if job, err = s.Job(ids[0]); err != nil || job.Stats.Value("pri") != "3" {
		t.Errorf("the buried job is %+v (%v)", job, err)
	}
	if err := s.Release(99, Change{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("a job that is not there: %v", err)
	}
}

func TestFollower(t *testing.T) {
	s := reached(t)
	f := NewFollower(s, "t")
	look := func() (states []string, sight Sight) {
		t.Helper()
		sight, err := f.Look()
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range sight.Jobs {
			states = append(states, job.Stats.Value("state")+" "+string(job.Body))
		}
		return states, sight
	}
	if seen, sight := look(); len(seen) != 0 || sight.Changed {
		t.Errorf("in a tube that is not there: %v, %+v", seen, sight)
	}
	ids := put(t, s, "t", Properties{Priority: 5, TTR: time.Minute}, "a", "b")
	if seen, sight := look(); !slices.Equal(seen, []string{"ready a"}) || !sight.Changed || sight.Counts.Ready != 2 {
		t.Errorf("seen %v, %+v", seen, sight)
	}
	if seen, sight := look(); len(seen) != 0 || sight.Changed {
		t.Errorf("without a change: %v, %+v", seen, sight)
	}
	if err := s.Bury(ids[0], Change{}); err != nil {
		t.Fatal(err)
	}
	if seen, sight := look(); !slices.Equal(seen, []string{"buried a", "ready b"}) || sight.Counts.Buried != 1 {
		t.Errorf("seen %v, %+v", seen, sight)
	}
}

func TestStatsInJSON(t *testing.T) {
	for document, want := range map[string]string{
		"---\nname: 123\ncurrent-jobs-ready: 4\n":                              `{"name":"123","current_jobs_ready":4}`,
		"---\nid: 7\ntube: \"true\"\nstate: ready\npri: 4294967295\n":          `{"id":7,"tube":"true","state":"ready","pri":4294967295}`,
		"---\nid: 0123\nhostname: \"1\"\nversion: \"1.13\"\ndraining: false\n": `{"id":"0123","hostname":"1","version":"1.13","draining":false}`,
		"---\nrusage-utime: 0.000123\nnew-thing: what\n":                       `{"rusage_utime":0.000123,"new_thing":"what"}`,
		"---\nodd: NaN\nodder: 1e999\nos: #1 SMP: x\n":                         `{"odd":"NaN","odder":"1e999","os":"#1 SMP: x"}`,
		"": `{}`,
	} {
		got, err := json.Marshal(parseStats([]byte(document)))
		if err != nil || !bytes.Equal(got, []byte(want)) {
			t.Errorf("%q becomes %s (%v), want %s", document, got, err, want)
		}
	}
}
