package store

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/engine"
)

// stale has the next Measures ask anew.
func (g *gauges) stale() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.asked = time.Time{}
}

func openDir(t testing.TB, options Options) *Store {
	t.Helper()
	options.Dir = t.TempDir()
	s, err := Open(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestMeasures puts jobs and compares what is measured with what was done and
// with what is in the directory.
func TestMeasures(t *testing.T) {
	s := openDir(t, Options{})
	before := s.Measures()
	r := newRig(s, morning, engine.Limits{MaxJobSize: megabyte})
	defer r.engine.Release()
	const jobs, size = 50, 500_000
	body := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(body) // It cannot fail.
	for range jobs {
		r.ask(t, "producer", put(1, 0, 60, string(body)))
	}
	m := s.Measures()
	if got := m.Commits - before.Commits; got != jobs {
		t.Errorf("%d commits, want %d", got, jobs)
	}
	// A header, a body and the next id each.
	if got := m.Records - before.Records; got != 3*jobs {
		t.Errorf("%d records, want %d", got, 3*jobs)
	}
	if got := m.LogBytes - before.LogBytes; got < jobs*size || got > jobs*size*11/10 {
		t.Errorf("%d bytes in the log, want little more than %d", got, jobs*size)
	}
	// Each put waits for its sync.
	if got := m.Syncs.Count - before.Syncs.Count; got < jobs {
		t.Errorf("%d syncs, want %d at least", got, jobs)
	}
	sum := uint64(0)
	for _, n := range m.Syncs.Buckets {
		sum += n
	}
	if sum > m.Syncs.Count || m.Syncs.Sum <= 0 {
		t.Errorf("%d of %d syncs in buckets, %v altogether", sum, m.Syncs.Count, m.Syncs.Sum)
	}
	if m.Full || m.Total == 0 || m.Free > m.Total {
		t.Errorf("full %v, free %d of %d", m.Full, m.Free, m.Total)
	}
	if want := min(ballastSize, m.Total/ballastShare); m.Reserve != want {
		t.Errorf("reserve of %d bytes, want %d", m.Reserve, want)
	}
	s.disk.look()
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	s.gauges.stale()
	m = s.Measures()
	if got := exists(s.dir.fs, s.dir.file(ballastFile)); got != m.Ballast {
		t.Errorf("ballast %v, measured %v", got, m.Ballast)
	}
	if there := filesIn(t, s.dir.file(database)); m.Used < there*9/10 || m.Used > there*11/10 {
		t.Errorf("%d bytes are used, measured %d", there, m.Used)
	}
}

// filesIn is the size of the files in a directory.
func filesIn(t *testing.T, dir string) (sum uint64) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		sum += uint64(info.Size())
	}
	return sum
}

// TestMeasuresBuckets counts a sync of each duration in the bucket it belongs to.
func TestMeasuresBuckets(t *testing.T) {
	var m meter
	for bucket := range SyncBuckets {
		m.synced(SyncBound(bucket) - 1)
		if got := m.measures().Syncs; got.Buckets[bucket] != 1 || got.Count != uint64(bucket+1) {
			t.Errorf("just below %v: %v", SyncBound(bucket), got)
		}
	}
	before := m.measures().Syncs
	for _, long := range []time.Duration{SyncBound(SyncBuckets - 1), time.Hour} {
		m.synced(long)
	}
	after := m.measures().Syncs
	if after.Buckets != before.Buckets || after.Count != before.Count+2 || after.Sum != before.Sum+SyncBound(SyncBuckets-1)+time.Hour {
		t.Errorf("longer than all bounds: %v after %v", after, before)
	}
	m.synced(0)
	if got := m.measures().Syncs.Buckets[0]; got != 2 {
		t.Errorf("no time at all: %d in the first bucket", got)
	}
}

// TestMeasuresAtAnyTime measures while jobs are put and while the store closes.
func TestMeasuresAtAnyTime(t *testing.T) {
	s, err := Open(Options{Dir: t.TempDir(), Sync: SyncPolicy{Never: true}})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(s, morning, engine.Limits{})
	defer r.engine.Release()
	closed := make(chan struct{})
	var work sync.WaitGroup
	for range 2 {
		work.Go(func() {
			for last := uint64(0); ; {
				s.gauges.stale()
				m := s.Measures()
				if m.Commits < last {
					t.Errorf("%d commits after %d", m.Commits, last)
				}
				last = m.Commits
				select {
				case <-closed:
					return
				default:
				}
			}
		})
	}
	const jobs = 500
	for range jobs {
		r.ask(t, "producer", put(1, 0, 60, "a job"))
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	close(closed)
	work.Wait()
	if got := s.Measures().Commits; got != jobs {
		t.Errorf("%d commits after the end, want %d", got, jobs)
	}
}

// TestMeasuresOfReader measures a store that is only read.
func TestMeasuresOfReader(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(Options{Dir: dir, ReadOnly: true}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if m := s.Measures(); m.Used == 0 || m.Full || m.Syncs.Count != 0 {
		t.Errorf("measured %+v", m)
	}
}

// TestMeasuresOfFullDisk has puts refused, and told.
func TestMeasuresOfFullDisk(t *testing.T) {
	f := fillDisk(t)
	defer f.engine.Release()
	f.store.gauges.stale()
	if m := f.store.Measures(); !m.Full || m.Ballast || m.Total != 400*megabyte || m.Reserve != 20*megabyte {
		t.Errorf("measured %+v", m)
	}
}

func BenchmarkMeasures(b *testing.B) {
	s := openDir(b, Options{Sync: SyncPolicy{Never: true}})
	r := newRig(s, morning, engine.Limits{})
	defer r.engine.Release()
	body := make([]byte, 50_000)
	_, _ = rand.NewChaCha8([32]byte{}).Read(body) // It cannot fail.
	for range 10_000 {
		r.ask(b, "producer", put(1, 0, 60, string(body)))
	}
	for b.Loop() {
		s.gauges.stale()
		_ = s.Measures()
	}
	b.ReportMetric(float64(s.db.Metrics().Table.Local.LiveCount), "tables")
}
