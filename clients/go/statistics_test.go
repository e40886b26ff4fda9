package client_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/beanstalkd/go-beanstalk"
)

// oddTube uses every kind of character that a tube name may have.
const oddTube = "a-b+c/d;e.f$g_h(i)09Z"

// between is a field's value that must be a number in this range.
type between struct{ least, most int }

var jobKeys = strings.Fields(`id tube state pri age delay ttr time-left file reserves timeouts releases buries kicks`)

var tubeKeys = strings.Fields(`name current-jobs-urgent current-jobs-ready current-jobs-reserved current-jobs-delayed
	current-jobs-buried total-jobs current-using current-watching current-waiting cmd-delete cmd-pause-tube pause
	pause-time-left`)

var serverKeys = strings.Fields(`current-jobs-urgent current-jobs-ready current-jobs-reserved current-jobs-delayed
	current-jobs-buried cmd-put cmd-peek cmd-peek-ready cmd-peek-delayed cmd-peek-buried cmd-reserve
	cmd-reserve-with-timeout cmd-delete cmd-release cmd-use cmd-watch cmd-ignore cmd-bury cmd-kick cmd-touch cmd-stats
	cmd-stats-job cmd-stats-tube cmd-list-tubes cmd-list-tube-used cmd-list-tubes-watched cmd-pause-tube job-timeouts
	total-jobs max-job-size current-tubes current-connections current-producers current-workers current-waiting
	total-connections pid version rusage-utime rusage-stime uptime binlog-oldest-index binlog-current-index
	binlog-records-migrated binlog-records-written binlog-max-size draining id hostname os platform`)

// checkFields compares all fields with want: strings, numbers and ranges.
// What is not in want must be 0. The library hands out the text of a value,
// so quotes, which haricot puts around what YAML would misread, are its own.
func checkFields(t *testing.T, stats map[string]string, keys []string, want map[string]any) {
	t.Helper()
	if got := slices.Sorted(maps.Keys(stats)); !slices.Equal(got, slices.Sorted(slices.Values(keys))) {
		t.Fatalf("fields %q, want %q", got, keys)
	}
	for _, key := range keys {
		got := stats[key]
		switch want := want[key].(type) {
		case nil:
			if got != "0" {
				t.Errorf("%s: %s, want 0", key, got)
			}
		case string:
			if got != want {
				t.Errorf("%s: %s, want %s", key, got, want)
			}
		case int:
			if got != strconv.Itoa(want) {
				t.Errorf("%s: %s, want %d", key, got, want)
			}
		case between:
			if n, err := strconv.Atoi(got); err != nil || n < want.least || n > want.most {
				t.Errorf("%s: %s, want %d to %d", key, got, want.least, want.most)
			}
		case *regexp.Regexp:
			if !want.MatchString(got) {
				t.Errorf("%s: %s, want a match for %s", key, got, want)
			}
		default:
			t.Fatalf("%s: no way to compare with a %T", key, want)
		}
	}
}

func checkJob(t *testing.T, c *beanstalk.Conn, id uint64, want map[string]any) {
	t.Helper()
	stats, err := c.StatsJob(id)
	must(t, err)
	all := map[string]any{"id": strconv.FormatUint(id, 10), "age": between{0, 30}}
	maps.Copy(all, want)
	checkFields(t, stats, jobKeys, all)
}

func TestJobStatistics(t *testing.T) {
	c := inTube(t, oddTube)
	id := put(t, c, "body", 4294967295, 0, 60*time.Second)
	want := map[string]any{"tube": oddTube, "state": "ready", "pri": 4294967295, "ttr": 60}
	checkJob(t, c, id, want)

	reserve(t, c, id, "body")
	want["state"], want["reserves"], want["time-left"] = "reserved", 1, between{55, 60}
	checkJob(t, c, id, want)

	must(t, c.Release(id, 9, 100*time.Second))
	want["state"], want["pri"], want["delay"], want["releases"], want["time-left"] = "delayed", 9, 100, 1, between{95, 100}
	checkJob(t, c, id, want)

	must(t, c.KickJob(id))
	want["state"], want["kicks"], want["time-left"] = "ready", 1, 0
	checkJob(t, c, id, want)

	reserve(t, c, id, "body")
	must(t, c.Bury(id, 11))
	want["state"], want["pri"], want["reserves"], want["buries"] = "buried", 11, 2, 1
	checkJob(t, c, id, want)
	must(t, c.Delete(id))
}

func TestTubeStatistics(t *testing.T) {
	c := inTube(t, oddTube)
	put(t, c, "urgent", 1, 0, time.Minute)
	put(t, c, "urgent too", 1023, 0, time.Minute)
	last := put(t, c, "not urgent", 1024, 0, time.Minute)
	put(t, c, "later", 0, time.Minute, time.Minute)
	for range 2 {
		_, _, err := c.Reserve(0)
		must(t, err)
	}
	check := func(want map[string]any) {
		t.Helper()
		stats, err := c.Tube.Stats()
		must(t, err)
		all := map[string]any{
			"name": oddTube, "current-using": 1, "current-watching": 1, "current-jobs-reserved": 2,
			"current-jobs-delayed": 1, "total-jobs": 4,
		}
		maps.Copy(all, want)
		checkFields(t, stats, tubeKeys, all)
	}
	check(map[string]any{"current-jobs-ready": 1})
	must(t, c.Pause(30*time.Second))
	check(map[string]any{"current-jobs-ready": 1, "cmd-pause-tube": 1, "pause": 30, "pause-time-left": between{25, 30}})
	must(t, c.Pause(0))
	reserve(t, c, last, "not urgent")
	must(t, c.Delete(last))
	check(map[string]any{"cmd-pause-tube": 2, "cmd-delete": 1})
}

func TestServerStatistics(t *testing.T) {
	c := inTube(t, "go-stats")
	// The connections of earlier tests must be gone, for they would be missed
	// in the second statistics.
	await(t, c, "current-connections", "1")
	before, err := c.Stats()
	must(t, err)
	number := between{0, 1 << 31}
	want := map[string]any{}
	for _, key := range serverKeys[:slices.Index(serverKeys, "pid")] {
		want[key] = number
	}
	maps.Copy(want, map[string]any{
		"max-job-size": 65535, "pid": number, "version": regexp.MustCompile(`^"\d+\.\d+"$`),
		"rusage-utime": regexp.MustCompile(`^\d+\.\d{6}$`), "rusage-stime": regexp.MustCompile(`^\d+\.\d{6}$`),
		"uptime": between{0, 600}, "binlog-max-size": 10485760, "draining": "false",
		"id": regexp.MustCompile(`^"?[0-9a-f]{16}"?$`), "hostname": unquoted(hostname(t)),
		"os": regexp.MustCompile(`.`), "platform": regexp.MustCompile(`^\w+$`),
	})
	if pid := os.Getenv("HARICOT_PID"); pid != "" {
		want["pid"] = pid
	}
	checkFields(t, before, serverKeys, want)

	id := put(t, c, "a", 0, 0, time.Minute)
	put(t, c, "b", 0, time.Minute, time.Minute)
	reserve(t, c, id, "a")
	must(t, c.Delete(id))
	after, err := c.Stats()
	must(t, err)
	// The library uses the tube, watches it and ignores the default one.
	moved := map[string]int{
		"cmd-put": 2, "cmd-use": 1, "cmd-watch": 1, "cmd-ignore": 1, "cmd-reserve-with-timeout": 1, "cmd-delete": 1,
		"cmd-stats": 1, "total-jobs": 2, "current-jobs-delayed": 1, "current-tubes": 1, "current-producers": 1,
		"current-workers": 1,
	}
	for _, key := range serverKeys[:slices.Index(serverKeys, "pid")] {
		was, _ := strconv.Atoi(before[key])
		is, _ := strconv.Atoi(after[key])
		if is-was != moved[key] {
			t.Errorf("%s: moved by %d, want %d", key, is-was, moved[key])
		}
	}
}

func hostname(t *testing.T) string {
	name, err := os.Hostname()
	must(t, err)
	return name
}

// unquoted matches a text with quotes or without.
func unquoted(text string) *regexp.Regexp {
	return regexp.MustCompile(`^"?` + regexp.QuoteMeta(text) + `"?$`)
}
