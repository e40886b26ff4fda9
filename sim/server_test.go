package sim

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/wire"
)

// patience is how long a test waits for what must happen. It only ever runs out
// in a failing test.
const patience = 60 * time.Second

// program builds the real thing, once for all tests.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "haricot-sim")
	if err != nil {
		return "", err
	}
	built = dir
	if err := watchSources(); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "haricot")
	if out, err := exec.Command("go", "build", "-o", path, "../cmd/haricot").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building haricot: %w\n%s", err, out)
	}
	return path, nil
})

// watchSources looks at all that the program is made of, so that go test does not
// take an old result for one of the program as it is now.
func watchSources() error {
	for _, root := range []string{"../cmd", "../internal"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && strings.HasSuffix(path, ".go") {
				_, err = os.ReadFile(path)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// built is the directory of the program, to be removed at the end.
var built string

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		os.RemoveAll(built)
	}
	os.Exit(code)
}

// server is a process that serves.
type server struct {
	t     *testing.T
	cmd   *exec.Cmd
	began time.Time

	address chan string   // gets the address as soon as the log tells it
	ended   chan struct{} // closed when the process has been waited for
	mutex   sync.Mutex
	log     []string
}

// launch starts haricot with a directory, and does not wait for it.
func launch(t *testing.T, dir string, flags ...string) *server {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-l", "127.0.0.1", "-p", "0", "--log-format", "json", "-b", dir}, flags...)
	s := &server{t: t, cmd: exec.Command(path, args...), address: make(chan string, 1), ended: make(chan struct{})}
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.began = time.Now()
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.ended)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			s.note(lines.Bytes())
		}
		_ = s.cmd.Wait() // The tests look at the state it leaves.
	}()
	t.Cleanup(s.kill)
	return s
}

// serve starts haricot and waits until it listens.
func serve(t *testing.T, dir string, flags ...string) (*server, string) {
	t.Helper()
	s := launch(t, dir, flags...)
	return s, s.listening()
}

// note keeps a line of the log.
func (s *server) note(line []byte) {
	s.mutex.Lock()
	s.log = append(s.log, string(line))
	s.mutex.Unlock()
	var r struct{ Msg, Address string }
	if json.Unmarshal(line, &r) == nil && r.Msg == "listening" {
		select {
		case s.address <- r.Address:
		default:
		}
	}
}

// listening waits until the server listens and says where.
func (s *server) listening() string {
	s.t.Helper()
	select {
	case address := <-s.address:
		return address
	case <-s.ended:
		s.t.Fatalf("the server ended instead of listening: %v\n%s", s.cmd.ProcessState, strings.Join(s.log, "\n"))
	case <-time.After(patience):
		s.end(syscall.SIGQUIT) // It says what it is waiting for.
		s.t.Fatalf("the server does not listen:\n%s", strings.Join(s.log, "\n"))
	}
	return ""
}

// kill ends the process with SIGKILL and waits for its end.
func (s *server) kill() { s.end(syscall.SIGKILL) }

// end sends a signal and waits until the process has ended.
func (s *server) end(sig syscall.Signal) {
	_ = s.cmd.Process.Signal(sig) // It may have ended already.
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.t.Errorf("the server does not end after %v", sig)
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
}

// resident is the process's resident memory in bytes.
func (s *server) resident() int64 {
	s.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		s.t.Skip("there is no /proc to read memory from")
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			if err != nil {
				s.t.Fatal(err)
			}
			return kb << 10
		}
	}
	s.t.Fatal("/proc does not tell the resident memory")
	return 0
}

// talk opens a connection that ends with the test.
func talk(t *testing.T, address string) *wire.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		t.Fatal(err)
	}
	c := wire.New(conn)
	t.Cleanup(func() { c.Close() })
	return c
}

// receive reads a reply that must come.
func receive(t *testing.T, c *wire.Conn) wire.Reply {
	t.Helper()
	r, err := c.Receive()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ask sends a command whose reply must come.
func ask(t *testing.T, c *wire.Conn, format string, args ...any) wire.Reply {
	t.Helper()
	c.Send(format, args...)
	return receive(t, c)
}

// expect sends a command and compares the first word of its reply.
func expect(t *testing.T, c *wire.Conn, word, format string, args ...any) wire.Reply {
	t.Helper()
	r := ask(t, c, format, args...)
	if r.Word != word {
		t.Fatalf("%.60q was answered %v, not %s", fmt.Sprintf(format, args...), r, word)
	}
	return r
}

// stats reads statistics that must be there.
func stats(t *testing.T, c *wire.Conn, format string, args ...any) map[string]string {
	t.Helper()
	return wire.Stats(expect(t, c, "OK", format, args...).Data)
}

// size is what the files below a directory occupy on the disk, in bytes.
func size(t *testing.T, dir string) int64 {
	t.Helper()
	var sum int64
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // The server removes files as it likes.
		}
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && info.Mode().IsRegular() {
			sum += stat.Blocks * 512
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}
