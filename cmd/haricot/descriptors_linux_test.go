package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestOpenFilesLimitRaised uses as many descriptors as the hard limit allows, not only the soft one's. Go's runtime, which raises
// the limit, leaves one, to see later whether it was it who did.
func TestOpenFilesLimitRaised(t *testing.T) {
	d := serve(t, shell("ulimit -Sn 64; ulimit -Hn 512;", "-l", "127.0.0.1", "-p", "0"), 1)
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", d.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(limits)) {
		if value, ok := strings.CutPrefix(line, "Max open files"); ok {
			if f := strings.Fields(value); f[0] != "511" && f[0] != "512" || f[1] != "512" {
				t.Errorf("open files: soft limit %s, hard limit %s, want 511 or 512, and 512", f[0], f[1])
			}
		}
	}
	if got := d.event("starting", 0)["open_files"]; got != 511.0 && got != 512.0 {
		t.Errorf("the log says %v open files, want 511 or 512", got)
	}
}

// TestOutOfDescriptors fills the process with clients. Those that are connected are served, the machine is left in peace, and
// who had to wait is served once others have gone.
func TestOutOfDescriptors(t *testing.T) {
	const limit, clients = 40, 60
	d := serve(t, shell(fmt.Sprintf("ulimit -n %d;", limit), "-l", "127.0.0.1", "-p", "0"), 1)
	pid := d.cmd.Process.Pid

	answers := make(chan int, clients) // answers has the numbers of the clients that were served.
	all := make([]*client, clients)
	for i := range all {
		c := dial(t, d.addrs[0])
		all[i] = c
		c.send("list-tube-used\r\n")
		go func() {
			// Only this goroutine reads until its answer is in the channel; an error shows as an answer that is missing.
			if s, err := c.in.ReadString('\n'); err == nil && s == "USING default\r\n" {
				answers <- i
			}
		}()
	}
	// A server may keep a few descriptors in hand.
	eventually(t, "descriptors to run out", func() bool { return openFiles(t, pid) >= limit-4 })
	first := []int{<-answers}
	for len(first) < limit/2 {
		first = append(first, <-answers)
	}
	before, logged := cpuTime(t, pid), len(d.records())
	time.Sleep(time.Second) //nolint:forbidigo // What a process does not do can only be seen by watching it for a while.
	if used := cpuTime(t, pid) - before; used > 500*time.Millisecond {
		t.Errorf("used %v of processor time in a second without descriptors", used)
	}
	if lines := len(d.records()) - logged; lines > 20 {
		t.Errorf("wrote %d lines of log in a second without descriptors", lines)
	}
	for _, i := range first {
		all[i].answers()
	}
	answered := len(first)
	for len(answers) > 0 {
		first = append(first, <-answers)
		answered++
	}
	if answered >= limit {
		t.Fatalf("%d clients were served with %d descriptors", answered, limit)
	}
	for _, i := range first {
		all[i].conn.Close()
	}
	for ; answered < clients; answered++ {
		select {
		case i := <-answers:
			all[i].conn.Close()
		case <-time.After(patience):
			t.Fatalf("%d of %d clients were served after descriptors were free again", answered, clients)
		}
	}
	d.stop()
}

func openFiles(t *testing.T, pid int) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// cpuTime is what a process has used in user and system mode, in the hundredths of a second that /proc counts.
func cpuTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if err1 != nil || err2 != nil {
		t.Fatalf("unreadable times in %q", text)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}
