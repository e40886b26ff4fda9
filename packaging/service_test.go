package packaging_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/haricotq/haricot/internal/wire"
)

// units are the files that systemd reads.
var units = []string{"haricot.service", "haricot.socket", "beanstalkd.conf"}

// TestExposure has systemd judge how much of the machine is open to the service, and holds the score to the one in docs/install.md.
func TestExposure(t *testing.T) {
	tools(t, "systemd-analyze")
	said := output(t, exec.Command("systemd-analyze", "security", "--offline=true", "--no-pager", "systemd/haricot.service"))
	score := number(t, said, `Overall exposure level for haricot\.service: ([0-9.]+)`)
	if limit := number(t, read(t, "../docs/install.md"), `exposure level of ([0-9.]+)`); score > limit {
		t.Errorf("the exposure is %v, above the %v of docs/install.md:\n%s", score, limit, said)
	}
}

// number finds a number in a text.
func number(t *testing.T, text, pattern string) float64 {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no %q in %q", pattern, text)
	}
	n, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestUnitsAreUnderstood has systemd read the units, with the program where they say, and finds nothing that it does not know. The
// place of beanstalkd is one more unit for it, with the drop-in.
func TestUnitsAreUnderstood(t *testing.T) {
	tools(t, "systemd-analyze")
	superuser(t)
	dir := t.TempDir()
	lay := func(path, text string, mode os.FileMode) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	unit := func(name string) string {
		text := strings.ReplaceAll(read(t, filepath.Join("systemd", name)), "/usr/bin/", dir+"/usr/bin/")
		return regexp.MustCompile(`man:\S+ `).ReplaceAllString(text, "")
	}
	for _, program := range []string{"haricot", "beanstalkd"} {
		lay("usr/bin/"+program, "#!/bin/sh\n", 0o755)
	}
	lay("haricot.service", unit("haricot.service"), 0o644)
	lay("haricot.socket", unit("haricot.socket"), 0o644)
	lay("place/haricot.service", unit("haricot.service"), 0o644)
	lay("place/haricot.service.d/beanstalkd.conf", unit("beanstalkd.conf"), 0o644)
	for _, files := range [][]string{{"haricot.service", "haricot.socket"}, {"place/haricot.service"}} {
		cmd := exec.Command("systemd-analyze", append([]string{"verify", "--man=no"}, files...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Contains(string(out), "haricot") {
			t.Errorf("systemd-analyze verify %v: %v\n%s", files, err, out)
		}
	}
	for _, name := range units {
		if !strings.Contains(read(t, filepath.Join("systemd", name)), "[") {
			t.Errorf("%s is empty", name)
		}
	}
}

// TestSystemCallsAreAllowed traces a server at work, and finds each of its calls among those that the unit lets through.
func TestSystemCallsAreAllowed(t *testing.T) {
	tools(t, "systemd-analyze", "strace", "dpkg-deb")
	p := debs(t)
	dir := t.TempDir()
	output(t, exec.Command("dpkg-deb", "--extract", p.haricot, dir))
	haricot := filepath.Join(dir, "usr/bin/haricot")
	if out, err := exec.Command("strace", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("processes cannot be traced here: %v\n%s", err, out)
	}
	allowed := allowedCalls(t)

	trace, socket, state := filepath.Join(dir, "trace"), filepath.Join(dir, "s"), filepath.Join(dir, "state")
	if err := os.Mkdir(state, 0o750); err != nil {
		t.Fatal(err)
	}
	r := &root{t: t, dir: dir}
	cmd := exec.Command("strace", "--follow-forks", "--output="+trace, haricot, "serve", "-l", "unix:"+socket, "-l", "127.0.0.1", "-p", "0", "-b", state)
	s := r.serve(cmd, "s")
	c := r.connect("s")
	for range 100 {
		c.put("mail", 0, strings.Repeat("body", 10_000))
	}
	output(t, exec.Command(haricot, "backup", state, filepath.Join(dir, "copy")))
	// The tracer hears no signal, so the server gets it.
	pid, err := strconv.Atoi(wire.Stats(c.must("OK", "stats").Data)["pid"])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.stop()

	call := regexp.MustCompile(`(?m)^[0-9]+ +([a-z_0-9]+)\(`)
	var seen, refused []string
	for _, found := range call.FindAllStringSubmatch(read(t, trace), -1) {
		if !slices.Contains(seen, found[1]) {
			seen = append(seen, found[1])
		}
	}
	for _, name := range seen {
		if !slices.Contains(allowed, name) {
			refused = append(refused, name)
		}
	}
	if len(seen) < 30 || len(refused) > 0 {
		t.Errorf("of %d calls, the unit refuses %v", len(seen), refused)
	}
}

// allowedCalls are the system calls that the unit's SystemCallFilter lines leave, as systemd understands them.
func allowedCalls(t *testing.T) []string {
	t.Helper()
	var allowed []string
	for line := range strings.Lines(read(t, "systemd/haricot.service")) {
		filter, ok := strings.CutPrefix(strings.TrimSpace(line), "SystemCallFilter=")
		if !ok {
			continue
		}
		words, deny := strings.CutPrefix(filter, "~")
		for _, word := range strings.Fields(words) {
			for _, name := range callsOf(t, word) {
				if deny {
					allowed = slices.DeleteFunc(allowed, func(a string) bool { return a == name })
				} else {
					allowed = append(allowed, name)
				}
			}
		}
	}
	// systemd adds what is needed to start a program at all.
	return append(allowed, "execve", "exit", "exit_group", "rt_sigreturn", "sigreturn")
}

// callsOf gives the calls in a set, those of sets within it included.
func callsOf(t *testing.T, set string) []string {
	t.Helper()
	if !strings.HasPrefix(set, "@") {
		return []string{set}
	}
	var names []string
	for line := range strings.Lines(output(t, exec.Command("systemd-analyze", "syscall-filter", set))) {
		if name := strings.TrimSpace(line); strings.HasPrefix(line, " ") && !strings.HasPrefix(name, "#") {
			names = append(names, callsOf(t, name)...)
		}
	}
	return names
}
