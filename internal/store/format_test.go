package store

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/haricotq/haricot/internal/queue"
)

var update = flag.Bool("update", false, "record testdata/format-N.txt and testdata/store-N anew, for a new version N")

// The layout is fixed by two recordings of each version: what every key and
// value is, as text, and a directory as that version left it. A version that has
// been released is never recorded again.
var (
	layoutFile  = fmt.Sprintf("testdata/format-%d.txt", formatVersion)
	layoutStore = fmt.Sprintf("testdata/store-%d", formatVersion)
)

// samples are jobs and pauses that use all of the layout.
func samples() *queue.Changes {
	const hour, most = time.Hour, (1<<32 - 1) * time.Second
	at := func(seconds int) queue.Instant { return morning + queue.Instant(seconds)*queue.Instant(time.Second) }
	job := func(body string, r queue.Record) queue.SavedJob {
		r.Size = uint32(len(body))
		return queue.SavedJob{Record: r, Body: []byte(body), Fresh: true}
	}
	return &queue.Changes{
		Saved: []queue.SavedJob{
			job("", queue.Record{ID: 1, Tube: "default", State: queue.Ready, TTR: time.Second, Created: at(0)}),
			job("hello", queue.Record{ID: 2, Tube: "default", State: queue.Ready, Priority: 1024, TTR: time.Minute, Created: at(1)}),
			job("\x00\xff\r\n", queue.Record{ID: 3, Tube: "mail", State: queue.Delayed, Priority: 7, Delay: hour, TTR: hour, Created: at(2), Due: at(3602)}),
			job("first", queue.Record{ID: 256, Tube: "mail", State: queue.Buried, TTR: time.Minute, Created: at(3), Burial: 300, Reserves: 1, Buries: 1}),
			job("second", queue.Record{ID: 255, Tube: "mail", State: queue.Buried, TTR: time.Minute, Created: at(4), Burial: 301, Reserves: 5, Timeouts: 4, Releases: 3, Buries: 2, Kicks: 1}),
			job("most", queue.Record{
				ID: 1 << 40, Tube: strings.Repeat("t", 200), State: queue.Delayed, Priority: 1<<32 - 1, Delay: most, TTR: most, Created: at(5),
				Due: at(5) + queue.Instant(most), Reserves: 1<<32 - 1, Timeouts: 1<<32 - 1, Releases: 1<<32 - 1, Buries: 1<<32 - 1, Kicks: 1<<32 - 1,
			}),
		},
		Paused: []queue.PauseRecord{{Tube: "mail", Length: hour, Resume: at(3600)}, {Tube: "default", Length: most, Resume: at(0) + queue.Instant(most)}},
		NextID: 1<<40 + 1,
		Urgent: true,
	}
}

// writeSamples makes a store with the samples in a directory.
func writeSamples(t *testing.T, options Options) {
	t.Helper()
	s, err := Open(options)
	if err == nil {
		err = errors.Join(s.Commit(samples()), s.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// checkSamples sees to it that a store has the samples.
func checkSamples(t *testing.T, s *Store) {
	t.Helper()
	want := newLedger()
	for _, j := range samples().Saved {
		want.jobs[j.ID] = known{Record: j.Record, Body: string(j.Body)}
	}
	for _, p := range samples().Paused {
		want.pauses[p.Tube] = p
	}
	if diff := want.difference(stored(t, s, morning)); diff != "" {
		t.Errorf("the jobs are not as they were written (-want +got):\n%s", diff)
	}
	if next, err := s.NextID(); err != nil || next != samples().NextID {
		t.Errorf("the next id is %d, %v", next, err)
	}
	checkMachine(t, s, want, morning)
}

// layout writes all that is in the database as text.
func layout(t *testing.T, s *Store) string {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "# All keys and values of the samples in format %d, in hexadecimal; before each\n# pair stands what of it can be read.\n", formatVersion)
	it, err := s.db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for valid := it.First(); valid; valid = it.Next() {
		fmt.Fprintf(&text, "\n# %q %.60q\n%x\n%x\n", it.Key(), it.Value(), it.Key(), it.Value())
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// TestLayoutIsWritten fails when the bytes in the database have changed. Then
// the version must be raised, and the older ones still be read.
func TestLayoutIsWritten(t *testing.T) {
	dir := t.TempDir()
	if *update {
		if err := os.RemoveAll(layoutStore); err != nil {
			t.Fatal(err)
		}
		dir = layoutStore
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	writeSamples(t, Options{Dir: dir})
	s, err := Open(Options{Dir: dir, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got := layout(t, s)
	if *update {
		if err := os.Remove(filepath.Join(dir, ballastFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if err := os.WriteFile(layoutFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(layoutFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), got); diff != "" {
		t.Errorf("format %d is written differently now: this needs a new version (-want +got):\n%s", formatVersion, diff)
	}
	text, err := os.ReadFile(filepath.Join(dir, formatFile))
	if err != nil || string(text) != fmt.Sprintf("haricot store %d\n", formatVersion) {
		t.Errorf("FORMAT holds %q, %v", text, err)
	}
}

// TestLayoutsAreRead brings back the samples from the text of every version.
func TestLayoutsAreRead(t *testing.T) {
	files, err := filepath.Glob("testdata/format-*.txt")
	if err != nil || len(files) != formatVersion {
		t.Fatalf("%d versions are recorded of %d: %v", len(files), formatVersion, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			s, err := Open(Options{Dir: "/data", FS: newMemory(t)})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var key []byte
			for line := range bytes.Lines(text) {
				line = bytes.TrimSuffix(line, []byte("\n"))
				if bytes.HasPrefix(line, []byte("#")) || len(line) == 0 && key == nil {
					continue
				}
				raw, err := hex.DecodeString(string(line))
				if err == nil && key != nil {
					err = s.db.Set(key, raw, pebble.NoSync)
					raw = nil
				}
				if err != nil {
					t.Fatal(err)
				}
				key = raw
			}
			checkSamples(t, s)
		})
	}
}

// TestStoresAreRead opens a directory as every version left it.
func TestStoresAreRead(t *testing.T) {
	stores, err := filepath.Glob("testdata/store-*")
	if err != nil || len(stores) != formatVersion {
		t.Fatalf("%d versions are recorded of %d: %v", len(stores), formatVersion, err)
	}
	for _, dir := range stores {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			mine := t.TempDir()
			if err := os.CopyFS(mine, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			before := contents(t, mine)
			s, err := Open(Options{Dir: mine, ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			checkSamples(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(before, contents(t, mine)); diff != "" {
				t.Errorf("reading has changed the directory:\n%s", diff)
			}
			if s, err = Open(Options{Dir: mine}); err != nil {
				t.Fatal(err)
			}
			checkSamples(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// contents lists all files below a directory with their bytes and times.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil || d.IsDir() {
			files[path] = "directory"
			return err
		}
		text, err := os.ReadFile(path)
		files[path] = fmt.Sprintf("%v %v %q", info.Mode(), info.ModTime(), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestHeaderGarbage(t *testing.T) {
	whole := appendHeader(nil, &samples().Saved[4].Record)
	for n := range len(whole) - len("mail") {
		if r, err := readHeader(9, whole[:n]); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "job 9") {
			t.Errorf("the first %d bytes of a header are read as %+v, %v", n, r, err)
		}
	}
	for _, garbage := range []string{"", "x", "r", "\xff\xff\xff", string(bytes.Repeat([]byte{0xff}, 50)), "x" + string(whole[1:])} {
		if r, err := readHeader(9, []byte(garbage)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%q is read as %+v, %v", garbage, r, err)
		}
	}
}

// FuzzHeader sees to it that what is read is what was written.
func FuzzHeader(f *testing.F) {
	for _, j := range samples().Saved {
		f.Add(appendHeader(nil, &j.Record))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		r, err := readHeader(1, p)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		again, err := readHeader(1, appendHeader(nil, &r))
		if err != nil || again != r {
			t.Fatalf("%+v is read again as %+v, %v", r, again, err)
		}
	})
}
