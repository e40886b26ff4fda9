package conformance

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	update = flag.Bool("update", false, "record the expected replies anew from the installed beanstalkd")
	long   = flag.Bool("long", false, "play the scripts that sleep long or move gigabytes over real sockets too")
)

// longestSleep is how long a script may sleep to be played with the real clock
// without -long.
const longestSleep = 3 * time.Second

// together is how many scripts are played at once: they wait far more than they
// work, so the number of processors is no measure.
const together = "16"

func TestMain(m *testing.M) {
	if settings, ok := os.LookupEnv(childSettings); ok {
		os.Exit(serveAsChild(settings))
	}
	flag.Parse()
	if err := flag.Set("test.parallel", together); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// requireReference makes a missing beanstalkd a failure and not a skip.
const requireReference = "HARICOT_REQUIRE_REFERENCE"

// TestReference plays every script against the reference server, as it was
// recorded. It shows that the corpus says the truth about it.
func TestReference(t *testing.T) {
	path, err := exec.LookPath("beanstalkd")
	if err != nil {
		if os.Getenv(requireReference) != "" {
			t.Fatal("beanstalkd is not installed: apt-get install beanstalkd")
		}
		t.Skip("beanstalkd is not installed; the recorded replies are not checked against it")
	}
	for _, s := range scripts(t) {
		t.Run(scriptName(s), func(t *testing.T) {
			t.Parallel()
			if s.OnlyHaricot != "" {
				t.Skip("not recorded from the reference:", s.OnlyHaricot)
			}
			if !*update && !*long && (s.Heavy || s.Duration(Reference) > longestSleep) {
				t.Skip("needs -long")
			}
			start := func(t *testing.T, grace time.Duration) Target {
				return startReference(t, path, s.Setting, grace)
			}
			if !*update {
				playPatiently(t, s, Reference, start)
				return
			}
			content, err := s.Record(start(t, graces[0]))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(s.Name, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// graces are the times that a server with a real clock gets, in one attempt after
// the other, to do what follows from the last bytes. On a busy machine a script
// may fail because the server is late, which a longer grace helps, or because
// the script is late, which a shorter one helps. A server that is later than its
// grace makes a test that nothing arrives pass for no reason; fake time, which
// has one attempt and no grace, has no such test.
var graces = []time.Duration{20 * time.Millisecond, 100 * time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond}

// playPatiently plays a script with the real clock against a fresh server.
func playPatiently(t *testing.T, s *Script, side Side, start func(t *testing.T, grace time.Duration) Target) {
	t.Helper()
	var err error
	for _, grace := range graces {
		if err = s.Play(side, start(t, grace)); err == nil {
			return
		}
		t.Log("once more, as the machine may be busy:", err)
	}
	t.Error(err)
}

// scripts loads the corpus.
func scripts(t *testing.T) []*Script {
	t.Helper()
	all, err := Load("testdata")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("no scripts in testdata")
	}
	return all
}

// scriptName is a script's name in the output of go test.
func scriptName(s *Script) string {
	name, err := filepath.Rel("testdata", s.Name)
	if err != nil {
		return s.Name
	}
	return name[:len(name)-len(filepath.Ext(name))]
}

// reference is a running beanstalkd.
type reference struct {
	process
}

// startReference starts beanstalkd on a socket made here and handed over in the
// way of systemd, so that no port has to be guessed and nobody has to wait until
// the server listens. It is killed and waited for when the test ends.
func startReference(t *testing.T, path string, set Settings, grace time.Duration) *reference {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr, f := handOver(t, ln.(*net.TCPListener))
	// beanstalkd sets this on the sockets it makes itself; accepted connections
	// inherit it.
	if err := syscall.SetsockoptInt(int(f.Fd()), syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1); err != nil {
		t.Fatal(err)
	}

	size := "65535"
	if set.MaxJobSize != 0 || set.EmptyOnly {
		size = strconv.FormatUint(uint64(set.MaxJobSize), 10)
	}
	cmd := exec.Command("/bin/sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" "$@"`, path, "-z", size)
	cmd.ExtraFiles = []*os.File{f}
	cmd.Stderr = os.Stderr
	endWithTest(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	r := &reference{process{addr, cmd.Process, grace}}
	if err := r.awaitHandler(); err != nil {
		t.Fatal(err)
	}
	return r
}

// Drain enters drain mode.
func (r *reference) Drain(on bool) error {
	if !on {
		return errors.New("beanstalkd never leaves drain mode")
	}
	return r.signal(syscall.SIGUSR1)
}

// awaitHandler waits until the process catches SIGUSR1: until then the signal
// would end it, and afterwards it is about to serve.
func (r *reference) awaitHandler() error {
	status := fmt.Sprintf("/proc/%d/status", r.os.Pid)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		b, err := os.ReadFile(status)
		if err != nil {
			return err
		}
		_, rest, _ := strings.Cut(string(b), "SigCgt:\t")
		mask, _, _ := strings.Cut(rest, "\n")
		caught, err := strconv.ParseUint(mask, 16, 64)
		if err != nil {
			return fmt.Errorf("%s: %w", status, err)
		}
		if caught&(1<<(syscall.SIGUSR1-1)) != 0 {
			return nil
		}
	}
	return fmt.Errorf("beanstalkd does not catch SIGUSR1")
}
