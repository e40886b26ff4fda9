package sim

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/wire"
)

// Defaults are short. The figures in docs/durability.md are those of
// -pairs 5000000 -releases 5000000 and -backlog 1000000.
var (
	pairs    = flag.Int("pairs", 200_000, "put+delete `pairs` beside a job that stays")
	releases = flag.Int("releases", 300_000, "`releases` with a delay of 100,000 jobs, in all")
)

const (
	// growth is how much the database may occupy at any moment beside what is
	// alive, and remnant after a while of quiet: the memtables' worth of logs,
	// and tables that are about to be merged.
	growth  = 512 << 20
	remnant = 192 << 20
	// batch is how many commands are sent before the first reply is read.
	batch = 250
)

// gauge watches how much the database occupies.
type gauge struct {
	t     *testing.T
	dir   string
	every int
	most  int64
}

// look notes the size after n operations.
func (g *gauge) look(n int) {
	if n%g.every == 0 {
		now := size(g.t, g.dir)
		g.most = max(g.most, now)
		g.t.Logf("%8d: %6.1f MB", n, float64(now)/1e6)
	}
}

// judge compares the most, and what is left after a while, with what is alive.
func (g *gauge) judge(alive int64) {
	g.t.Helper()
	var left int64
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Second) {
		if left = size(g.t, g.dir); left < alive+remnant {
			break
		}
	}
	g.t.Logf("alive %.1f MB, at most %.1f MB, %.1f MB in the end", float64(alive)/1e6, float64(g.most)/1e6, float64(left)/1e6)
	if g.most > alive+growth {
		g.t.Errorf("the database has had %d bytes for %d that were alive", g.most, alive)
	}
	if left > alive+remnant {
		g.t.Errorf("the database still has %d bytes for %d that are alive", left, alive)
	}
}

// TestPairsBesideAnOldJob has a job that stays while many others come and go.
func TestPairsBesideAnOldJob(t *testing.T) {
	dir := t.TempDir()
	_, address := serve(t, dir, "-F")
	c := talk(t, address)
	body := make([]byte, 200)
	c.Put(0, 0, 100, body)
	old := receive(t, c).ID()
	g := gauge{t: t, dir: filepath.Join(dir, "db"), every: max(*pairs/20/batch, 1) * batch}
	for n := 0; n < *pairs; n += batch {
		for range batch {
			c.Put(1, 0, 100, body)
		}
		var ids [batch]uint64
		for i := range ids {
			r := receive(t, c)
			if r.Word != "INSERTED" {
				t.Fatalf("put was answered %v", r)
			}
			ids[i] = uint64(r.ID())
		}
		for _, id := range ids {
			c.Send("delete %d", id)
		}
		for range ids {
			if r := receive(t, c); r.Word != "DELETED" {
				t.Fatalf("delete was answered %v", r)
			}
		}
		g.look(n + batch)
	}
	g.judge(int64(len(body)))
	if r := ask(t, c, "peek %d", old); !bytes.Equal(r.Data, body) {
		t.Errorf("the old job: %v", r)
	}
}

// TestReleasesWithDelay has many jobs released with a delay again and again.
func TestReleasesWithDelay(t *testing.T) {
	const jobs = 100_000
	dir := t.TempDir()
	_, address := serve(t, dir, "-F")
	c := talk(t, address)
	fill(t, c, jobs, 200)
	g := gauge{t: t, dir: filepath.Join(dir, "db"), every: max(*releases/20/batch, 1) * batch}
	for n := 0; n < *releases; n += batch {
		first := n % jobs
		for id := first + 1; id <= first+batch; id++ {
			c.Send("reserve-job %d", id)
			c.Send("release %d 1 %d", id, 1000+n%1000)
		}
		for range batch {
			if r := receive(t, c); r.Word != "RESERVED" {
				t.Fatalf("reserve-job was answered %v", r)
			}
			if r := receive(t, c); r.Word != "RELEASED" {
				t.Fatalf("release was answered %v", r)
			}
		}
		g.look(n + batch)
	}
	g.judge(jobs * 260)
}

// fill puts jobs whose bodies have their number, of a size.
func fill(t *testing.T, c *wire.Conn, jobs, size int) {
	t.Helper()
	for n := 0; n < jobs; n += batch {
		k := min(batch, jobs-n)
		for i := range k {
			c.Put(1, 0, 100, numbered(n+i+1, size))
		}
		for i := range k {
			if r := receive(t, c); r.Word != "INSERTED" || int(r.ID()) != n+i+1 {
				t.Fatalf("put %d was answered %v", n+i+1, r)
			}
		}
	}
}

// numbered is a body that begins with a number, if it is long enough. The rest
// cannot be compressed.
func numbered(n, size int) []byte {
	body := fmt.Appendf(make([]byte, 0, size+16), "%d ", n)
	for x := uint64(n) + 1; len(body) < size; {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		body = binary.LittleEndian.AppendUint64(body, x)
	}
	return body[:size]
}
