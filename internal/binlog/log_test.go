package binlog

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// script is a log in two files with everything that beanstalkd writes: puts, a
// burial, a kick, a release with delay, deletions, a copy of a job out of a file
// that is gone.
func script(version uint32) map[string][]byte {
	due := created.Add(time.Hour)
	kicked := put(4, "mail", "kicked").as(buried)
	kicked.buries = 1
	released := put(5, "default", "released")
	first := newLogFile(version).
		full(put(1, "default", "one")).
		full(put(2, "mail", "")).
		full(put(3, "mail", "binary \x00\r\n\xff")).
		full(kicked.as(ready)).
		full(released).
		short(kicked)
	kicked.kicks, kicked.state = 1, ready
	released.state, released.delay, released.deadline, released.priority = delayed, 3600*time.Second, due, 7
	released.reserves, released.timeouts, released.releases = 3, 1, 2
	copied := put(6, "mail", "copied").as(buried)
	copied.deadline = created.Add(time.Minute)
	second := newLogFile(version).
		short(put(9, "", "gone with its file").as(deleted)).
		short(kicked).
		short(put(3, "mail", "binary \x00\r\n\xff").as(buried)).
		short(released).
		short(put(1, "", "one").as(deleted)).
		full(copied).
		full(put(7, "mail", "held").as(reserved)).
		zeros(500)
	return map[string][]byte{"binlog.9": first.data, "binlog.10": second.data, "binlog.abc": []byte("not a log")}
}

func TestVersions(t *testing.T) {
	for _, version := range []uint32{5, 7} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			l := read(t, directory(t, script(version)))
			if len(l.Gaps)+len(l.Lost) > 0 {
				t.Errorf("gaps %v, lost %v", l.Gaps, l.Lost)
			}
			if l.NextID != 10 {
				t.Errorf("the next id is %d, want 10", l.NextID)
			}
			if diff := gocmp.Diff([]string{"binlog.9", "binlog.10"}, l.Files); diff != "" {
				t.Error(diff)
			}
			job := func(id protocol.JobID, tube string, size uint32, s queue.State) queue.Record {
				return queue.Record{
					ID: id, Tube: tube, Size: size, State: s, Priority: protocol.Priority(100 + id), TTR: time.Minute,
					Created: queue.Instant(putAt(uint64(id)).UnixNano()),
				}
			}
			two, three, four := job(2, "mail", 0, queue.Ready), job(3, "mail", 11, queue.Buried), job(4, "mail", 6, queue.Ready)
			five, six, seven := job(5, "default", 8, queue.Delayed), job(6, "mail", 6, queue.Buried), job(7, "mail", 4, queue.Ready)
			four.Buries, four.Kicks = 1, 1
			five.Priority, five.Delay, five.Due = 7, time.Hour, queue.Instant(created.Add(time.Hour).UnixNano())
			five.Reserves, five.Timeouts, five.Releases = 3, 1, 2
			six.Burial, three.Burial = 1, 2
			var got []queue.Record
			for _, j := range l.Jobs {
				got = append(got, j.Record)
			}
			if diff := gocmp.Diff([]queue.Record{two, three, four, five, six, seven}, got); diff != "" {
				t.Error(diff)
			}
			want := map[protocol.JobID]string{2: "", 3: "binary \x00\r\n\xff", 4: "kicked", 5: "released", 6: "copied", 7: "held"}
			if diff := gocmp.Diff(want, bodies(t, l)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestBurialOrder: short records of burials count in their order, whatever the
// ids and the copies that compaction makes; what is only there as a copy was
// buried before.
func TestBurialOrder(t *testing.T) {
	grave := func(id uint64, taken time.Duration) entry {
		e := put(id, "graves", "x").as(buried)
		e.deadline = created.Add(taken + e.ttr)
		return e
	}
	f := newLogFile(7)
	for id := uint64(1); id <= 3; id++ {
		f.full(put(id, "graves", "x"))
	}
	f.short(grave(3, 10)).short(grave(1, 11)).short(grave(2, 12))
	f.full(grave(8, 5)).full(grave(1, 11)).full(grave(9, 4)) // copies
	f.short(grave(3, 20))                                    // taken by reserve-job and buried again
	l := read(t, directory(t, map[string][]byte{"binlog.1": f.data}))
	slices.SortFunc(l.Jobs, func(a, b Job) int { return cmp.Compare(a.Burial, b.Burial) })
	var order []protocol.JobID
	for _, j := range l.Jobs {
		order = append(order, j.ID)
	}
	if diff := gocmp.Diff([]protocol.JobID{9, 8, 1, 2, 3}, order); diff != "" {
		t.Error(diff)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name string
		dir  string
		want error
	}{
		{"empty", t.TempDir(), ErrNoLog},
		{"missing", filepath.Join(t.TempDir(), "no"), os.ErrNotExist},
		{"other files", directory(t, map[string][]byte{"binlog.x": nil, "binlog.": nil, "binlog.-1": nil, "log.1": nil}), ErrNoLog},
	} {
		l, err := Open(c.dir, nil)
		if !errors.Is(err, c.want) || l != nil || !strings.Contains(err.Error(), c.dir) {
			t.Errorf("%s: %v, want %v and the directory's name", c.name, err, c.want)
		}
	}
}

// TestUntouched: a directory is as it was after it has been read.
func TestUntouched(t *testing.T) {
	dir := directory(t, script(7))
	if err := os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before := stamp(t, dir)
	bodies(t, read(t, dir))
	if diff := gocmp.Diff(before, stamp(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func stamp(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = fmt.Sprintf("%v %v %q", info.Mode(), info.ModTime().UnixNano(), data)
	}
	return all
}

func TestProgress(t *testing.T) {
	f := newLogFile(7)
	for id := range uint64(60) {
		f.full(put(id+1, "default", strings.Repeat("x", 65535)))
	}
	var told []int64
	l, err := Open(directory(t, map[string][]byte{"binlog.1": f.data}), func(done, total int64) {
		if total != int64(len(f.data)) || done > total {
			t.Errorf("%d of %d, the log has %d", done, total, len(f.data))
		}
		told = append(told, done)
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(told) != 3 || !slices.IsSorted(told) {
		t.Errorf("told %v, want one call a MiB", told)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
