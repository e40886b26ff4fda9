package store

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/haricotq/haricot/internal/engine"
)

// fullDisk is a queue whose disk has just become full.
type fullDisk struct {
	*rig
	disk  *smallDisk
	store *Store
	jobs  int // that were acknowledged
}

const megabyte = 1 << 20

func fillDisk(t *testing.T) *fullDisk {
	t.Helper()
	disk := newSmallDisk(newMemory(t), 400*megabyte)
	s, err := Open(Options{Dir: "/data", FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	// The disk is looked at when the test says so.
	s.disk.stop()
	s.work.Wait()
	s.disk.look()
	if !exists(disk, "/data/ballast") {
		t.Fatal("there is no ballast")
	}
	f := &fullDisk{rig: newRig(s, morning, engine.Limits{MaxJobSize: 2 * megabyte}), disk: disk, store: s}
	f.put(t)
	disk.occupy(0)
	for exists(disk, "/data/ballast") {
		// One of these meets the end of the disk, and must not be lost.
		if f.put(t); f.jobs > 1000 {
			t.Fatal("the disk does not fill")
		}
	}
	return f
}

func exists(fs vfs.FS, name string) bool {
	_, err := fs.Stat(name)
	return err == nil
}

func (f *fullDisk) put(t *testing.T) {
	t.Helper()
	f.jobs++
	if got, want := f.ask(t, "producer", put(1, 0, 60, strings.Repeat("x", megabyte))), fmt.Sprintf("INSERTED %d\r\n", f.jobs); got != want {
		t.Fatalf("put: %q, want %q", got, want)
	}
}

func TestFullDisk(t *testing.T) {
	f := fillDisk(t)
	defer f.engine.Release()
	refused := func() {
		t.Helper()
		if got := f.ask(t, "producer", put(0, 0, 60, "one more")); got != "OUT_OF_MEMORY\r\n" {
			t.Fatalf("put on a full disk: %q", got)
		}
		if got := f.ask(t, "producer", "stats-tube default\r\n"); !strings.Contains(got, fmt.Sprintf("total-jobs: %d\n", f.jobs)) {
			t.Fatalf("a refused put has left something: %q", got)
		}
	}
	refused()
	f.store.disk.look()
	refused()

	// Everything else goes on.
	for id := 1; id <= f.jobs; id++ {
		if got := f.ask(t, "worker", "reserve\r\n"); !strings.HasPrefix(got, fmt.Sprintf("RESERVED %d ", id)) {
			t.Fatalf("reserve: %.40q", got)
		}
		last := map[int]string{0: "delete %d", 1: "bury %d 7", 2: "release %d 9 1000"}[id%3]
		for _, say := range []string{"release %d 1 0", "reserve-job %d", "bury %d 3", "kick-job %d", "reserve-job %d", last} {
			if got := f.ask(t, "worker", fmt.Sprintf(say+"\r\n", id)); strings.Contains(got, "NOT_FOUND") || strings.Contains(got, "OUT_OF") {
				t.Fatalf(say+": %q", id, got)
			}
		}
	}
	refused()

	// There must be twice the ballast before puts are taken again.
	reserve := int64(f.store.disk.reserve)
	f.disk.occupy(reserve + reserve/2)
	f.store.disk.look()
	refused()
	f.disk.occupy(100 * megabyte)
	f.store.disk.look()
	if !exists(f.disk, "/data/ballast") {
		t.Error("the ballast is not there again")
	}
	reply := f.ask(t, "producer", put(0, 0, 60, "room again"))
	if !strings.HasPrefix(reply, "INSERTED ") {
		t.Fatalf("put with room again: %q", reply)
	}
	f.reopen(t)
}

// reopen sees to it that all is there after a restart.
func (f *fullDisk) reopen(t *testing.T) {
	t.Helper()
	if err := f.store.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(Options{Dir: "/data", FS: f.disk})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	found := stored(t, s, morning)
	want := 1 // the last
	for id := 1; id <= f.jobs; id++ {
		if id%3 != 0 {
			want++
		}
	}
	if len(found.jobs) != want {
		t.Errorf("%d jobs are there after the restart, want %d", len(found.jobs), want)
	}
	checkMachine(t, s, found, morning)
}

// TestStartOnFullDisk starts where the ballast of the last run is all the room
// that there is.
func TestStartOnFullDisk(t *testing.T) {
	disk := newSmallDisk(newMemory(t), 400*megabyte)
	s, err := Open(Options{Dir: "/data", FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	s.disk.look()
	r := newRig(s, morning, engine.Limits{})
	if got := r.ask(t, "producer", put(1, 0, 60, strings.Repeat("x", 500_000))); got != "INSERTED 1\r\n" {
		t.Fatal(got)
	}
	r.engine.Release()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	disk.occupy(0)
	if s, err = Open(Options{Dir: "/data", FS: disk}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r = newRig(s, morning, engine.Limits{})
	defer r.engine.Release()
	if _, err := r.engine.Recover(morning); err != nil {
		t.Fatal(err)
	}
	if got := r.ask(t, "worker", put(1, 0, 60, "no")); got != "OUT_OF_MEMORY\r\n" {
		t.Fatalf("put: %q", got)
	}
	if got := r.ask(t, "worker", "delete 1\r\n"); got != "DELETED\r\n" {
		t.Fatalf("delete: %q", got)
	}
}
