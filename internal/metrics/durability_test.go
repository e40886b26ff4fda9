package metrics

import (
	"slices"
	"strings"
	"testing"
	"time"

	haricot "github.com/haricotq/haricot/internal/server"
	"github.com/haricotq/haricot/internal/store"
)

// durabilityOf asks a store, as the program does.
func durabilityOf(s *store.Store) func() Durability {
	bounds := make([]time.Duration, store.SyncBuckets)
	for i := range bounds {
		bounds[i] = store.SyncBound(i)
	}
	return func() Durability {
		m := s.Measures()
		return Durability{
			Syncs:       Spread{Bounds: bounds, Buckets: m.Syncs.Buckets[:], Count: m.Syncs.Count, Sum: m.Syncs.Sum},
			LogBytes:    m.LogBytes,
			Compactions: m.Compactions, CompactionsDone: m.CompactionsDone, Debt: m.Debt,
			Used: m.Used, Free: m.Free, Total: m.Total, Reserve: m.Reserve, Ballast: m.Ballast,
		}
	}
}

// TestDurability shows measures that are known figure by figure.
func TestDurability(t *testing.T) {
	measured := Durability{
		Syncs: Spread{
			Bounds: []time.Duration{100 * time.Microsecond, 200 * time.Microsecond, 400 * time.Microsecond}, Buckets: []uint64{1, 0, 4},
			Count: 7, Sum: 1500 * time.Millisecond,
		},
		LogBytes: 11, Compactions: 2, CompactionsDone: 13, Debt: 17, Used: 19, Free: 23, Total: 29, Reserve: 31, Ballast: true,
	}
	s := open(t, haricot.Config{}, Config{Store: func() Durability { return measured }})
	s.scrape().expect(t, samples{
		`haricot_sync_duration_seconds_bucket{le="0.0001"}`: 1, `haricot_sync_duration_seconds_bucket{le="0.0002"}`: 1,
		`haricot_sync_duration_seconds_bucket{le="0.0004"}`: 5, `haricot_sync_duration_seconds_bucket{le="+Inf"}`: 7,
		"haricot_sync_duration_seconds_count": 7, "haricot_sync_duration_seconds_sum": 1.5,
		"haricot_store_log_written_bytes_total": 11, "haricot_store_compactions_running": 2, "haricot_store_compactions_total": 13,
		"haricot_store_compaction_debt_bytes": 17, "haricot_disk_used_bytes": 19, "haricot_disk_free_bytes": 23, "haricot_disk_total_bytes": 29,
		"haricot_disk_reserve_bytes": 31, "haricot_disk_ballast_held": 1,
	})
	// A full disk has 0 bytes free, and one that does not tell has no size at all.
	measured.Free = 0
	s.scrape().expect(t, samples{"haricot_disk_free_bytes": 0, "haricot_disk_total_bytes": 29})
	measured.Total = 0
	if text := s.text(); strings.Contains(text, "haricot_disk_free_bytes") || strings.Contains(text, "haricot_disk_total_bytes") {
		t.Error("a size that is not known is shown")
	}
}

// TestWithoutStore checks that a server without a store and without limits shows
// nothing of either.
func TestWithoutStore(t *testing.T) {
	got := open(t, haricot.Config{}, Config{MaxTubes: 10}).scrape()
	for series := range got {
		for _, absent := range []string{"_commit", "_sync", "_disk_", "_store_", "_memory_limit_", "haricot_tube_jobs_limit", "_body_limit_"} {
			if strings.Contains(series, absent) && strings.HasPrefix(series, "haricot_") {
				t.Errorf("%s is there", series)
			}
		}
	}
}

// TestCommits compares commits with what clients have done.
func TestCommits(t *testing.T) {
	s := openDurable(t)
	c := s.client()
	for range 5 {
		c.put("INSERTED", 0, "body")
	}
	got := s.scrape()
	got.expect(t, samples{
		"haricot_commit_duration_seconds_count": 5, "haricot_commit_changes_count": 5, "haricot_commit_changes_sum": 5, "haricot_commits_awaited_total": 5,
		`haricot_commit_changes_bucket{le="1"}`: 5, `haricot_commit_changes_bucket{le="16384"}`: 5,
	})
	if n := got["haricot_sync_duration_seconds_count"]; n < 5 {
		t.Errorf("%g syncs for 5 puts, one after the other", n)
	}
	bounds := []string{}
	for series := range got.of("haricot_sync_duration_seconds_bucket") {
		bounds = append(bounds, series)
	}
	slices.Sort(bounds)
	if len(bounds) != store.SyncBuckets+1 {
		t.Errorf("the bounds are %v", bounds)
	}
}
