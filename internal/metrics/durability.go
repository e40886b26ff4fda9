package metrics

import "time"

// Durability is what a store tells of itself: counts since its start, and sizes
// in bytes.
type Durability struct {
	// Syncs is how long it took to bring the log to the disk.
	Syncs Spread
	// LogBytes is what has been written to the log.
	LogBytes uint64
	// Compactions is how many are under way, CompactionsDone how many have
	// ended, and Debt how much is to be read and written by those to come.
	Compactions     int
	CompactionsDone uint64
	Debt            uint64
	// Used is the size of the store's files.
	Used uint64
	// Free and Total are of the file system; both are 0 if it does not tell. New
	// jobs are refused while less than Reserve is free.
	Free, Total uint64
	Reserve     uint64
	// Ballast tells that the space set aside has not been given up.
	Ballast bool
}

// Spread counts durations: each in the first bucket whose bound it was below,
// or in Count only.
type Spread struct {
	Bounds  []time.Duration // from the smallest to the largest
	Buckets []uint64        // one for each bound
	Count   uint64
	Sum     time.Duration
}

func (s *Spread) histogram() histogram {
	buckets := make(map[float64]uint64, len(s.Bounds))
	below := uint64(0)
	for i, n := range s.Buckets {
		below += n
		buckets[s.Bounds[i].Seconds()] = below
	}
	return histogram{s.Count, s.Sum.Seconds(), buckets}
}

// durableFamilies are those of a server with a store.
var durableFamilies = []family[server]{
	whole.distribution("haricot_commit_duration_seconds", "How long it took to write what a turn has changed, with the sync if it was waited for.", func(s *server) (histogram, bool) {
		return durations(&s.Workload.Commit), true
	}),
	whole.distribution("haricot_commit_changes", "Jobs and pauses written by a commit.", func(s *server) (histogram, bool) { return batches(s), true }),
	whole.counter("haricot_commits_awaited_total", "Commits with a change that a client was waiting to hear of.", func(s *server) float64 {
		return float64(s.Workload.Synced)
	}),
	whole.counter("haricot_store_records_written_total", "Records that the store has written.", func(s *server) float64 {
		return float64(s.Process.Log.Written)
	}),
	whole.flag("haricot_disk_full", "1 while the server refuses new jobs because the disk has too little room.", func(s *server) bool { return s.Full }),
}

// batches makes a histogram of the sizes of commits.
func batches(s *server) histogram {
	w := &s.Workload
	buckets := make(map[float64]uint64, len(w.Batch))
	upTo := uint64(0)
	for i, n := range w.Batch[:len(w.Batch)-1] { // the last has no bound
		upTo += n
		buckets[float64(uint64(1)<<i)] = upTo
	}
	return histogram{w.Commit.Count, float64(w.Changes), buckets}
}

// disk is the subject of metrics of the store.
var disk subject[Durability]

// diskFamilies are those of the store itself.
var diskFamilies = []family[Durability]{
	disk.distribution("haricot_sync_duration_seconds", "How long it took to bring the log to the disk.", func(d *Durability) (histogram, bool) {
		return d.Syncs.histogram(), true
	}),
	disk.counter("haricot_store_log_written_bytes_total", "Bytes written to the log of the store.", func(d *Durability) float64 { return float64(d.LogBytes) }),
	disk.gauge("haricot_store_compactions_running", "Compactions of the store that are under way.", func(d *Durability) float64 { return float64(d.Compactions) }),
	disk.counter("haricot_store_compactions_total", "Compactions of the store that have ended.", func(d *Durability) float64 { return float64(d.CompactionsDone) }),
	disk.gauge("haricot_store_compaction_debt_bytes", "What compactions have yet to read and write until the store is in order, about.", func(d *Durability) float64 {
		return float64(d.Debt)
	}),
	disk.gauge("haricot_disk_used_bytes", "Size of the files of the store.", func(d *Durability) float64 { return float64(d.Used) }),
	disk.gaugeIf("haricot_disk_free_bytes", "Free space of the file system that the store is on; absent if it does not tell.", sized, func(d *Durability) float64 {
		return float64(d.Free)
	}),
	disk.gaugeIf("haricot_disk_total_bytes", "Size of the file system that the store is on; absent if it does not tell.", sized, func(d *Durability) float64 {
		return float64(d.Total)
	}),
	disk.gaugeIf("haricot_disk_reserve_bytes", "New jobs are refused while less space than this is free.", sized, func(d *Durability) float64 { return float64(d.Reserve) }),
	disk.flag("haricot_disk_ballast_held", "1 while space is set aside for a full disk, 0 when it has been given up.", func(d *Durability) bool { return d.Ballast }),
}

// sized tells whether the file system has told its size.
func sized(d *Durability) bool { return d.Total > 0 }
