package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/store"
)

// talkTo has a server carry out lines and returns what it says.
func talkTo(t *testing.T, address string, lines ...string) []string {
	t.Helper()
	c := dial(t, address)
	c.send(strings.Join(append(lines, "quit", ""), "\r\n"))
	var replies []string
	for line := c.line(); line != "EOF"; line = c.line() {
		replies = append(replies, line)
	}
	return replies
}

// settled makes a store of a hundred jobs that is in sorted tables as well as in the log.
func settled(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for range 2 {
		d := serve(t, command("-b", dir, "-l", "127.0.0.1", "-p", "0"), 1)
		var lines []string
		for i := range 50 {
			lines = append(lines, "put 0 0 60 100", fmt.Sprintf("%0100d", i))
		}
		if got := talkTo(t, d.addrs[0], lines...); len(got) != 50 {
			t.Fatalf("%d replies to 50 puts", len(got))
		}
		d.stop()
	}
	return dir
}

// damage changes a byte of a file, at a part of its length.
func damage(t *testing.T, pattern string, part float64) string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no file %s (%v)", pattern, err)
	}
	text, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	text[int(part*float64(len(text)))] ^= 0x55
	if err := os.WriteFile(names[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(filepath.Base(filepath.Dir(names[0])), filepath.Base(names[0]))
}

// TestDamagedStore goes the way of an operator whose disk has changed a byte.
func TestDamagedStore(t *testing.T) {
	dir := settled(t)
	work := t.TempDir()
	backup, restored := filepath.Join(work, "backup"), filepath.Join(work, "restored")
	if o := runs(t, "haricot", "backup", dir, backup); o.status != exitOK {
		t.Fatalf("backup: %+v", o)
	}
	name := damage(t, filepath.Join(dir, "db", "*.sst"), 0.5)
	before := contents(t, dir)

	o := runs(t, "haricot", "check", dir)
	if o.status != exitInternal || !strings.Contains(o.stdout, "fault: "+name+": ") ||
		!strings.Contains(o.stderr, "is damaged") || !strings.Contains(o.stderr, "haricot restore BACKUP NEWDIR") {
		t.Errorf("check of a store with a wrong byte in %s: %+v", name, o)
	}
	if after := contents(t, dir); after != before {
		t.Errorf("check has changed the directory from\n%s to\n%s", before, after)
	}
	if o := runs(t, "haricot", "restore", dir, restored); o.status != exitInternal || !strings.Contains(o.stderr, "nothing was restored") {
		t.Errorf("restore from a damaged store: %+v", o)
	}
	if _, err := os.Stat(restored); err == nil {
		t.Error("restore has made a directory of a damaged store")
	}
	if o := runs(t, "haricot", "export", dir); o.status != exitInternal || strings.Contains(o.stdout, `"type":"end"`) {
		t.Errorf("export of a damaged store: status %d, %s, and says that it is complete: %v", o.status, o.stderr, strings.Contains(o.stdout, `"type":"end"`))
	}

	if o := runs(t, "haricot", "restore", backup, restored); o.status != exitOK {
		t.Fatalf("restore: %+v", o)
	}
	if o := runs(t, "haricot", "check", restored); o.status != exitOK || !strings.Contains(o.stdout, "100 jobs") {
		t.Errorf("check of what was restored: %+v", o)
	}
}

// contents lists the files of a directory with sizes and times of change.
func contents(t *testing.T, dir string) string {
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

// TestUnusableFile: a store that lacks a file of its database, or a part of one, is damaged, not smaller.
func TestUnusableFile(t *testing.T) {
	cut := func(name string) error { return os.Truncate(name, 100) }
	for _, test := range []struct {
		pattern string
		what    string
		do      func(name string) error
	}{
		{"db/*.sst", "removed", os.Remove},
		{"db/*.sst", "cut", cut},
		{"db/MANIFEST-*", "removed", os.Remove},
		{"db/marker.manifest.*", "removed", os.Remove},
		{"db", "removed", os.RemoveAll},
		{"FORMAT", "cut", func(name string) error { return os.Truncate(name, 3) }},
	} {
		t.Run(test.pattern+" "+test.what, func(t *testing.T) {
			dir := settled(t)
			names, err := filepath.Glob(filepath.Join(dir, test.pattern))
			if err != nil || len(names) == 0 {
				t.Fatalf("no file %s (%v)", test.pattern, err)
			}
			for _, name := range names {
				if err := test.do(name); err != nil {
					t.Fatal(err)
				}
			}
			if o := runs(t, "haricot", "check", dir); o.status != exitInternal || !strings.Contains(o.stdout, "fault: ") {
				t.Errorf("check: %+v", o)
			}
			o := runs(t, "haricot", "-b", dir, "-l", "127.0.0.1", "-p", "0")
			if o.status != exitStore || !strings.Contains(o.stderr, "haricot check "+dir) {
				t.Errorf("serve: %+v", o)
			}
		})
	}
}

// TestToolStatus holds the tools to the exit statuses in docs/running.md.
func TestToolStatus(t *testing.T) {
	dir, empty, work := settled(t), t.TempDir(), t.TempDir()
	letter := filepath.Join(work, "letter")
	if err := os.WriteFile(letter, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	nowhere := filepath.Join(work, "nowhere")
	for _, test := range []struct {
		want int
		args []string
	}{
		{exitOK, []string{"check", dir}},
		{exitOK, []string{"check", "--help"}},
		{exitUsage, []string{"check"}},
		{exitUsage, []string{"check", dir, "surplus"}},
		{exitUsage, []string{"backup", dir}},
		{exitUsage, []string{"import", "--surplus", dir}},
		{exitStore, []string{"check", nowhere}},
		{exitStore, []string{"check", empty}},
		{exitStore, []string{"check", letter}},
		{exitStore, []string{"check", work}},
		{exitStore, []string{"backup", nowhere, filepath.Join(work, "a")}},
		{exitStore, []string{"backup", dir, work}},
		{exitStore, []string{"restore", empty, filepath.Join(work, "b")}},
		{exitStore, []string{"restore", dir, work}},
		{exitStore, []string{"export", empty}},
		{exitStore, []string{"import", work}},
		{exitStore, []string{"import", filepath.Join(nowhere, "deeper")}},
		{exitInternal, []string{"export", dir, letter}},
		{exitInternal, []string{"import", empty, letter}},
		{exitInternal, []string{"import", empty, nowhere}},
		{exitStore, []string{"serve", "-b", nowhere}},
		{exitFlags, []string{"serve", "-f", "soon"}},
	} {
		if o := runs(t, "haricot", test.args...); o.status != test.want {
			t.Errorf("haricot %s: status %d, want %d: %s", strings.Join(test.args, " "), o.status, test.want, o.stderr)
		}
	}
}

// putter puts jobs on one connection, one after the other, each with a number that is one higher.
type putter struct {
	name     string
	sent     atomic.Int64
	answered atomic.Int64
}

// mostPuts bounds what a putter puts, and so the time that a slow machine takes to read it.
const mostPuts = 5000

// work puts until the test is about to end, or there are enough jobs.
func (p *putter) work(address string, ended <-chan struct{}) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	reply := make([]byte, 64)
	for range mostPuts {
		select {
		case <-ended:
			return nil
		default:
		}
		body := fmt.Sprintf("%s %d", p.name, p.sent.Add(1))
		if _, err := fmt.Fprintf(conn, "put 0 0 60 %d\r\n%s\r\n", len(body), body); err != nil {
			return err
		}
		n, err := conn.Read(reply)
		if err != nil {
			return err
		}
		if !bytes.HasPrefix(reply[:n], []byte("INSERTED ")) {
			return fmt.Errorf("put: %q", reply[:n])
		}
		p.answered.Add(1)
	}
	return nil
}

// TestBackupUnderLoad makes backups while several connections put: each has all that was answered before it began, nothing that
// was not sent before it ended, and of every connection's jobs a beginning without a gap.
func TestBackupUnderLoad(t *testing.T) {
	dir, work := t.TempDir(), t.TempDir()
	d := serve(t, command("-b", dir, "-l", "127.0.0.1", "-p", "0"), 1)
	putters := make([]putter, 4)
	ended := make(chan struct{})
	var all sync.WaitGroup
	for i := range putters {
		putters[i].name = string(rune('a' + i))
		all.Go(func() {
			if err := putters[i].work(d.addrs[0], ended); err != nil {
				t.Error(err)
			}
		})
	}
	defer all.Wait()
	defer close(ended)
	least := make([]int64, len(putters))
	for round := range 3 {
		for i := range putters {
			least[i] = putters[i].answered.Load()
		}
		backup := filepath.Join(work, fmt.Sprint(round))
		if o := runs(t, "haricot", "backup", dir, backup); o.status != exitOK {
			t.Fatalf("backup: %+v", o)
		}
		found := beginnings(t, backup)
		for i := range putters {
			most := putters[i].sent.Load()
			if n := found[putters[i].name]; n < least[i] || n > most {
				t.Errorf("backup %d has %d jobs of %s, want %d to %d", round, n, putters[i].name, least[i], most)
			}
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "checkpoint-*")); err != nil || len(left) > 1 {
		t.Errorf("checkpoints are left behind: %v (%v)", left, err) // The last may be on its way out.
	}
}

// beginnings checks a backup and tells how many jobs of each putter it has, which must be the first ones.
func beginnings(t *testing.T, backup string) map[string]int64 {
	t.Helper()
	if o := runs(t, "haricot", "check", backup); o.status != exitOK {
		t.Fatalf("check: %+v", o)
	}
	o := runs(t, "haricot", "export", backup)
	if o.status != exitOK {
		t.Fatalf("export: %d %s", o.status, o.stderr)
	}
	count := make(map[string]int64)
	for line := range strings.Lines(o.stdout) {
		var job struct{ Type, Body string }
		if err := json.Unmarshal([]byte(line), &job); err != nil {
			t.Fatal(err)
		}
		if job.Type != "job" {
			continue
		}
		var name string
		var n int64
		if _, err := fmt.Sscan(job.Body, &name, &n); err != nil {
			t.Fatal(err)
		}
		if count[name]++; count[name] != n {
			t.Fatalf("job %d of %s follows on job %d", n, name, count[name]-1)
		}
	}
	return count
}

// TestDamagedStart: a server does not start with silently less, whichever byte of a file is wrong.
func TestDamagedStart(t *testing.T) {
	dir := settled(t)
	refused := 0
	for eighth := range 8 {
		copied := filepath.Join(t.TempDir(), "copy")
		if err := store.Copy(dir, copied, nil); err != nil {
			t.Fatal(err)
		}
		damage(t, filepath.Join(copied, "db", "*.sst"), float64(eighth)/8)
		d := start(t, command("-b", copied, "-l", "unix:"+filepath.Join(t.TempDir(), "s")))
		if outcome := d.firstOf("listening", "cannot serve"); outcome.String("msg") == "cannot serve" {
			refused++
			if got := d.status(); got != exitStore || !strings.Contains(outcome.String("error"), "haricot check "+copied) {
				t.Errorf("damage in eighth %d: status %d, want %d: %v", eighth, got, exitStore, outcome)
			}
			continue
		}
		if got := d.event("jobs recovered", 0)["jobs"]; got != 100.0 {
			t.Errorf("damage in eighth %d: the server starts with %v jobs", eighth, got)
		}
		d.stop()
	}
	if refused == 0 {
		t.Error("no wrong byte keeps the server from starting")
	}
}

// firstOf waits for the first record with one of some messages.
func (d *instance) firstOf(messages ...string) record {
	d.t.Helper()
	for n := 0; ; n++ {
		if r := d.event("", n); slices.Contains(messages, r.String("msg")) {
			return r
		}
	}
}

// TestRecoveryProgress: what takes longer than a second is told, on a terminal as a bar, elsewhere once a second in the log.
func TestRecoveryProgress(t *testing.T) {
	var log bytes.Buffer
	r := newRecoveryProgress(slog.New(slog.NewTextHandler(&log, nil)), &process{stderr: &log})
	r.report(10_000)
	if log.Len() > 0 {
		t.Errorf("it is told at once: %s", &log)
	}
	r.began = r.began.Add(-3 * time.Second)
	r.report(20_000)
	r.report(30_000)
	if got := log.String(); !strings.Contains(got, "msg=recovering jobs=20000 elapsed=3s") || strings.Contains(got, "30000") {
		t.Errorf("after three seconds the log has %s", got)
	}

	log.Reset()
	var screen bytes.Buffer
	r.bar.w, r.bar.began, r.last = &screen, r.began, time.Time{}
	r.report(40_000)
	if got := screen.String(); !strings.Contains(got, "recovering: 40000 jobs") || log.Len() > 0 {
		t.Errorf("the terminal shows %q, the log has %q", got, &log)
	}
}
