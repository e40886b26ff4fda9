package protocol

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the documents in testdata anew")

// golden compares a document with the one in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name+".yaml")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s: (-want +got)\n%s", name, diff)
	}
}

// keys are the keys of a document.
func keys(document []byte) (list []string) {
	for line := range strings.Lines(string(document)) {
		if key, _, ok := strings.Cut(line, ": "); ok {
			list = append(list, key)
		}
	}
	return list
}

func TestStatsDocument(t *testing.T) {
	q := QueueStats{
		Jobs:        JobCounts{Urgent: 1, Ready: 2, Reserved: 3, Delayed: 4, Buried: 5},
		JobTimeouts: 6, TotalJobs: 1<<64 - 1, MaxJobSize: 65535, Tubes: 8, Connections: 9, Producers: 10, Workers: 11, Waiting: 12, TotalConnections: 13,
		Draining: true,
	}
	for v := range q.Commands {
		q.Commands[v] = uint64(100 + v)
	}
	p := ProcessStats{
		Log: LogStats{File: 1, Written: 12, MaxSize: 4096},
		PID: 4711, UserTime: 1500*time.Millisecond + 7*time.Microsecond, SystemTime: 999 * time.Nanosecond, Uptime: 90*time.Second + 999*time.Millisecond,
		ID: "0123456789abcdef", Hostname: "worker-1", OS: "#1 SMP Debian 6.1.90-1 (2024-05-03)", Platform: "x86_64",
	}
	got := AppendStats(nil, &q, &p)
	golden(t, "stats", got)
	want := strings.Fields(`current-jobs-urgent current-jobs-ready current-jobs-reserved current-jobs-delayed current-jobs-buried
		cmd-put cmd-peek cmd-peek-ready cmd-peek-delayed cmd-peek-buried cmd-reserve cmd-reserve-with-timeout cmd-delete cmd-release cmd-use cmd-watch
		cmd-ignore cmd-bury cmd-kick cmd-touch cmd-stats cmd-stats-job cmd-stats-tube cmd-list-tubes cmd-list-tube-used cmd-list-tubes-watched cmd-pause-tube
		job-timeouts total-jobs max-job-size current-tubes current-connections current-producers current-workers current-waiting total-connections
		pid version rusage-utime rusage-stime uptime binlog-oldest-index binlog-current-index binlog-records-migrated binlog-records-written binlog-max-size
		draining id hostname os platform`)
	if diff := cmp.Diff(want, keys(got)); diff != "" {
		t.Errorf("keys: (-want +got)\n%s", diff)
	}
	golden(t, "stats-idle", AppendStats(nil, &QueueStats{MaxJobSize: DefaultMaxJobSize}, &ProcessStats{
		Log: LogStats{MaxSize: DefaultLogSize},
		PID: 1, ID: "1234567890123456", Hostname: "localhost", OS: "Darwin Kernel Version 23.6.0: root", Platform: "arm64",
	}))
}

func TestTubeDocument(t *testing.T) {
	got := AppendTubeStats(nil, &TubeStats{
		Name: "default", Jobs: JobCounts{Urgent: 1, Ready: 2, Reserved: 3, Delayed: 4, Buried: 5},
		TotalJobs: 6, Using: 7, Watching: 8, Waiting: 9, Deletes: 10, Pauses: 11, Pause: 12 * time.Second, PauseTimeLeft: 12*time.Second - 1,
	})
	golden(t, "stats-tube", got)
	want := strings.Fields(`name current-jobs-urgent current-jobs-ready current-jobs-reserved current-jobs-delayed current-jobs-buried total-jobs
		current-using current-watching current-waiting cmd-delete cmd-pause-tube pause pause-time-left`)
	if diff := cmp.Diff(want, keys(got)); diff != "" {
		t.Errorf("keys: (-want +got)\n%s", diff)
	}
	golden(t, "stats-tube-misread", AppendTubeStats(nil, &TubeStats{Name: "123"}))
}

func TestJobDocument(t *testing.T) {
	got := AppendJobStats(nil, &JobStats{
		ID: 1<<64 - 1, Tube: "default", State: "reserved", Priority: 1<<32 - 1, Age: 2*time.Second - 1, Delay: 3 * time.Second, TTR: 4 * time.Second,
		TimeLeft: 4*time.Second - 1, Reserves: 5, Timeouts: 6, Releases: 7, Buries: 8, Kicks: 9,
	})
	golden(t, "stats-job", got)
	want := strings.Fields(`id tube state pri age delay ttr time-left file reserves timeouts releases buries kicks`)
	if diff := cmp.Diff(want, keys(got)); diff != "" {
		t.Errorf("keys: (-want +got)\n%s", diff)
	}
	golden(t, "stats-job-misread", AppendJobStats(nil, &JobStats{ID: 1, Tube: "true", State: "ready"}))
}

// The lists have the names bare, whatever they look like.
func TestListDocument(t *testing.T) {
	list := ListStart(nil)
	for _, name := range []string{"default", "123", "true", "+1", "a;b"} {
		list = ListEntry(list, name)
	}
	golden(t, "list-tubes", list)
}

// Documents are appended to what is there.
func TestDocumentsAppend(t *testing.T) {
	before := []byte("before ")
	for name, got := range map[string][]byte{
		"stats":      AppendStats(before[:7:7], &QueueStats{}, &ProcessStats{}),
		"stats-tube": AppendTubeStats(before[:7:7], &TubeStats{}),
		"stats-job":  AppendJobStats(before[:7:7], &JobStats{}),
		"a list":     ListEntry(ListStart(before[:7:7]), "a"),
	} {
		if !strings.HasPrefix(string(got), "before ---\n") {
			t.Errorf("%s begins with %q", name, got[:11])
		}
	}
}
