package store

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// SyncBuckets is how many bounds the durations of syncs are counted by.
	SyncBuckets  = 16
	shortestSync = 100 * time.Microsecond
)

// SyncBound is the upper bound of a bucket: 100 microseconds for the first, and
// twice as much for each further one, up to 3.3 seconds.
func SyncBound(bucket int) time.Duration { return shortestSync << bucket }

// Syncs counts syncs of the log by how long they took. Each is in one bucket:
// the first whose bound it was below. Those that took longer than the last bound
// are in Count only.
type Syncs struct {
	Buckets [SyncBuckets]uint64
	Count   uint64
	Sum     time.Duration
}

// Measures say how a store is doing. What is counted is counted since start, and
// sizes are in bytes.
type Measures struct {
	// Syncs are those of the log, of which each made one or more commits
	// durable. They failed or not.
	Syncs Syncs
	// Commits are the turns that had something to write, Records what they wrote
	// or deleted, and LogBytes what that took in the log.
	Commits, Records, LogBytes uint64

	// Used is what the database takes, the log and what is about to be removed
	// included; the ballast is not.
	Used uint64
	// Free and Total are of the file system: Free is what this process may use.
	// Both are 0 where it does not tell.
	Free, Total uint64
	// Full tells that puts are refused for lack of room.
	Full bool
	// Reserve is the size of the ballast: puts are refused when less is free.
	// Ballast tells that the file is there, and not given up.
	Reserve uint64
	Ballast bool

	// Compactions is how many are under way, CompactionsDone how many have ended
	// since start, and Debt an estimate of the bytes that are to be read and
	// written until the tables are in order.
	Compactions     int
	CompactionsDone uint64
	Debt            uint64
}

// Measures returns how the store is doing. Any goroutine may call it, as often as
// it likes: the database is asked at most once a second. After Close it returns
// what was last.
func (s *Store) Measures() Measures {
	m := s.meter.measures()
	g := &s.gauges
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if now := time.Now(); !g.closed && now.Sub(g.asked) >= askEvery {
		g.asked = now
		s.ask(&g.last)
	}
	l := g.last
	l.Syncs, l.Commits, l.Records, l.LogBytes = m.Syncs, m.Commits, m.Records, m.LogBytes
	l.Full = s.disk != nil && s.disk.full.Load()
	return l
}

// askEvery is how often the database and the file system are asked at most. The
// database holds its lock meanwhile, so commits have to wait.
const askEvery = time.Second

// gauges are measures that are asked for.
type gauges struct {
	mutex  sync.Mutex
	asked  time.Time
	last   Measures
	closed bool
}

// close has the database not be asked any more.
func (g *gauges) close() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.closed = true
}

func (s *Store) ask(m *Measures) {
	d := s.db.Metrics()
	m.Used = d.DiskSpaceUsage()
	m.Compactions = int(d.Compact.NumInProgress)
	m.CompactionsDone = uint64(d.Compact.Count)
	m.Debt = d.Compact.EstimatedDebt
	if s.disk == nil {
		return
	}
	u, _ := s.disk.usage()
	m.Free, m.Total = u.AvailBytes, u.TotalBytes
	m.Reserve = s.disk.reserve
	m.Ballast = s.disk.ballast.Load()
}

// meter counts what the store does.
type meter struct {
	buckets  [SyncBuckets + 1]atomic.Uint64
	took     atomic.Int64 // all syncs together
	commits  atomic.Uint64
	records  atomic.Uint64
	logBytes atomic.Uint64
}

// synced counts a sync of the log.
func (m *meter) synced(took time.Duration) {
	took = max(0, took)
	m.buckets[min(bits.Len64(uint64(took/shortestSync)), SyncBuckets)].Add(1)
	m.took.Add(int64(took))
}

func (m *meter) measures() (v Measures) {
	for i := range m.buckets {
		n := m.buckets[i].Load()
		if v.Syncs.Count += n; i < SyncBuckets {
			v.Syncs.Buckets[i] = n
		}
	}
	v.Syncs.Sum = time.Duration(m.took.Load())
	v.Commits, v.Records, v.LogBytes = m.commits.Load(), m.records.Load(), m.logBytes.Load()
	return v
}
