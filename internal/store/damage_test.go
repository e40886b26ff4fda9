package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haricotq/haricot/internal/engine"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// writeMany makes a store of which one half of the jobs is in tables and the
// other in the log, one job a turn, and leaves it as a killed process does. It
// returns the queue after every turn.
func writeMany(t *testing.T, dir string) []*ledger {
	t.Helper()
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	turns := []*ledger{newLedger()}
	random := rand.New(rand.NewPCG(3, 4))
	for id := protocol.JobID(1); id <= 60; id++ {
		body := make([]byte, 1000)
		for i := range body {
			body[i] = byte(random.Uint32()) // so that it cannot be compressed
		}
		job := queue.Record{ID: id, Tube: "default", State: queue.Ready, Size: 1000, TTR: 1e9, Created: morning}
		if err := s.Commit(&queue.Changes{Saved: []queue.SavedJob{{Record: job, Body: body, Fresh: true}}, NextID: id + 1, Urgent: true}); err != nil {
			t.Fatal(err)
		}
		if id == 30 {
			if err := s.db.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		now := turns[len(turns)-1].clone()
		now.jobs[id] = known{Record: job, Body: string(body)}
		turns = append(turns, now)
	}
	killed := t.TempDir()
	s.disk.stop()
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS(killed)); err != nil {
		t.Fatal(err)
	}
	return turns
}

// damage is something that happens to a file.
type damage struct {
	name string
	do   func(path string) error
}

func damages(size int64) []damage {
	list := []damage{
		{"deleted", os.Remove},
		{"emptied", func(path string) error { return os.Truncate(path, 0) }},
		{"cut by a byte", func(path string) error { return os.Truncate(path, max(0, size-1)) }},
		{"cut in half", func(path string) error { return os.Truncate(path, size/2) }},
	}
	for part := range int64(16) {
		at := size * part / 16
		list = append(list, damage{fmt.Sprintf("flipped at %d", at), func(path string) error {
			text, err := os.ReadFile(path)
			if err != nil || len(text) == 0 {
				return err
			}
			text[at] ^= 0x55
			return os.WriteFile(path, text, 0o644)
		}})
	}
	return list
}

// TestDamage damages every file of a store in many ways. It is refused, or
// everything is there and at most bodies cannot be read. The last log is the one
// place where damage may look like a crash: its end, or all of it if an older log
// is left to be used again. What is lost then is the end, and only that.
func TestDamage(t *testing.T) {
	whole := t.TempDir()
	turns := writeMany(t, whole)
	files, err := filepath.Glob(filepath.Join(whole, "db", "*"))
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, filepath.Join(whole, formatFile))
	lost := make(map[string]int)
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		file, _ := filepath.Rel(whole, file)
		for _, d := range damages(info.Size()) {
			t.Run(file+" "+d.name, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "data")
				if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
					t.Fatal(err)
				}
				if err := d.do(filepath.Join(dir, file)); err != nil {
					t.Fatal(err)
				}
				if n := lastTurn(t, dir, turns); n < len(turns)-1 {
					if !strings.HasSuffix(file, ".log") {
						t.Errorf("starts with %d jobs of %d", n, len(turns)-1)
					}
					lost[d.name] = n
				}
			})
		}
	}
	t.Logf("damage of the log that is taken for a crash, and how many of %d jobs are left: %v", len(turns)-1, lost)
}

// lastTurn opens a damaged store and finds the turn after which the queue was
// as it is now. It is the last one if the store is refused.
func lastTurn(t *testing.T, dir string, turns []*ledger) int {
	t.Helper()
	s, err := Open(Options{Dir: dir, Fatal: func(err error) { t.Errorf("fatal: %v", err); panic(fatal{err}) }})
	if err != nil {
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("refused, but not as damaged: %v", err)
		}
		return len(turns) - 1
	}
	defer func() {
		if err := s.Close(); err != nil && !errors.Is(damaged(err), ErrDamaged) {
			t.Errorf("closing: %v", err)
		}
	}()
	m := queue.New(queue.Config{Durable: true})
	defer m.Release()
	jobs, err := s.Recover(m.Restore(morning))
	if err != nil {
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("refused, but not as damaged: %v", err)
		}
		return len(turns) - 1
	}
	for id, j := range turns[jobs].jobs {
		body, err := s.Body(id, j.Size)
		if err == nil && string(body) != j.Body || err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("job %d is read as %.20q, %v", id, body, err)
		}
	}
	return jobs
}

// TestUnreadableBody has clients reserve and peek a job whose body is damaged:
// they are told, the job is buried, and the others are served.
func TestUnreadableBody(t *testing.T) {
	s, err := Open(Options{Dir: "/data", FS: newMemory(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := newRig(s, morning, engine.Limits{Memory: 1})
	defer r.engine.Release()
	for i := range 3 {
		r.ask(t, "test", put(i, 0, 60, fmt.Sprintf("body %d", i)))
	}
	// The first has no body any more, the second one of another size.
	b := s.db.NewBatch()
	err = errors.Join(b.Delete(jobKey(nil, bodyPrefix, 1), nil), b.Set(jobKey(nil, bodyPrefix, 2), []byte("x"), nil), s.db.Apply(b, nil))
	if err != nil {
		t.Fatal(err)
	}
	expect(t, r, "peek 1\r\n", "INTERNAL_ERROR\r\n")
	expect(t, r, "reserve\r\n", "INTERNAL_ERROR\r\n")
	expect(t, r, "reserve\r\n", "INTERNAL_ERROR\r\n")
	expect(t, r, "reserve\r\n", "RESERVED 3 6\r\nbody 2\r\n")
	if got := fmt.Sprint(r.unreadable); got != "[1 1 2]" {
		t.Errorf("jobs %s are reported as unreadable", got)
	}
	for _, id := range []int{1, 2} {
		if got := r.ask(t, "test", fmt.Sprintf("stats-job %d\r\n", id)); !strings.Contains(got, "state: buried\n") {
			t.Errorf("job %d: %q", id, got)
		}
	}
	found := make(map[protocol.JobID]queue.State)
	if err := s.Headers(func(r *queue.Record) error { found[r.ID] = r.State; return nil }); err != nil {
		t.Fatal(err)
	}
	if found[1] != queue.Buried || found[2] != queue.Buried {
		t.Errorf("the store has them as %v", found)
	}
	expect(t, r, "delete 1\r\n", "DELETED\r\n")
}
