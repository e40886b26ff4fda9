// Package client_test runs github.com/beanstalkd/go-beanstalk against the
// server that HARICOT_ADDR names.
package client_test

import (
	"fmt"
	"maps"
	"net"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/beanstalkd/go-beanstalk"
)

// verbs names every method of the library that sends a command, and the
// command. A method that is missing here, or whose command no test sends,
// fails the run.
var verbs = map[string]string{
	"Conn.Delete":      "delete",
	"Conn.Release":     "release",
	"Conn.Bury":        "bury",
	"Conn.KickJob":     "kick-job",
	"Conn.Touch":       "touch",
	"Conn.Peek":        "peek",
	"Conn.ReserveJob":  "reserve-job",
	"Conn.Stats":       "stats",
	"Conn.StatsJob":    "stats-job",
	"Conn.ListTubes":   "list-tubes",
	"Tube.Put":         "put",
	"Tube.PeekReady":   "peek-ready",
	"Tube.PeekDelayed": "peek-delayed",
	"Tube.PeekBuried":  "peek-buried",
	"Tube.Kick":        "kick",
	"Tube.Stats":       "stats-tube",
	"Tube.Pause":       "pause-tube",
	"TubeSet.Reserve":  "reserve-with-timeout",
}

// implied are the commands that the library sends by itself, to get a
// connection to use and watch what a Tube or TubeSet names.
var implied = []string{"use", "watch", "ignore"}

var sent = &wordLog{words: map[string]bool{}}

func TestMain(m *testing.M) {
	if os.Getenv("HARICOT_ADDR") == "" {
		fmt.Fprintln(os.Stderr, "HARICOT_ADDR is not set; it must name the server to test as host:port")
		os.Exit(2)
	}
	os.Exit(m.Run())
}

// wordLog holds the first words of all lines written to servers.
type wordLog struct {
	mu    sync.Mutex
	words map[string]bool
}

func (l *wordLog) note(p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.SplitSeq(string(p), "\r\n") {
		word, _, _ := strings.Cut(line, " ")
		l.words[word] = true
	}
}

// loggedConn notes what is written to a connection. Nothing is read back
// from the log but words of commands, so that bodies in it do no harm.
type loggedConn struct {
	net.Conn
	log *wordLog
}

func (c loggedConn) Write(p []byte) (int, error) {
	c.log.note(p)
	return c.Conn.Write(p)
}

// dial opens a connection that ends with the test.
func dial(t *testing.T) *beanstalk.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", os.Getenv("HARICOT_ADDR"))
	if err != nil {
		t.Fatal(err)
	}
	c := beanstalk.NewConn(loggedConn{conn, sent})
	t.Cleanup(func() { c.Close() })
	return c
}

// inTube opens a connection whose Tube and TubeSet are the named tube alone.
func inTube(t *testing.T, name string) *beanstalk.Conn {
	t.Helper()
	c := dial(t)
	c.Tube = *beanstalk.NewTube(c, name)
	c.TubeSet = *beanstalk.NewTubeSet(c, name)
	return c
}

func put(t *testing.T, c *beanstalk.Conn, body string, pri uint32, delay, ttr time.Duration) uint64 {
	t.Helper()
	id, err := c.Put([]byte(body), pri, delay, ttr)
	if err != nil {
		t.Fatalf("put: %v", err)
	}
	return id
}

// reserve takes a job, which must be that one.
func reserve(t *testing.T, c *beanstalk.Conn, wantID uint64, wantBody string) {
	t.Helper()
	id, body, err := c.Reserve(5 * time.Second)
	if err != nil || id != wantID || string(body) != wantBody {
		t.Fatalf("reserve: %d, %.40q, %v; want %d, %.40q", id, body, err, wantID, wantBody)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// isReference tells whether the server is beanstalkd, 1.x.
func isReference(t *testing.T, c *beanstalk.Conn) bool {
	t.Helper()
	stats, err := c.Stats()
	must(t, err)
	return strings.HasPrefix(stats["version"], `"1.`)
}

// await asks for the statistics until a field has the value.
func await(t *testing.T, c *beanstalk.Conn, field, want string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		stats, err := c.Stats()
		must(t, err)
		if stats[field] == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is %s, want %s", field, stats[field], want)
		}
	}
}

// signal sends a signal to the process that the server says it is, and that
// must be the process that was started.
func signal(t *testing.T, c *beanstalk.Conn, s syscall.Signal) {
	t.Helper()
	stats, err := c.Stats()
	must(t, err)
	if started := os.Getenv("HARICOT_PID"); started != "" && started != stats["pid"] {
		t.Fatalf("the server reports pid %s, but %s was started", stats["pid"], started)
	}
	var pid int
	if _, err := fmt.Sscan(stats["pid"], &pid); err != nil {
		t.Fatal(err)
	}
	must(t, syscall.Kill(pid, s))
}

// methods lists the exported methods of the library's three types, without
// those that a Conn has from its Tube and TubeSet.
func methods() []string {
	tube, set := reflect.TypeFor[*beanstalk.Tube](), reflect.TypeFor[*beanstalk.TubeSet]()
	var names []string
	for _, typ := range []reflect.Type{reflect.TypeFor[*beanstalk.Conn](), tube, set} {
		for i := range typ.NumMethod() {
			name := typ.Method(i).Name
			_, ofTube := tube.MethodByName(name)
			_, ofSet := set.MethodByName(name)
			// Conn has a Stats of its own, which hides the Tube's.
			if typ.Elem().Name() == "Conn" && (ofTube && name != "Stats" || ofSet) {
				continue
			}
			names = append(names, typ.Elem().Name()+"."+name)
		}
	}
	slices.Sort(names)
	return names
}

// checkCoverage is called by the last test.
func checkCoverage(t *testing.T) {
	t.Helper()
	known := append(slices.Collect(maps.Keys(verbs)), "Conn.Close")
	slices.Sort(known)
	if got := methods(); !slices.Equal(got, known) {
		t.Errorf("the library's methods are\n%q, the table of verbs has\n%q", got, known)
	}
	for method, verb := range verbs {
		if !sent.words[verb] {
			t.Errorf("no test uses %s", method)
		}
	}
	for _, verb := range implied {
		if !sent.words[verb] {
			t.Errorf("no test makes the library send %s", verb)
		}
	}
}
