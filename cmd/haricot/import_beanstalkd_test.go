package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haricotq/haricot/internal/protocol"
)

// witness drives a beanstalkd and knows of every job what its log must hold.
type witness struct {
	*beanstalkd
	talker
	chance *rand.Rand
	logged map[protocol.JobID][]map[string]string // as it was when it was last logged, and at each change since then
	bodies map[protocol.JobID]string
	graves map[string][]protocol.JobID // buried jobs of each tube, in their order
	next   protocol.JobID
}

var witnessTubes = []string{"default", "mail", "a-very-long-name." + strings.Repeat("x", 183)}

func newWitness(t *testing.T, seed uint64, args ...string) *witness {
	t.Helper()
	w := &witness{
		beanstalkd: startBeanstalkd(t, t.TempDir(), args...),
		chance:     rand.New(rand.NewPCG(seed, 0)),
		logged:     map[protocol.JobID][]map[string]string{},
		bodies:     map[protocol.JobID]string{},
		graves:     map[string][]protocol.JobID{},
	}
	w.talker = connected(t, w.address)
	return w
}

// note remembers that the server has just logged a job.
func (w *witness) note(id protocol.JobID) {
	delete(w.logged, id)
	w.unlogged(id)
}

// unlogged remembers that a job has changed, which the server logs only if it copies the job to another file for want of space.
func (w *witness) unlogged(id protocol.JobID) { w.logged[id] = append(w.logged[id], w.stats(id)) }

func (w *witness) insert(tube string, priority, delay int, body string) protocol.JobID {
	id := w.put(tube, priority, delay, body)
	w.bodies[id] = body
	w.next = id + 1
	w.note(id)
	return id
}

// rise takes a job out of its grave.
func (w *witness) rise(id protocol.JobID) {
	for tube, ids := range w.graves {
		w.graves[tube] = slices.DeleteFunc(ids, func(other protocol.JobID) bool { return other == id })
	}
}

// act does something to a job of any state.
func (w *witness) act(id protocol.JobID) {
	switch w.chance.IntN(6) {
	case 0:
		w.must("RESERVED", "reserve-job %d", id) // not logged
		w.rise(id)
		w.must("BURIED", "bury %d %d", id, w.chance.IntN(1000))
		tube := w.stats(id)["tube"]
		w.graves[tube] = append(w.graves[tube], id)
		w.note(id)
	case 1:
		w.must("RESERVED", "reserve-job %d", id)
		w.rise(id)
		w.must("RELEASED", "release %d %d %d", id, w.chance.IntN(1000), 3600+w.chance.IntN(1000))
		w.note(id)
	case 2:
		if w.ask("kick-job %d", id).Word == "KICKED" {
			w.rise(id)
			w.note(id)
		}
	case 3, 4:
		w.must("DELETED", "delete %d", id)
		w.rise(id)
		delete(w.logged, id)
		delete(w.bodies, id)
	case 5:
		if w.stats(id)["state"] == "ready" {
			w.must("RESERVED", "reserve-job %d", id)
			w.must("RELEASED", "release %d %d 0", id, w.chance.IntN(1000)) // neither is logged
			w.unlogged(id)
		}
	}
}

func (w *witness) live() []protocol.JobID { return slices.Sorted(maps.Keys(w.bodies)) }

// work does as many things as are asked for.
func (w *witness) work(steps, largest int) {
	for range steps {
		if ids := w.live(); len(ids) > 0 && w.chance.IntN(2) == 0 {
			w.act(ids[w.chance.IntN(len(ids))])
			continue
		}
		body := make([]byte, w.chance.IntN(largest))
		for i := range body {
			body[i] = byte(w.chance.IntN(256))
		}
		delay := max(0, 7200*(w.chance.IntN(4)-2))
		w.insert(witnessTubes[w.chance.IntN(len(witnessTubes))], w.chance.IntN(2000), delay, string(body))
	}
}

// restart kills the server and starts it again with its log. Its buried jobs are in another order then, and ours are not; and it
// counts one burial more for each.
func (w *witness) restart() {
	w.kill()
	w.start()
	w.talker = connected(w.beanstalkd.t, w.address)
	for _, id := range w.live() {
		w.unlogged(id)
	}
}

// imported kills the server and brings its log into haricot.
func (w *witness) imported() talker {
	w.talker.t.Helper()
	t := w.beanstalkd.t
	now, asked := map[protocol.JobID]map[string]string{}, time.Now()
	for _, id := range w.live() {
		now[id] = w.stats(id)
		if r := w.must("FOUND", "peek %d", id); string(r.Data) != w.bodies[id] {
			t.Fatalf("the reference itself has another body of job %d", id)
		}
	}
	w.kill()
	dir := filepath.Join(t.TempDir(), "store")
	out := runs(t, "haricot", "import", "--beanstalkd", w.dir, dir)
	if out.status != exitOK || !strings.Contains(out.stderr, fmt.Sprintf("imported %s into", plural(int64(len(w.bodies)), "job"))) {
		t.Fatalf("import: %+v, want %d jobs", out, len(w.bodies))
	}
	t.Log(out.stderr)
	d := serve(t, command("-l", "127.0.0.1", "-p", "0", "-b", dir, "-f", "50"), 1)
	h := connected(t, d.addrs[0])
	w.compare(h, now, asked)
	return h
}

// compare compares every job with what its last record said, which may be a copy that was made later.
func (w *witness) compare(h talker, now map[protocol.JobID]map[string]string, asked time.Time) {
	w.talker.t.Helper()
	t := w.beanstalkd.t
	for id, logged := range w.logged {
		got := h.stats(id)
		elapsed := int(time.Since(asked) / time.Second)
		kept := lasting(got)
		if !slices.ContainsFunc(logged, func(s map[string]string) bool { return maps.Equal(kept, lasting(s)) }) {
			t.Errorf("job %d (-log +haricot):\n%s", id, cmp.Diff(lasting(logged[0]), kept))
		}
		if !near(got["age"], now[id]["age"], elapsed) || got["state"] == "delayed" && !near(got["time-left"], now[id]["time-left"], -elapsed) {
			t.Errorf("job %d: age %s, time left %s; the reference said %s and %s %d seconds ago",
				id, got["age"], got["time-left"], now[id]["age"], now[id]["time-left"], elapsed)
		}
		if r := h.must("FOUND", "peek %d", id); string(r.Data) != w.bodies[id] {
			t.Errorf("job %d has another body", id)
		}
	}
	if r := h.must("INSERTED", "put 0 0 60 0\r\n"); r.ID() < w.next {
		t.Errorf("the next id is %d, but %d was the next already", r.ID(), w.next)
	}
	for tube, want := range w.graves {
		if got := h.buried(tube); !slices.Equal(got, want) {
			t.Errorf("buried in %s: %v, want %v", tube, got, want)
		}
	}
}

// TestImportBeanstalkd brings the logs of a beanstalkd over that did a bit of everything, with files of several sizes, so that
// it copies jobs from old files to new ones or does not, and with restarts between.
func TestImportBeanstalkd(t *testing.T) {
	for seed, args := range [][]string{{"-s", "4096"}, {"-s", "30000", "-F"}, {"-f", "50"}, {"-s", "800", "-F"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			w := newWitness(t, uint64(seed), args...)
			w.work(300, 200)
			w.imported()
		})
		if args[1] == "800" {
			continue // A file for nearly every job: the reference takes very long to start with that.
		}
		t.Run(strings.Join(args, " ")+" restarted", func(t *testing.T) {
			t.Parallel()
			w := newWitness(t, 100+uint64(seed), args...)
			for range 3 {
				w.work(100, 1000)
				w.restart()
			}
			w.work(50, 100)
			w.imported()
		})
	}
}

// TestImportLargestBodies: what beanstalkd would drop at its next start, and what stands behind it.
func TestImportLargestBodies(t *testing.T) {
	w := newWitness(t, 1, "-f0")
	for _, size := range []int{65533, 65534, 65535, 0, 1} {
		w.insert("large", 5, 0, strings.Repeat("y", size))
	}
	w.act(w.insert("mail", 1, 0, "later"))
	w.imported()
}

// TestImportKilled kills a beanstalkd in the middle of puts. Every job that it has acknowledged is there.
func TestImportKilled(t *testing.T) {
	b := startBeanstalkd(t, t.TempDir(), "-f0", "-s", "20000")
	const enough = 400
	var mutex sync.Mutex
	acknowledged := map[protocol.JobID]string{}
	reached := make(chan struct{})
	var work sync.WaitGroup
	for i := range 4 {
		c := connected(t, b.address)
		work.Go(func() {
			for n := 0; ; n++ {
				body := fmt.Sprintf("%d of %d %s", n, i, strings.Repeat("z", n%300))
				r, err := c.Ask("put 0 0 60 %d\r\n%s", len(body), body)
				if err != nil {
					return
				}
				mutex.Lock()
				acknowledged[r.ID()] = body
				if len(acknowledged) == enough {
					close(reached)
				}
				mutex.Unlock()
			}
		})
	}
	<-reached
	b.kill()
	work.Wait()
	dir := filepath.Join(t.TempDir(), "store")
	if out := runs(t, "haricot", "import", "--beanstalkd", b.dir, dir); out.status != exitOK {
		t.Fatalf("import: %+v", out)
	}
	h := connected(t, serve(t, command("-l", "127.0.0.1", "-p", "0", "-b", dir), 1).addrs[0])
	for id, body := range acknowledged {
		if r := h.ask("peek %d", id); string(r.Data) != body {
			t.Errorf("job %d: %v, want %.20q", id, &r, body)
		}
	}
}

// TestImportRunning: the directory of a beanstalkd that runs is left alone.
func TestImportRunning(t *testing.T) {
	b := startBeanstalkd(t, t.TempDir())
	connected(t, b.address).put("default", 0, 0, "x")
	dir := filepath.Join(t.TempDir(), "store")
	out := runs(t, "haricot", "import", "--beanstalkd", b.dir, dir)
	want := fmt.Sprintf("a running beanstalkd holds its lock: process %d; stop it first, or move its jobs while it runs: haricot migrate", b.cmd.Process.Pid)
	if out.status != exitStore || !strings.Contains(out.stderr, want) {
		t.Errorf("import: %+v, want status %d and %q", out, exitStore, want)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the new directory: %v", err)
	}
}

// TestImportDamaged: by default a log is imported whole or not at all.
func TestImportDamaged(t *testing.T) {
	b := startBeanstalkd(t, t.TempDir())
	c := connected(t, b.address)
	for i := range 3 {
		c.put("default", 0, 0, fmt.Sprint("body ", i))
	}
	b.kill()
	// The first record begins at byte 4 and takes 4+7+80+6+2 bytes. Its body loses its end.
	spoil(t, filepath.Join(b.dir, "binlog.1"), 4+99-1)
	dir := filepath.Join(t.TempDir(), "store")
	gap := "cannot be read: binlog.1, bytes 4 to 103: the body of job 1 in tube default does not end where it should\n"

	out := runs(t, "haricot", "import", "--beanstalkd", b.dir, dir)
	if out.status != exitStore || !strings.HasPrefix(out.stderr, gap) || !strings.Contains(out.stderr, "add --force") {
		t.Errorf("import: %+v", out)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the new directory: %v", err)
	}
	out = runs(t, "haricot", "import", "--beanstalkd", b.dir, "--force", dir)
	if out.status != exitOK || !strings.HasPrefix(out.stderr, gap) || !strings.Contains(out.stderr, "imported 2 jobs into") {
		t.Errorf("import --force: %+v", out)
	}
	h := connected(t, serve(t, command("-l", "127.0.0.1", "-p", "0", "-b", dir), 1).addrs[0])
	if h.stats(1) != nil || h.stats(2) == nil || h.stats(3) == nil {
		t.Error("want jobs 2 and 3")
	}
}

func spoil(t *testing.T, path string, at int64) {
	t.Helper()
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte{'!'}, at); err != nil {
		t.Fatal(err)
	}
}

// TestImportDirectories: a store is made in a new or empty directory only, and what an interrupted import has left is cleared.
func TestImportDirectories(t *testing.T) {
	b := startBeanstalkd(t, t.TempDir())
	connected(t, b.address).put("default", 0, 0, "x")
	b.kill()
	into := func(dir string) outcome { return runs(t, "haricot", "import", "--beanstalkd", b.dir, dir) }
	fill := func(dir string, names ...string) string {
		for _, name := range names {
			if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	for _, dir := range []string{
		filepath.Join(t.TempDir(), "new"), t.TempDir(), fill(t.TempDir(), "lost+found"), fill(t.TempDir(), "importing/db", "db"),
	} {
		if out := into(dir); out.status != exitOK {
			t.Fatalf("%s: %+v", dir, out)
		}
		if _, err := os.Stat(filepath.Join(dir, "importing")); !os.IsNotExist(err) {
			t.Errorf("%s has what was being imported still", dir)
		}
		h := connected(t, serve(t, command("-l", "127.0.0.1", "-p", "0", "-b", dir), 1).addrs[0])
		if h.stats(1)["state"] != "ready" {
			t.Errorf("%s: job 1 is not there", dir)
		}
		if out := into(dir); out.status != exitStore || !strings.Contains(out.stderr, "is not empty") {
			t.Errorf("a second import into %s: %+v", dir, out)
		}
	}
	for _, dir := range []string{fill(t.TempDir(), "file"), fill(t.TempDir(), "db"), b.dir, filepath.Join(t.TempDir(), "no", "parent")} {
		if out := into(dir); out.status != exitStore {
			t.Errorf("%s: %+v, want a refusal", dir, out)
		}
	}
	unfinished := fill(t.TempDir(), "importing/db", "db")
	if out := runs(t, "haricot", "-l", "127.0.0.1", "-p", "0", "-b", unfinished); out.status != exitStore {
		t.Errorf("a server starts on an unfinished import: %+v", out)
	}
}
