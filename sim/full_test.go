package sim

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/wire"
)

// TestFullDisk fills up a small disk of each kind.
func TestFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("it mounts file systems")
	}
	t.Run("tmpfs", func(t *testing.T) {
		fillUp(t, mount(t, "-t", "tmpfs", "-o", "size=400M", "tmpfs"))
	})
	t.Run("ext4", func(t *testing.T) {
		image := filepath.Join(t.TempDir(), "image")
		if err := os.WriteFile(image, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(image, 400<<20); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("mkfs.ext4", "-q", "-F", "-m", "0", image).CombinedOutput(); err != nil {
			t.Skipf("there is no ext4 to be had: %v: %s", err, out)
		}
		fillUp(t, mount(t, "-o", "loop", image))
	})
}

// mount mounts a file system until the end of the test, if the system lets it.
func mount(t *testing.T, args ...string) string {
	t.Helper()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("only root can mount a file system, and on Linux")
	}
	dir := t.TempDir()
	if out, err := exec.Command("mount", append(args, dir)...).CombinedOutput(); err != nil {
		t.Skipf("mounting is not possible here: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir
}

// TestFullDiskEmptied fills a disk with few and large jobs. When they are deleted
// puts are taken again, though the deletes are too few to have anything tidied up
// for themselves.
func TestFullDiskEmptied(t *testing.T) {
	if testing.Short() {
		t.Skip("it fills a disk")
	}
	disk := mount(t, "-t", "tmpfs", "-o", "size=1500M", "tmpfs")
	dir := filepath.Join(disk, "store")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(disk, "before"), make([]byte, 1150<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	server, address := serve(t, dir, "-z", "1048576")
	defer func() {
		if t.Failed() {
			t.Logf("the server's log:\n%s", strings.Join(server.log, "\n"))
		}
	}()
	c := talk(t, address)
	body := numbered(1, 1<<20)
	put := func() bool {
		c.Put(0, 0, 60, body)
		return receive(t, c).Word == "INSERTED"
	}
	jobs := 0
	for put() {
		jobs++
	}
	if jobs < 20 {
		t.Fatalf("only %d jobs fit", jobs)
	}
	for id := range jobs {
		expect(t, c, "DELETED", "delete %d", id+1)
	}
	began := time.Now()
	for !put() {
		if time.Since(began) > patience {
			t.Fatalf("puts are still refused after %d jobs were deleted", jobs)
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Logf("a put was taken %v after %d jobs were deleted", time.Since(began).Round(time.Millisecond), jobs)
}

// crowd is a server on a small disk and the jobs that it must have.
type crowd struct {
	t      *testing.T
	dir    string // of the store
	other  string // a file beside it
	server *server
	conn   *wire.Conn
	jobs   map[uint64]int // what the body is numbered with
	puts   int
}

const crowdBody = 10_000

// fillUp takes a disk through all its troubles.
func fillUp(t *testing.T, disk string) {
	w := &crowd{t: t, dir: filepath.Join(disk, "store"), other: filepath.Join(disk, "other"), jobs: map[uint64]int{}}
	if err := os.Mkdir(w.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	// The disk is just large enough for the whole ballast; most of the rest is
	// taken from the start, so that there is less to fill.
	if err := os.WriteFile(filepath.Join(disk, "before"), make([]byte, 150<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	w.start()
	for w.put() {
		if w.puts > 1_000_000 {
			t.Fatal("no put is ever refused")
		}
	}
	t.Logf("%d jobs of %d bytes until the first was refused", w.puts, crowdBody)
	if len(w.jobs) < 100 {
		t.Fatalf("only %d jobs fit", len(w.jobs))
	}
	w.useUp(20)

	w.fillRest()
	w.useUp(len(w.jobs) / 4)
	w.rewrite(5000)
	w.see("with a full disk")
	_, err := os.Stat(filepath.Join(w.dir, "ballast"))
	t.Logf("the ballast is given up: %v", err != nil)

	w.server.kill()
	w.start()
	w.see("after a kill on a full disk")
	// The start has written what it read from logs into tables, and removed the
	// logs, so there may be room again.
	t.Logf("a put is taken then: %v", w.put())
	w.useUp(len(w.jobs) / 4)
	w.server.end(syscall.SIGTERM)
	if code := w.server.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("status %d after SIGTERM on a full disk: %s", code, w.server.log)
	}
	w.start()
	w.see("after a stop on a full disk")
	w.useUp(len(w.jobs) / 2)

	if err := os.Remove(w.other); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for !w.put() {
		if time.Since(began) > patience {
			t.Fatalf("puts are still refused, with room on the disk: %s", w.server.log)
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Logf("a put was taken %v after there was room", time.Since(began).Round(time.Millisecond))
	for range 200 {
		if !w.put() {
			break
		}
	}
	w.see("with room again")
	w.server.kill()
	w.start()
	w.see("in the end")
}

func (w *crowd) start() {
	w.t.Helper()
	var address string
	w.server, address = serve(w.t, w.dir)
	w.conn = talk(w.t, address)
}

// put puts a job and tells whether it was taken.
func (w *crowd) put() bool {
	w.t.Helper()
	w.puts++
	w.conn.Put(1000, 0, 100, numbered(w.puts, crowdBody))
	switch r := receive(w.t, w.conn); r.Word {
	case "INSERTED":
		w.jobs[uint64(r.ID())] = w.puts
		return true
	case "OUT_OF_MEMORY":
		return false
	default:
		w.t.Fatalf("put was answered %v", r)
		return false
	}
}

// useUp works as a worker does: n jobs are reserved and deleted, and more are
// given back, buried and kicked.
func (w *crowd) useUp(n int) {
	w.t.Helper()
	for range n {
		r := expect(w.t, w.conn, "RESERVED", "reserve-with-timeout 0")
		id := uint64(r.ID())
		if number, known := w.jobs[id]; !known || !bytes.Equal(r.Data, numbered(number, crowdBody)) {
			w.t.Fatalf("reserved %v, which is not there or another", r)
		}
		switch id % 8 {
		case 0:
			expect(w.t, w.conn, "RELEASED", "release %d 1001 0", id)
		case 1:
			expect(w.t, w.conn, "BURIED", "bury %d 1001", id)
			expect(w.t, w.conn, "KICKED", "kick-job %d", id)
		default:
			expect(w.t, w.conn, "DELETED", "delete %d", id)
			delete(w.jobs, id)
		}
	}
	stats(w.t, w.conn, "stats")
}

// rewrite changes jobs so often that the disk must take something.
func (w *crowd) rewrite(n int) {
	w.t.Helper()
	ids := slices.Sorted(maps.Keys(w.jobs))
	for i := range n {
		w.conn.Send("reserve-job %d", ids[i%len(ids)])
		w.conn.Send("release %d 1002 0", ids[i%len(ids)])
		if i%50 < 49 && i < n-1 {
			continue
		}
		for range i%50 + 1 {
			if r := receive(w.t, w.conn); r.Word != "RESERVED" {
				w.t.Fatalf("reserve-job was answered %v", r)
			}
			if r := receive(w.t, w.conn); r.Word != "RELEASED" {
				w.t.Fatalf("release was answered %v", r)
			}
		}
	}
}

// see compares the jobs that there are with those that must be.
func (w *crowd) see(when string) {
	w.t.Helper()
	if got := stats(w.t, w.conn, "stats")["current-jobs-ready"]; got != strconv.Itoa(len(w.jobs)) {
		w.t.Errorf("%s there are %s jobs instead of %d", when, got, len(w.jobs))
	}
	for id, number := range w.jobs {
		if r := expect(w.t, w.conn, "FOUND", "peek %d", id); !bytes.Equal(r.Data, numbered(number, crowdBody)) {
			w.t.Fatalf("%s job %d has another body", when, id)
		}
	}
}

// fillRest leaves not a byte.
func (w *crowd) fillRest() {
	w.t.Helper()
	f, err := os.Create(w.other)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	for chunk := make([]byte, 1<<20); len(chunk) > 0; {
		if _, err := f.Write(chunk); errors.Is(err, syscall.ENOSPC) {
			chunk = chunk[:len(chunk)/2]
		} else if err != nil {
			w.t.Fatal(err)
		}
	}
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.ENOSPC) {
		w.t.Fatal(err)
	}
}
