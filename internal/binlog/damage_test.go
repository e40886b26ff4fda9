package binlog

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/haricotq/haricot/internal/protocol"
)

// several is a file of five jobs and two changes.
func several(version uint32) (f *logFile, begins []int) {
	f = newLogFile(version)
	for id := range uint64(5) {
		begins = append(begins, len(f.data))
		f.full(put(id+1, "tube", fmt.Sprintf("body %d of no great length", id+1)))
	}
	begins = append(begins, len(f.data))
	f.short(put(2, "tube", "body 2 of no great length").as(buried))
	begins = append(begins, len(f.data))
	f.short(put(4, "tube", "body 4 of no great length").as(deleted))
	return f, begins
}

// findings are what can be told of a log once it is closed.
type findings struct {
	*Log
	bodies map[protocol.JobID]string
}

// specimen is a directory with one file, which can be changed and read again and again.
type specimen struct {
	dir string
	*os.File
}

func newSpecimen(t testing.TB, data []byte) specimen {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "binlog.1"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // What matters has been read by then.
	s := specimen{dir, f}
	s.write(t, data, 0)
	return s
}

func (s specimen) write(t testing.TB, data []byte, at int) {
	t.Helper()
	if _, err := s.WriteAt(data, int64(at)); err != nil {
		t.Fatal(err)
	}
}

func (s specimen) cut(t testing.TB, size int) {
	t.Helper()
	if err := s.Truncate(int64(size)); err != nil {
		t.Fatal(err)
	}
}

func (s specimen) examine(t testing.TB) findings {
	t.Helper()
	l, err := Open(s.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := findings{l, bodies(t, l)}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestLargestBodies: beanstalkd rejects its two largest sizes at a restart, and
// what follows them.
func TestLargestBodies(t *testing.T) {
	f := newLogFile(7)
	for i, size := range []int{65533, 65534, 65535, 1 << 20, 3} {
		f.full(put(uint64(i+1), "default", strings.Repeat("x", size)))
	}
	l := read(t, directory(t, map[string][]byte{"binlog.1": f.zeros(1000).data}))
	if len(l.Gaps) > 0 {
		t.Error(l.Gaps)
	}
	for i, want := range []int{65533, 65534, 65535, 1 << 20, 3} {
		if got := len(bodies(t, l)[protocol.JobID(i+1)]); got != want {
			t.Errorf("job %d has %d bytes, want %d", i+1, got, want)
		}
	}
}

// TestTruncated cuts a file at every byte. Whole records before the cut are
// read, and what is cut is reported from the byte at which its record begins.
func TestTruncated(t *testing.T) {
	for _, version := range []uint32{5, 7} {
		f, begins := several(version)
		file := newSpecimen(t, f.data)
		ends := append(begins[1:], len(f.data))
		for cut := len(f.data); cut >= versionSize; cut-- {
			whole := 0
			for whole < len(ends) && ends[whole] <= cut {
				whole++
			}
			file.cut(t, cut)
			l := file.examine(t)
			if l.Records != whole {
				t.Fatalf("version %d cut at %d: %d records, want %d", version, cut, l.Records, whole)
			}
			last := versionSize
			if whole > 0 {
				last = ends[whole-1]
			}
			// A rest of zeros, as a record may begin with, is what a file ends with anyway.
			end := last + len(strings.TrimRight(string(f.data[last:cut]), "\x00"))
			blank := end == last
			switch {
			case blank && len(l.Gaps) > 0:
				t.Fatalf("version %d cut at %d: %v", version, cut, l.Gaps)
			case !blank && (len(l.Gaps) != 1 || l.Gaps[0].From != int64(last) || l.Gaps[0].To != int64(end)):
				t.Fatalf("version %d cut at %d: %v, want a gap from %d", version, cut, l.Gaps, last)
			}
		}
	}
}

// TestDamagedByte spoils every byte in turn. No other record suffers.
func TestDamagedByte(t *testing.T) {
	for _, version := range []uint32{5, 7} {
		f, begins := several(version)
		file := newSpecimen(t, f.data)
		want := file.examine(t).bodies
		for at := versionSize; at < len(f.data); at++ {
			hit := 0
			for hit+1 < len(begins) && begins[hit+1] <= at {
				hit++
			}
			for _, spoilt := range []byte{0, 1, 0xff} {
				file.write(t, []byte{spoilt}, at)
				l := file.examine(t)
				got := l.bodies
				for id, body := range want {
					if int(id) != hit+1 && hit < 5 && got[id] != body {
						t.Fatalf("version %d, byte %d set to %d: job %d has body %q; gaps %v", version, at, spoilt, id, got[id], l.Gaps)
					}
				}
				// A later record about the same job may contradict what was spoilt unseen.
				of := []int{1, 2, 3, 4, 5, 2, 4}
				for _, g := range l.Gaps {
					if i := slices.Index(begins, int(g.From)); i < 0 || of[i] != of[hit] {
						t.Fatalf("version %d, byte %d set to %d: %v, but the record begins at %d", version, at, spoilt, g, begins[hit])
					}
				}
			}
			file.write(t, f.data[at:at+1], at)
		}
	}
}

// TestHole: zeros in the middle, as a system leaves them that lost its power.
func TestHole(t *testing.T) {
	f, begins := several(7)
	clear(f.data[begins[1]-10 : begins[3]+20])
	l := read(t, directory(t, map[string][]byte{"binlog.1": f.data}))
	want := []string{
		fmt.Sprintf("binlog.1, bytes %d to %d: the body of job 1 in tube tube does not end where it should", begins[0], begins[4]),
	}
	var got []string
	for _, g := range l.Gaps {
		got = append(got, g.String())
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := gocmp.Diff(map[protocol.JobID]string{5: "body 5 of no great length"}, bodies(t, l)); diff != "" {
		t.Error(diff)
	}
	wantLost := []Lost{{2, "binlog.1", int64(begins[5])}} // its burial is there, its body is not
	if diff := gocmp.Diff(wantLost, l.Lost); diff != "" {
		t.Error(diff)
	}

	f, begins = several(7)
	clear(f.data[begins[2]:begins[3]])
	l = read(t, directory(t, map[string][]byte{"binlog.1": f.data}))
	if len(l.Gaps) != 1 || l.Gaps[0] != (Gap{"binlog.1", int64(begins[2]), int64(begins[3]), "zeros stand in the middle of the records"}) {
		t.Errorf("gaps %v", l.Gaps)
	}
	if len(l.Jobs) != 3 {
		t.Errorf("%d jobs, want 1, 2 and 5", len(l.Jobs))
	}
}

// TestOtherFiles: a file that cannot be read as a whole does not keep the others
// from being read.
func TestOtherFiles(t *testing.T) {
	good, _ := several(7)
	l := read(t, directory(t, map[string][]byte{
		"binlog.1": newLogFile(6).full(put(50, "x", "x")).data,
		"binlog.2": {0, 0, 0, 7, 1},
		"binlog.3": make([]byte, 4096), // ended between making and writing
		"binlog.4": {7, 0},
		"binlog.5": {},
		"binlog.6": good.data,
	}))
	want := []Gap{
		{"binlog.1", 0, 92, "its version is 6; known are 5 and 7"},
		{"binlog.2", 0, 5, "it was written on a big-endian machine"},
		{"binlog.4", 0, 2, "it ends within the number of its version"},
	}
	if diff := gocmp.Diff(want, l.Gaps); diff != "" {
		t.Error(diff)
	}
	if len(l.Jobs) != 4 {
		t.Errorf("%d jobs, want 4", len(l.Jobs))
	}
}

// TestChangedSize: a record that contradicts an earlier one is not believed.
func TestChangedSize(t *testing.T) {
	f := newLogFile(7).full(put(1, "default", "four"))
	at := int64(len(f.data))
	f.short(put(1, "", "longer").as(buried)).full(put(2, "default", "next"))
	l := read(t, directory(t, map[string][]byte{"binlog.1": f.data}))
	want := []Gap{{"binlog.1", at, at + 84, "the body of job 1 would have changed from 4 to 6 bytes"}}
	if diff := gocmp.Diff(want, l.Gaps); diff != "" {
		t.Error(diff)
	}
	if len(l.Jobs) != 2 || l.Jobs[0].Burial != 0 {
		t.Errorf("jobs %v", l.Jobs)
	}
}

// FuzzOpen: whatever stands in a file, it is read to its end, and all jobs that
// are found have bodies.
func FuzzOpen(f *testing.F) {
	for _, version := range []uint32{5, 7} {
		for _, data := range script(version) {
			f.Add(data)
		}
		file, begins := several(version)
		clear(file.data[begins[1]:begins[2]])
		f.Add(file.data)
	}
	file := newSpecimen(f, nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		file.cut(t, 0)
		file.write(t, data, 0)
		l := file.examine(t)
		end := int64(0)
		for _, g := range l.Gaps {
			if g.From < end || g.To <= g.From || g.To > int64(len(data)) {
				t.Errorf("gaps %v in %d bytes", l.Gaps, len(data))
			}
			end = g.To
		}
	})
}
