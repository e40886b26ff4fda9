package console

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestConnections looks at a worker that holds jobs and at who came by a unix socket.
func TestConnections(t *testing.T) {
	s := newSite(t, Config{})
	producer, worker := s.dialTo("unix:"+s.socket), s.dial()
	s.must(worker.WatchOnly(t.Context(), "more", "work"))
	for range 3 {
		s.put(producer, "work", "job")
		_, err := worker.ReserveWithTimeout(t.Context(), time.Second)
		s.must(err)
	}

	const watched = "more , work" // in order of the alphabet
	list := s.get("/connections")
	rows := list.rows()
	if len(rows) != 2 || !strings.Contains(rows[0], "worker 3 ") || !strings.HasSuffix(rows[0], watched) {
		t.Fatalf("the list has %q", rows)
	}
	comm, err := os.ReadFile("/proc/self/comm")
	if err == nil && !strings.HasPrefix(rows[1], strings.TrimSpace(string(comm))+" (process ") {
		t.Errorf("a process is shown as %q, not as %q", rows[1], comm)
	}
	if !strings.Contains(rows[1], "producer") {
		t.Errorf("a producer is shown as %q", rows[1])
	}
	if got := s.get("/connections?filter=more").rows(); len(got) != 1 {
		t.Errorf("a filter by a watched tube finds %q", got)
	}

	name, _, _ := strings.Cut(rows[0], " ")
	detail := s.get(list.link(name))
	if got := detail.rows(); len(got) != 3 || !strings.Contains(got[0], "work") {
		t.Errorf("the worker's page has the jobs %q", got)
	}
	for _, want := range []string{"Holds 3 jobs", "127.0.0.1:", "Watches " + watched} {
		if !strings.Contains(detail.text(), want) {
			t.Errorf("the worker's page does not say %q: %s", want, detail.text())
		}
	}
}
