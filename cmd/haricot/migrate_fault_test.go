package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/haricotq/haricot/internal/protocol"
)

// TestMigrateCutOff cuts the destination off in the middle of a batch, and runs again with the map. No job is lost, and doubled
// are at most those that were put and whose replies did not come.
func TestMigrateCutOff(t *testing.T) {
	for name, start := range sources {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := start(t), startHaricot(t)
			s := connected(t, from)
			for i := range 200 {
				s.put("default", 0, 0, fmt.Sprint("ready ", i))
			}
			file := filepath.Join(t.TempDir(), "map")
			gate := (&gate{inserted: func(n int) (reply, live bool) { return n != 100, n != 100 }}).open(t, to)
			out := migrate(t, from, gate.address, "--map", file)
			if out.status != exitInternal || !strings.Contains(out.stderr, "may be at both servers: jobs") ||
				!strings.Contains(out.stderr, "moved 99 jobs") {
				t.Fatalf("migrate: %+v", out)
			}
			out = migrate(t, from, to, "--map", file)
			if out.status == exitOK || !strings.Contains(out.stderr, "is the map of a migration from") {
				t.Errorf("with another destination: %+v", out)
			}
			out = migrate(t, from, gate.address, "--map", file)
			if out.status != exitOK || !strings.Contains(out.stderr, "moved 101 jobs") {
				t.Fatalf("again: %+v", out)
			}
			d := connected(t, to)
			times := map[string]int{}
			for {
				r := d.ask("reserve-with-timeout 0")
				if r.Word != "RESERVED" {
					break
				}
				times[string(r.Data)]++
			}
			doubled := 0
			for i := range 200 {
				n := times[fmt.Sprint("ready ", i)]
				doubled += n - 1
				if n == 0 {
					t.Errorf("job %d is lost", i)
				}
			}
			t.Logf("%d doubled", doubled)
			if doubled < 1 || doubled > 100 {
				t.Errorf("%d jobs are doubled, want those of one batch at most", doubled)
			}
		})
	}
}

// TestMigrateResumed: a migration ended between the destination's replies and the source's deletions. With its map no job is
// doubled, and no job is taken for another that had its id.
func TestMigrateResumed(t *testing.T) {
	from, to := startBeanstalkd(t, "").address, startHaricot(t)
	s, d := connected(t, from), connected(t, to)
	s.put("mail", 0, 0, "one")
	s.put("mail", 0, 0, "two")
	stale := s.put("mail", 0, 0, "three")
	file := filepath.Join(t.TempDir(), "map")
	// Such a map is left by a migration that ended after the first line was written: job 1 is at the destination already. The
	// second line is about another job that had the id of "three" before, and the third was cut off.
	copied := d.put("mail", 0, 0, "one")
	line := func(from, to protocol.JobID, body string) string {
		sum := sha256.Sum256([]byte(body))
		return fmt.Sprintf(`{"tube":"mail","from":%d,"to":%d,"created":%d,"sum":"%x"}`+"\n", from, to, time.Now().Unix(), sum[:16])
	}
	text := fmt.Sprintf(`{"source":%q,"destination":%q}`+"\n", from, to) + line(1, copied, "one") + line(stale, 77, "another") + `{"tube":"mai`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out := migrate(t, from, to, "--map", file)
	if out.status != exitOK || !strings.Contains(out.stderr, "of them 1 job had been put there before") {
		t.Errorf("migrate: %+v", out)
	}
	var bodies []string
	for _, m := range inventory(d, 10) {
		bodies = append(bodies, m.Body)
	}
	slices.Sort(bodies)
	if diff := gocmp.Diff([]string{"one", "three", "two"}, bodies); diff != "" {
		t.Error(diff)
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(written), "\n"); n != 5 || !strings.HasSuffix(string(written), "}\n") {
		t.Errorf("the map has %d lines:\n%s", n, written)
	}
}

// TestMigrateInterrupted: a signal ends a migration after its batch, and nothing is doubled.
func TestMigrateInterrupted(t *testing.T) {
	const jobs = 20000
	from, to := startBeanstalkd(t, "").address, startHaricot(t)
	s := connected(t, from)
	for range jobs / 100 {
		for range 100 {
			s.Send("put 0 0 60 1\r\nx")
		}
		for range 100 {
			if r, err := s.Receive(); err != nil || r.Word != "INSERTED" {
				t.Fatal(r, err)
			}
		}
	}
	d := start(t, exec.Command("haricot", "migrate", "--from", from, "--to", to, "--batch", "2"))
	there := connected(t, to)
	eventually(t, "the first jobs", func() bool { return there.count("default", "total-jobs") > 20 })
	d.signal(syscall.SIGTERM)
	if got := d.status(); got != exitInternal || len(d.find("not JSON")) == 0 {
		t.Errorf("interrupted, it ends with %d", got)
	}
	if sum := there.count("default", "current-jobs-ready") + s.count("default", "current-jobs-ready"); sum != jobs {
		t.Errorf("%d jobs at both together, want %d", sum, jobs)
	}
	if n := there.count("default", "current-jobs-ready"); n == jobs {
		t.Error("it came to its end")
	}
	if out := migrate(t, from, to); out.status != exitOK {
		t.Errorf("again: %+v", out)
	}
	if n := there.count("default", "current-jobs-ready"); n != jobs {
		t.Errorf("%d jobs in the end, want %d", n, jobs)
	}
}

// TestMigrateRefused: what the destination does not take stays at the source.
func TestMigrateRefused(t *testing.T) {
	from, to := startBeanstalkd(t, "").address, serve(t, command("-l", "127.0.0.1", "-p", "0", "-z", "10"), 1).addrs[0]
	s := connected(t, from)
	for _, body := range []string{"small", "far too large for it", "tiny"} {
		s.put("default", 0, 0, body)
	}
	out := migrate(t, from, to)
	want := "putting job 2 of tube default, which has 20 bytes, was answered JOB_TOO_BIG; start it with a larger limit: -z BYTES"
	if out.status != exitInternal || !strings.Contains(out.stderr, want) {
		t.Errorf("migrate: %+v, want %q", out, want)
	}
	if s.count("default", "current-jobs-ready")+connected(t, to).count("default", "current-jobs-ready") != 3 {
		t.Error("a job is lost or doubled")
	}
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"--from", from, "--to", from}, exitUsage},
		{[]string{"--from", from, "--to", "unix:/no/such/socket"}, exitSocket},
		{[]string{"--from", from, "--to", to, "--batch", "0"}, exitUsage},
		{[]string{"--from", from, "--to", to, "--tube", "-x"}, exitUsage},
		{[]string{"--from", from}, exitUsage},
	} {
		if out := runs(t, "haricot", append([]string{"migrate"}, c.args...)...); out.status != c.want {
			t.Errorf("%v: %+v, want status %d", c.args, out, c.want)
		}
	}
}

// TestMigratePaused: jobs of a paused tube are moved, and its pause with them.
func TestMigratePaused(t *testing.T) {
	from, to := startBeanstalkd(t, "").address, startHaricot(t)
	s, d := connected(t, from), connected(t, to)
	s.put("slow", 0, 0, "a")
	s.put("slow", 0, 0, "b")
	s.must("PAUSED", "pause-tube slow 500")
	if out := migrate(t, from, to); out.status != exitOK || !strings.Contains(out.stderr, "2 ready") {
		t.Errorf("migrate: %+v", out)
	}
	if n := d.count("slow", "pause-time-left"); n < 400 || d.count("slow", "current-jobs-ready") != 2 {
		t.Errorf("the tube is paused for %d seconds, want nearly 500, and 2 jobs", n)
	}
}

// TestMigrateTaken: a job whose time to run is over at the source while the destination is slow goes to a worker there. The copy
// is taken back, unless a worker has done it, which is told.
func TestMigrateTaken(t *testing.T) {
	for _, c := range []struct {
		name   string
		worker bool // at the destination
		want   string
	}{
		{"taken back", false, "a worker was faster, and has at the source: job 1\n"},
		{"doubled", true, "a worker was faster at both servers, and so they were done twice: job 1\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			from, to := startHaricot(t), startHaricot(t) // The reference is not to be relied on for the end of a reservation.
			s, d := connected(t, from), connected(t, to)
			s.must("INSERTED", "put 0 0 1 4\r\nslow")
			slow := (&gate{inserted: func(n int) (reply, live bool) {
				if n == 1 {
					s.must("RESERVED", "reserve-with-timeout 5")
				}
				if n == 1 && c.worker {
					d.must("DELETED", "delete %d", d.must("RESERVED", "reserve").ID())
				}
				return true, true
			}}).open(t, to)
			file := filepath.Join(t.TempDir(), "map")
			out := migrate(t, from, slow.address, "--map", file)
			if out.status != exitInternal || !strings.Contains(out.stderr, c.want) || !strings.Contains(out.stderr, "1 reserved") {
				t.Errorf("migrate: %+v, want %q", out, c.want)
			}
			s.must("RELEASED", "release 1 0 0")
			out = migrate(t, from, slow.address, "--map", file)
			if out.status != exitOK || !strings.Contains(out.stderr, "moved 1 job ") || d.count("default", "current-jobs-ready") != 1 {
				t.Errorf("again: %+v", out)
			}
		})
	}
}

// TestMigrateToOld: a destination that lacks reserve-job gets no buried jobs, and all others.
func TestMigrateToOld(t *testing.T) {
	from, to := startHaricot(t), startHaricot(t)
	s, d := connected(t, from), connected(t, to)
	s.put("default", 0, 0, "grave")
	s.must("BURIED", "bury %d 0", s.must("RESERVED", "reserve").ID())
	s.put("default", 0, 0, "ready")
	s.put("default", 0, 1000, "delayed")
	old := (&gate{old: true}).open(t, to)
	out := migrate(t, from, old.address, "--wait")
	if out.status != exitInternal || !strings.Contains(out.stderr, "left at the source: 1 buried") || !strings.Contains(out.stderr, "it lacks the command reserve-job") {
		t.Errorf("migrate: %+v", out)
	}
	if s.count("default", "current-jobs-buried") != 1 || d.count("default", "current-jobs-ready") != 1 || d.count("default", "current-jobs-delayed") != 1 {
		t.Error("want the buried job at the source and two at the destination")
	}
}
