package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// workJobs is how many jobs TestWorkStoppedHalfWay has.
var workJobs = flag.Int("work-jobs", 1500, "jobs of the test that stops 'haricot work'")

// TestWorkStoppedHalfWay stops a worker with SIGTERM in the middle of its work, and has another one do the rest. The commands that
// run at that moment are let finish: then each job is done exactly once.
func TestWorkStoppedHalfWay(t *testing.T) {
	for _, kind := range []string{"haricot", "beanstalkd"} {
		t.Run(kind, func(t *testing.T) { workStoppedHalfWay(t, kind, *workJobs) })
	}
}

func workStoppedHalfWay(t *testing.T, kind string, jobs int) {
	var address string
	if kind == "haricot" {
		address = serve(t, command("-l", "127.0.0.1", "-p", "0"), 1).addrs[0]
	} else {
		address = startBeanstalkd(t, "").address
	}
	put := exec.Command("haricot", "put", "--lines", "--quiet", "mail", "--addr", address)
	put.Stdin = strings.NewReader(strings.Repeat("x\n", jobs))
	if out, err := put.CombinedOutput(); err != nil {
		t.Fatalf("put: %v: %s", err, out)
	}
	// What the shell has begun it finishes, once it is deaf to SIGTERM; before, it has done nothing.
	log := filepath.Join(t.TempDir(), "log")
	args := []string{
		"work", "mail", "--concurrency", "4", "--exit-when-empty", "--addr", address, "--",
		"/bin/sh", "-c", `trap '' TERM; echo $HARICOT_JOB_ID >>"$0"`, log,
	}
	first := exec.Command("haricot", args...)
	var said strings.Builder
	first.Stderr = &said
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Process.Kill() }) // It has ended already, or must.
	eventually(t, "half of the work", func() bool { return len(logged(t, log)) >= jobs/2 })
	if err := first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := first.Wait(); err != nil {
		t.Fatalf("stopped half-way: %v: %s", err, said.String())
	}
	half := len(logged(t, log))
	if half >= jobs {
		t.Fatalf("all %d jobs were done before the stop", jobs)
	}
	if c := connected(t, address); c.count("mail", "current-jobs-ready") != jobs-half || c.count("mail", "current-jobs-reserved") != 0 {
		t.Errorf("after the stop with %d done: %d ready and %d reserved", half, c.count("mail", "current-jobs-ready"), c.count("mail", "current-jobs-reserved"))
	}
	rest, err := exec.Command("haricot", args...).CombinedOutput()
	if err != nil || !strings.Contains(string(rest), fmt.Sprintf("haricot: %d done, 0 to be tried again, 0 buried, 0 given back, 0 lost", jobs-half)) {
		t.Errorf("the rest: %v: %s", err, rest)
	}
	t.Logf("%s: %d of %d jobs done when stopped; %s", kind, half, jobs, strings.TrimSpace(said.String()))
	times := map[string]int{}
	for _, id := range logged(t, log) {
		times[id]++
	}
	for i := range jobs {
		if id := strconv.Itoa(i + 1); times[id] != 1 {
			t.Errorf("job %s was done %d times", id, times[id])
		}
	}
}

// logged are the lines that commands have written.
func logged(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}
