package client_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/beanstalkd/go-beanstalk"
)

func TestDial(t *testing.T) {
	c, err := beanstalk.Dial("tcp", os.Getenv("HARICOT_ADDR"))
	must(t, err)
	_, err = c.ListTubes()
	must(t, err)
	must(t, c.Close())
}

func TestTubes(t *testing.T) {
	c := inTube(t, oddTube)
	id := put(t, c, "body", 0, 0, time.Minute)
	tubes, err := c.ListTubes()
	must(t, err)
	if !slices.Contains(tubes, "default") || !slices.Contains(tubes, oddTube) {
		t.Errorf("tubes %q, want default and %s", tubes, oddTube)
	}
	reserve(t, c, id, "body")
	must(t, c.Delete(id))

	// Several tubes at once: the most urgent job of all comes first.
	for i, name := range []string{"go-a", "go-b", "go-c"} {
		tube := beanstalk.NewTube(c, name)
		_, err := tube.Put([]byte(name), uint32(10-i), 0, time.Minute)
		must(t, err)
	}
	set := beanstalk.NewTubeSet(c, "go-a", "go-b", "go-c")
	for _, want := range []string{"go-c", "go-b", "go-a"} {
		id, body, err := set.Reserve(0)
		must(t, err)
		if string(body) != want {
			t.Errorf("reserved %q, want %q", body, want)
		}
		must(t, c.Delete(id))
	}
}

func TestPeekAndKick(t *testing.T) {
	c := inTube(t, "go-peek")
	ready := put(t, c, "ready", 0, 0, time.Minute)
	delayed := put(t, c, "delayed", 0, time.Minute, time.Minute)
	check := func(name string, wantID uint64, wantBody string, peek func() (uint64, []byte, error)) {
		t.Helper()
		if id, body, err := peek(); err != nil || id != wantID || string(body) != wantBody {
			t.Errorf("%s: %d, %q, %v; want %d, %q", name, id, body, err, wantID, wantBody)
		}
	}
	check("peek-ready", ready, "ready", c.PeekReady)
	check("peek-delayed", delayed, "delayed", c.PeekDelayed)
	reserve(t, c, ready, "ready")
	must(t, c.Touch(ready))
	must(t, c.Bury(ready, 5))
	check("peek-buried", ready, "ready", c.PeekBuried)
	if body, err := c.Peek(ready); err != nil || string(body) != "ready" {
		t.Errorf("peek: %q, %v", body, err)
	}

	// Buried jobs are kicked before delayed ones, never both at once.
	for _, want := range []int{1, 1, 0} {
		if n, err := c.Kick(10); err != nil || n != want {
			t.Errorf("kicked %d, %v; want %d", n, err, want)
		}
	}
	if body, err := c.ReserveJob(delayed); err != nil || string(body) != "delayed" {
		t.Errorf("reserve-job: %q, %v", body, err)
	}
	must(t, c.Release(delayed, 0, 0))
	reserve(t, c, delayed, "delayed")
}

func TestBodies(t *testing.T) {
	c := inTube(t, "go-bodies")
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for _, body := range []string{
		"", "\r\n", "\r\nRESERVED 1 1\r\nb\r\n", string(every), strings.Repeat(string(every), 255), strings.Repeat("\xff", 65535),
	} {
		id := put(t, c, body, 0, 0, time.Minute)
		if got, err := c.Peek(id); err != nil || string(got) != body {
			t.Errorf("peek of %d bytes: %d bytes, %v", len(body), len(got), err)
		}
		reserve(t, c, id, body)
		must(t, c.Delete(id))
	}
}

func TestErrors(t *testing.T) {
	c := inTube(t, "go-errors")
	const none = 1<<64 - 1
	ignore2 := func(_ any, err error) error { return err }
	ignore3 := func(_, _ any, err error) error { return err }
	peek := func(f func() (uint64, []byte, error)) error { _, _, err := f(); return err }
	missing := map[string]error{
		"delete": c.Delete(none), "release": c.Release(none, 0, 0), "bury": c.Bury(none, 0), "touch": c.Touch(none),
		"kick-job": c.KickJob(none), "peek": ignore2(c.Peek(none)), "reserve-job": ignore2(c.ReserveJob(none)),
		"stats-job": ignore2(c.StatsJob(none)), "peek-ready": peek(c.PeekReady), "peek-delayed": peek(c.PeekDelayed),
		"peek-buried": peek(c.PeekBuried),
		"stats-tube":  ignore2(beanstalk.NewTube(c, "go-none").Stats()),
		"pause-tube":  beanstalk.NewTube(c, "go-none").Pause(time.Second),
	}
	for verb, err := range missing {
		want(t, verb, err, beanstalk.ErrNotFound)
	}
	want(t, "reserve", ignore3(c.Reserve(0)), beanstalk.ErrTimeout)
	want(t, "put", ignore2(c.Put(make([]byte, 65536), 0, 0, time.Minute)), beanstalk.ErrJobTooBig)

	// The library lets a leading dash pass. What it reads is the answer to
	// use; that to peek-ready stays behind, so the connection is done with.
	want(t, "use", peek(beanstalk.NewTube(c, "-dash").PeekReady), beanstalk.ErrBadFormat)

	c = inTube(t, "go-errors")
	id := put(t, c, "short", 0, 0, time.Second)
	reserve(t, c, id, "short")
	want(t, "reserve", ignore3(c.Reserve(5*time.Second)), beanstalk.ErrDeadline)
	must(t, c.Delete(id))

	// An empty set makes the library ignore the last tube.
	c.TubeSet = *beanstalk.NewTubeSet(c)
	want(t, "ignore", ignore3(c.Reserve(0)), beanstalk.ErrNotIgnored)
}

func want(t *testing.T, verb string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", verb, err, want)
	}
}

// TestWaiting has a worker wait for a job, let its time run out, and lose it.
func TestWaiting(t *testing.T) {
	worker, producer := inTube(t, "go-wait"), inTube(t, "go-wait")
	got := make(chan error, 1)
	go func() {
		_, _, err := worker.Reserve(10 * time.Second)
		got <- err
	}()
	await(t, producer, "current-waiting", "1")
	id := put(t, producer, "now", 0, 0, time.Second)
	must(t, <-got)
	if isReference(t, producer) {
		// beanstalkd 1.12 now and then loses the timer of a connection when
		// those of others run out at about the same time, until that
		// connection is heard of again.
		time.Sleep(1200 * time.Millisecond)
		_, err := worker.ListTubes()
		must(t, err)
	}
	reserve(t, producer, id, "now")
	want(t, "touch", worker.Touch(id), beanstalk.ErrNotFound)
	stats, err := producer.StatsJob(id)
	must(t, err)
	if stats["timeouts"] != "1" {
		t.Errorf("timeouts: %s, want 1", stats["timeouts"])
	}

	// A connection that closes gives back its jobs.
	must(t, producer.Close())
	reserve(t, worker, id, "now")
	must(t, worker.Delete(id))
}

// TestDrainingAndCoverage is the last test: beanstalkd cannot leave drain
// mode, and only now has every command been sent that will be.
func TestDrainingAndCoverage(t *testing.T) {
	c := inTube(t, "go-drain")
	signal(t, c, syscall.SIGUSR1)
	await(t, c, "draining", "true")
	_, err := c.Put([]byte("refused"), 0, 0, time.Minute)
	want(t, "put", err, beanstalk.ErrDraining)
	if !isReference(t, c) {
		signal(t, c, syscall.SIGUSR2)
		await(t, c, "draining", "false")
		must(t, c.Delete(put(t, c, "accepted", 0, 0, time.Minute)))
	}
	checkCoverage(t)
}
