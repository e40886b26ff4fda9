package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// stocked makes a store of three jobs, one of each state, and a pause.
func stocked(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	now := queue.Instant(time.Now().UnixNano())
	job := func(id protocol.JobID, state queue.State, body string) queue.SavedJob {
		r := queue.Record{ID: id, Tube: "mail", State: state, Size: uint32(len(body)), TTR: time.Minute, Created: now}
		if state == queue.Delayed {
			r.Due = now + queue.Instant(time.Hour)
		}
		return queue.SavedJob{Record: r, Body: []byte(body), Fresh: true}
	}
	err = s.Commit(&queue.Changes{
		Saved:  []queue.SavedJob{job(1, queue.Ready, "one"), job(2, queue.Delayed, "two"), job(4, queue.Buried, "")},
		Paused: []queue.PauseRecord{{Tube: "mail", Length: time.Hour, Resume: now + queue.Instant(time.Hour)}},
		NextID: 5, Urgent: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// checked checks a store and returns what it finds.
func checked(t *testing.T, dir string) (Findings, []string) {
	t.Helper()
	var faults []string
	found, err := Check(Options{Dir: dir}, Watch{
		Fault:    func(f Fault) { faults = append(faults, f.String()) },
		Progress: func(string, int64, int64) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	if found.Faults != len(faults) {
		t.Errorf("%d faults are counted and %d told", found.Faults, len(faults))
	}
	return found, faults
}

func TestCheckSound(t *testing.T) {
	dir := t.TempDir()
	if err := stocked(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	found, faults := checked(t, dir)
	if len(faults) > 0 {
		t.Errorf("faults in a sound store: %q", faults)
	}
	found.FileBytes = 0
	want := Findings{Ready: 1, Delayed: 1, Buried: 1, Tubes: 1, Pauses: 1, BodyBytes: 6, Next: 5}
	if found != want {
		t.Errorf("found %+v, want %+v", found, want)
	}
}

// TestCheckFaults writes what no server would, in ways that no checksum sees.
func TestCheckFaults(t *testing.T) {
	key := func(prefix byte, id protocol.JobID) []byte { return jobKey(nil, prefix, id) }
	for name, test := range map[string]struct {
		do   func(b *pebble.Batch) error
		want []string
	}{
		"body without a job": {
			func(b *pebble.Batch) error { return b.Set(key(bodyPrefix, 3), []byte("x"), nil) },
			[]string{"job 3: the store is damaged: there is a body of 1 bytes and no job"},
		},
		"body of the last job": {
			func(b *pebble.Batch) error { return b.Set(key(bodyPrefix, 9), []byte("x"), nil) },
			[]string{"job 9: the store is damaged: there is a body of 1 bytes and no job"},
		},
		"missing body": {
			func(b *pebble.Batch) error { return b.Delete(key(bodyPrefix, 1), nil) },
			[]string{"job 1: the store is damaged: its body of 3 bytes is missing"},
		},
		"short body": {
			func(b *pebble.Batch) error { return b.Set(key(bodyPrefix, 2), []byte("tw"), nil) },
			[]string{"job 2: the store is damaged: its body has 2 bytes instead of 3"},
		},
		"two headers": {
			func(b *pebble.Batch) error {
				return errors.Join(b.Set(key(headerPrefix, 1), []byte("z"), nil), b.Set(key(headerPrefix, 2), nil, nil))
			},
			[]string{
				"job 1: the store is damaged: the header of job 1 ends early",
				"job 2: the store is damaged: the header of job 2 is empty",
			},
		},
		"next id": {
			func(b *pebble.Batch) error { return b.Set(nextKey, binary.BigEndian.AppendUint64(nil, 4), nil) },
			[]string{"db: the store is damaged: the next job would be 4, and there is a job 4"},
		},
		"no next id": {
			func(b *pebble.Batch) error { return b.Delete(nextKey, nil) },
			[]string{"db: the store is damaged: the next job would be 0, and there is a job 4"},
		},
		"pause": {
			func(b *pebble.Batch) error { return b.Set(pauseKey(nil, "mail"), []byte{1}, nil) },
			[]string{`tube "mail": the store is damaged: the pause of tube "mail" cannot be read`},
		},
		"keys": {
			func(b *pebble.Batch) error {
				return errors.Join(b.Set([]byte("hx"), nil, nil), b.Set([]byte("what"), nil, nil))
			},
			[]string{`db: there is a key "what", which has no meaning`, `db: the store is damaged: key "hx" names no job`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := stocked(t, dir)
			b := s.db.NewBatch()
			err := errors.Join(test.do(b), s.db.Apply(b, pebble.Sync), b.Close(), s.Close())
			if err != nil {
				t.Fatal(err)
			}
			if _, faults := checked(t, dir); !slices.Equal(faults, test.want) {
				t.Errorf("faults\n%s\nwant\n%s", strings.Join(faults, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

// TestCheckpointCopy: what a checkpoint is made of has everything up to then and nothing from then on, can be read while the store
// is in use, and survives being copied.
func TestCheckpointCopy(t *testing.T) {
	work := t.TempDir()
	dir, checkpoint, target := filepath.Join(work, "store"), filepath.Join(work, "checkpoint"), filepath.Join(work, "copy")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := stocked(t, dir)
	defer s.Close()
	if err := s.Checkpoint(checkpoint); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(&queue.Changes{Deleted: []protocol.JobID{1, 2, 4}, NextID: 5, Urgent: true}); err != nil {
		t.Fatal(err)
	}
	done, total := int64(0), int64(0)
	if err := Copy(checkpoint, target, func(d, t int64) { done, total = d, t }); err != nil {
		t.Fatal(err)
	}
	if done < total || total == 0 {
		t.Errorf("progress ended at %d of %d bytes", done, total)
	}
	for _, dir := range []string{checkpoint, target} {
		found, faults := checked(t, dir)
		if len(faults) > 0 || found.Ready+found.Delayed+found.Buried != 3 {
			t.Errorf("%s: %+v, faults %q", dir, found, faults)
		}
	}
	if err := Copy(checkpoint, target, nil); !errors.Is(err, ErrOccupied) {
		t.Errorf("copying over a copy: %v, want %v", err, ErrOccupied)
	}
	if err := s.Checkpoint(target); err == nil {
		t.Error("a checkpoint is made over a copy")
	}
}

// TestCopyFailed: a copy that cannot be completed leaves nothing that could be taken for a store, and no rubbish.
func TestCopyFailed(t *testing.T) {
	work := t.TempDir()
	from, target := filepath.Join(work, "from"), filepath.Join(work, "target")
	if err := os.MkdirAll(filepath.Join(from, database), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(from, database, "000001.sst"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Copy(from, target, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("copying a store without FORMAT: %v", err)
	}
	if _, err := os.Stat(target); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is left behind: %v", err)
	}
	if err := os.Mkdir(target, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Copy(from, target, nil); err == nil {
		t.Error("copying a store without FORMAT succeeds")
	}
	if names, err := os.ReadDir(target); err != nil || len(names) > 0 {
		t.Errorf("left behind: %v (%v)", names, err)
	}
	if err := os.Mkdir(filepath.Join(target, partial), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: target}); !errors.Is(err, ErrForeign) {
		t.Errorf("opening a copy that was cut off: %v, want %v", err, ErrForeign)
	}
}

// TestReadOnly: who only reads changes nothing, keeps no other reader out, and keeps writers out.
func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	if err := stocked(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	before := listing(t, dir)
	s, err := Open(Options{Dir: dir, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if body, err := s.Body(1, 3); err != nil || string(body) != "one" {
		t.Errorf("the body of job 1 is %q (%v)", body, err)
	}
	if err := s.Commit(&queue.Changes{Deleted: []protocol.JobID{1}, Urgent: true}); err == nil {
		t.Error("a store that is open for reading only takes a change")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if after := listing(t, dir); after != before {
		t.Errorf("reading has changed the directory from\n%sto\n%s", before, after)
	}
}

func listing(t *testing.T, dir string) string {
	t.Helper()
	var list strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			fmt.Fprintln(&list, path, info.Size(), info.Mode(), info.ModTime())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list.String()
}
