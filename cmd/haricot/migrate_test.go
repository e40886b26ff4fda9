package main

import (
	"cmp"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/wire"
)

// sources are the kinds of server that jobs are moved from; each starts one and gives its address.
var sources = map[string]func(t *testing.T) string{
	"beanstalkd": func(t *testing.T) string { return startBeanstalkd(t, "").address },
	"haricot":    startHaricot,
}

func startHaricot(t *testing.T) string {
	return serve(t, command("-l", "127.0.0.1", "-p", "0"), 1).addrs[0]
}

func migrate(t *testing.T, from, to string, more ...string) outcome {
	t.Helper()
	return runs(t, "haricot", append([]string{"migrate", "--from", from, "--to", to}, more...)...)
}

// moved is what is to be kept of a job.
type moved struct {
	Tube, State, Priority, TTR, Body string
}

// inventory reads all jobs of a server by their bodies, which must differ.
func inventory(c talker, highest protocol.JobID) map[string]moved {
	c.t.Helper()
	all := map[string]moved{}
	for id := protocol.JobID(1); id <= highest; id++ {
		stats := c.stats(id)
		if stats == nil {
			continue
		}
		body := string(c.must("FOUND", "peek %d", id).Data)
		if _, ok := all[body]; ok {
			c.t.Errorf("job %q is there twice", body)
		}
		all[body] = moved{stats["tube"], stats["state"], stats["pri"], stats["ttr"], body}
	}
	return all
}

// TestMigrate moves jobs of all states.
func TestMigrate(t *testing.T) {
	for name, start := range sources {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := start(t), startHaricot(t)
			s, d := connected(t, from), connected(t, to)
			for i := range 300 {
				s.put("mail", i%7, 0, fmt.Sprint("ready ", i))
			}
			s.put("123", 5, 0, "binary \x00\r\n")
			s.put("123", 5, 0, strings.Repeat("x", 65535))
			for i := range 20 {
				s.put("mail", 9, 1000+10*(i*7%20), fmt.Sprint("delayed ", i*7%20))
			}
			var graves []protocol.JobID
			for i := range 20 {
				graves = append(graves, s.put("graves", 3, 0, fmt.Sprint("buried ", i*3%20)))
			}
			slices.Reverse(graves)
			for _, id := range graves {
				s.must("RESERVED", "reserve-job %d", id)
				s.must("BURIED", "bury %d %d", id, 1000+id)
			}
			want := inventory(s, 400)

			out := migrate(t, from, to, "--batch", "32")
			if out.status != exitOK || !strings.Contains(out.stderr, "moved 342 jobs from "+from+" to "+to+": 302 ready, 20 delayed, 20 buried;") {
				t.Fatalf("migrate: %+v", out)
			}
			if left := inventory(s, 400); len(left) > 0 {
				t.Errorf("left at the source: %v", left)
			}
			if diff := gocmp.Diff(want, inventory(d, 400)); diff != "" {
				t.Error(diff)
			}
			checkOrder(d)
		})
	}
}

// checkOrder looks at the jobs of TestMigrate in the order in which workers get them.
func checkOrder(c talker) {
	c.t.Helper()
	c.must("USING", "use mail")
	for i := range 20 {
		r := c.must("FOUND", "peek-delayed")
		if want := fmt.Sprint("delayed ", i); string(r.Data) != want {
			c.t.Errorf("the next delayed job is %q, want %q", r.Data, want)
		}
		if left, want := c.stats(r.ID())["time-left"], fmt.Sprint(1000+10*i); !near(left, want, -5) && !near(left, want, -1) && !near(left, want, -10) {
			c.t.Errorf("job %q has %s seconds left, want about %s", r.Data, left, want)
		}
		c.must("DELETED", "delete %d", r.ID())
	}
	c.must("USING", "use graves")
	var graves []protocol.JobID
	for range 20 {
		r := c.must("FOUND", "peek-buried")
		graves = append(graves, r.ID())
		c.must("KICKED", "kick-job %d", r.ID())
	}
	if !slices.IsSorted(graves) {
		c.t.Errorf("buried: %v", graves)
	}
	c.must("WATCHING", "watch mail")
	var got []string
	for range 300 {
		got = append(got, string(c.must("RESERVED", "reserve-with-timeout 0").Data))
	}
	order := func(body string) (n int) {
		_, _ = fmt.Sscanf(body, "ready %d", &n) // All have this form.
		return n
	}
	if !slices.IsSortedFunc(got, func(a, b string) int {
		return cmp.Or(cmp.Compare(order(a)%7, order(b)%7), cmp.Compare(order(a), order(b)))
	}) {
		c.t.Errorf("ready: %v", got)
	}
}

// TestMigrateAmongWorkers moves jobs while workers and producers go on at the source. In the end every job is done by a worker
// there or is at the destination, and none is both.
func TestMigrateAmongWorkers(t *testing.T) {
	const jobs = 6000
	for name, start := range sources {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := start(t), startHaricot(t)
			s := connected(t, from)
			for i := range jobs / 2 {
				s.put("work", 0, 0, fmt.Sprint(i))
			}
			work := &workers{t: t, done: map[string]int{}}
			for range 3 {
				work.join(connected(t, from))
			}
			var producing sync.WaitGroup
			producer := connected(t, from)
			producing.Go(func() {
				for i := jobs / 2; i < jobs; i++ {
					producer.put("work", 0, 0, fmt.Sprint(i))
				}
			})
			eventually(t, "a worker", func() bool { return work.finished.Load() > 10 })
			if out := migrate(t, from, to, "--tube", "work"); out.status != exitOK && !strings.Contains(out.stderr, "left at the source") {
				t.Fatalf("migrate: %+v", out)
			}
			producing.Wait()
			work.end()
			if out := migrate(t, from, to, "--tube", "work", "--wait"); out.status != exitOK {
				t.Fatalf("migrate --wait: %+v", out)
			}
			there := inventory(connected(t, to), 2*jobs)
			for i := range jobs {
				body := fmt.Sprint(i)
				_, moved := there[body]
				if done := work.done[body]; done+count(moved) != 1 {
					t.Errorf("job %s: done %d times, moved %v", body, done, moved)
				}
			}
			t.Logf("%d done by workers, %d moved", len(work.done), len(there))
			if len(there) == 0 || len(work.done) == 0 {
				t.Error("one side had nothing to do")
			}
		})
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// workers take jobs and delete them, or give them back.
type workers struct {
	t        *testing.T
	group    sync.WaitGroup
	finished atomic.Int64
	stop     atomic.Bool
	mutex    sync.Mutex
	done     map[string]int
}

func (w *workers) join(c talker) {
	c.must("WATCHING", "watch work")
	w.group.Go(func() {
		for n := 0; !w.stop.Load(); n++ {
			r := c.ask("reserve-with-timeout 1")
			if r.Word != "RESERVED" {
				continue
			}
			if n%5 == 0 {
				c.must("RELEASED", "release %d %d 0", r.ID(), n%3)
				continue
			}
			c.must("DELETED", "delete %d", r.ID())
			w.mutex.Lock()
			w.done[string(r.Data)]++
			w.mutex.Unlock()
			w.finished.Add(1)
		}
	})
}

func (w *workers) end() {
	w.stop.Store(true)
	w.group.Wait()
}

// TestMigrateWaits: a job that a worker has is left and reported, or waited for.
func TestMigrateWaits(t *testing.T) {
	from, to := startBeanstalkd(t, "").address, startHaricot(t)
	s, worker := connected(t, from), connected(t, from)
	s.put("default", 0, 0, "held")
	id := worker.must("RESERVED", "reserve").ID()
	out := migrate(t, from, to)
	if out.status != exitInternal || !strings.Contains(out.stderr, "left at the source: 1 reserved: workers have them; --wait waits for them") {
		t.Errorf("migrate: %+v", out)
	}
	waiting := start(t, exec.Command("haricot", "migrate", "--from", from, "--to", to, "--wait"))
	eventually(t, "the migration to ask again", func() bool {
		lists, err := strconv.Atoi(wire.Stats(s.ask("stats").Data)["cmd-list-tubes"])
		return err == nil && lists > 6
	})
	worker.must("RELEASED", "release %d 5 0", id)
	if got := waiting.status(); got != exitOK {
		t.Errorf("migrate --wait ends with %d", got)
	}
	if r := connected(t, to).must("FOUND", "peek-ready"); string(r.Data) != "held" {
		t.Errorf("%q has come", r.Data)
	}
}
