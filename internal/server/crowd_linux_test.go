package server

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// crowd is how many idle connections there are, and idleSize how many bytes of
// the server's memory each may take.
const (
	crowd    = 10000
	idleSize = 2 << 10
)

// TestIdleCrowd connects many clients to a server in a process of its own, has
// each say something, and then nothing more.
func TestIdleCrowd(t *testing.T) {
	needDescriptors(t, crowd+100)
	child := startChild(t)
	asking := newClient(t, child.dial(t))
	asking.ask("list-tube-used\r\n", "USING default\r\n")
	before := child.resident(t)
	for i := range crowd {
		c := newClient(t, child.dial(t))
		switch i % 4 {
		case 0: // says nothing at all
		case 1:
			c.ask("list-tube-used\r\n", "USING default\r\n")
		case 2:
			c.send("reserve\r\n")
		case 3:
			c.ask(fmt.Sprintf("watch tube%d\r\nlist-tubes-wat", i%40), "WATCHING 2\r\n")
		}
	}
	if got := asking.stat("current-connections"); got != crowd+1 {
		t.Fatalf("%d connections, want %d", got, crowd+1)
	}
	each := (child.resident(t) - before) / crowd
	t.Logf("an idle connection takes %d bytes", each)
	if each > idleSize {
		t.Errorf("an idle connection takes %d bytes, want at most %d", each, idleSize)
	}

	used := child.processorTime(t)
	time.Sleep(2 * time.Second) //nolint:forbidigo // What a process does not do can only be seen by watching it for a while.
	used = child.processorTime(t) - used
	t.Logf("two seconds with %d idle connections took %v of processor time", crowd, used)
	if used > 100*time.Millisecond {
		t.Errorf("two seconds with %d idle connections took %v of processor time", crowd, used)
	}
	asking.ask("list-tube-used\r\n", "USING default\r\n")
}

// needDescriptors skips the test where a process cannot have so many.
func needDescriptors(t *testing.T, n uint64) {
	t.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Cur < n {
		t.Skipf("a process may have only %d descriptors here, and %d are needed (ulimit -n)", limit.Cur, n)
	}
}

// child is a haricot in a process of its own.
type child struct {
	pid  int
	path string // of its socket
}

// startChild builds the program and starts it, until the end of the test.
func startChild(t *testing.T) *child {
	t.Helper()
	dir := t.TempDir()
	program, path := filepath.Join(dir, "haricot"), filepath.Join(dir, "s")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/haricotq/haricot/cmd/haricot")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	cmd := exec.CommandContext(t.Context(), program, "-l", "unix:"+path)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "listening") {
			return &child{cmd.Process.Pid, path}
		}
	}
	t.Fatal("the server does not listen")
	return nil
}

// dial connects until the end of the test.
func (c *child) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", c.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// resident is how many bytes of memory the process has.
func (c *child) resident(t *testing.T) int {
	t.Helper()
	for line := range strings.Lines(c.file(t, "status")) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.Atoi(strings.Fields(value)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("no VmRSS")
	return 0
}

// processorTime is what the process has used, in hundredths of a second.
func (c *child) processorTime(t *testing.T) time.Duration {
	t.Helper()
	_, rest, _ := strings.Cut(c.file(t, "stat"), ") ")
	fields := strings.Fields(rest)
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if err1 != nil || err2 != nil {
		t.Fatalf("unreadable times in %q", rest)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

func (c *child) file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", c.pid, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
