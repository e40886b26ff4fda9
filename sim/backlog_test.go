package sim

import (
	"bytes"
	"flag"
	"path/filepath"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/wire"
)

var backlog = flag.Int("backlog", 50_000, "`jobs` of TestBacklogBeyondMemory")

const (
	// memory is what the server may use for jobs, and large is a number of jobs
	// with which its fixed buffers hardly count.
	memory = 16 << 20
	large  = 500_000
	// residentEach bounds the resident bytes a job of a large backlog.
	residentEach = 200
)

// TestBacklogBeyondMemory has more jobs than there is memory for: they are all
// there, before and after a restart, and the memory and later the disk are used
// as little as promised.
func TestBacklogBeyondMemory(t *testing.T) {
	dir := t.TempDir()
	s, address := serve(t, dir, "-F", "--memory", "16M")
	c := talk(t, address)
	empty := s.resident()
	fill(t, c, *backlog, 1024)
	weigh(t, s, empty, "filled")
	read(t, c, "peek", 1)
	weigh(t, s, empty, "read")
	s.kill()

	s, address = serve(t, dir, "-F", "--memory", "16M")
	c = talk(t, address)
	expect(t, c, "USING", "list-tube-used")
	t.Logf("first reply after %v", time.Since(s.began))
	weigh(t, s, empty, "started again")
	before := size(t, filepath.Join(dir, "db"))
	read(t, c, "reserve-with-timeout 0", 1)
	weigh(t, s, empty, "reserved and deleted")
	var after int64
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Second) {
		if after = size(t, filepath.Join(dir, "db")); after < remnant {
			break
		}
	}
	t.Logf("the database had %.0f MB, and %.0f MB when all jobs were deleted", float64(before)/1e6, float64(after)/1e6)
	if after > remnant {
		t.Errorf("the database still has %d bytes of %d", after, before)
	}
}

// read reads all jobs, from the first on, and deletes those that it reserves.
func read(t *testing.T, c *wire.Conn, how string, first int) {
	t.Helper()
	began := time.Now()
	peek := how == "peek"
	for n := first; n <= *backlog; n += batch {
		k := min(batch, *backlog-n+1)
		for i := range k {
			if peek {
				c.Send("peek %d", n+i)
			} else {
				c.Send("%s", how)
			}
		}
		for i := range k {
			r := receive(t, c)
			if int(r.ID()) != n+i || !bytes.Equal(r.Data, numbered(n+i, 1024)) {
				t.Fatalf("instead of job %d: %v", n+i, r)
			}
		}
		for i := 0; i < k && !peek; i++ {
			c.Send("delete %d", n+i)
		}
		for i := 0; i < k && !peek; i++ {
			if r := receive(t, c); r.Word != "DELETED" {
				t.Fatalf("delete %d: %v", n+i, r)
			}
		}
	}
	t.Logf("%s: %d jobs in %v", how, *backlog, time.Since(began).Round(time.Millisecond))
}

// weigh compares the resident memory beyond what jobs may use with the jobs.
func weigh(t *testing.T, s *server, empty int64, when string) {
	t.Helper()
	now := s.resident()
	each := float64(now-memory) / float64(*backlog)
	t.Logf("%s: resident %.1f MB (%.1f MB when empty), beyond the budget %.0f bytes a job", when, float64(now)/1e6, float64(empty)/1e6, each)
	if *backlog >= large && each > residentEach {
		t.Errorf("%s: %.0f resident bytes a job", when, each)
	}
}
