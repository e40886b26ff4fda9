package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen. It only ever runs out in a failing test.
const patience = 30 * time.Second

// instance is a haricot process under test whose log, in JSON, is read as it comes.
type instance struct {
	t     *testing.T
	cmd   *exec.Cmd
	ended chan struct{} // ended is closed when the process has been waited for.
	mu    sync.Mutex
	more  chan struct{} // more is closed and renewed with every record.
	log   []record
	addrs []string
}

// record is one line of a log.
type record map[string]any

func (r record) String(key string) string {
	s, _ := r[key].(string)
	return s
}

// command prepares a haricot process that logs in JSON.
func command(args ...string) *exec.Cmd {
	return exec.Command("haricot", append(args, "--log-format", "json")...)
}

// shell prepares one that a shell sets something up for.
func shell(setup string, args ...string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", setup+` exec haricot "$@"`, "sh")
	cmd.Args = append(append(cmd.Args, args...), "--log-format", "json")
	return cmd
}

// start runs the process until the end of the test at the latest.
func start(t *testing.T, cmd *exec.Cmd) *instance {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d := &instance{t: t, cmd: cmd, ended: make(chan struct{}), more: make(chan struct{})}
	go func() {
		defer close(d.ended)
		d.read(stderr)
		_ = cmd.Wait() // The tests look at the state it leaves.
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // It has ended already, or must.
		<-d.ended
		if t.Failed() {
			for _, r := range d.records() {
				t.Logf("log: %v", r)
			}
		}
	})
	return d
}

// serve starts haricot and waits until it listens on as many sockets as there are to be.
func serve(t *testing.T, cmd *exec.Cmd, sockets int) *instance {
	t.Helper()
	d := start(t, cmd)
	for i := range sockets {
		r := d.event("listening", i)
		address := r.String("address")
		if _, _, err := net.SplitHostPort(address); err != nil {
			address = "unix:" + address
		}
		d.addrs = append(d.addrs, address)
	}
	return d
}

func (d *instance) read(r io.Reader) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var rec record
		if err := json.Unmarshal(lines.Bytes(), &rec); err != nil {
			rec = record{"msg": "not JSON", "line": lines.Text()}
		}
		d.mu.Lock()
		d.log = append(d.log, rec)
		close(d.more)
		d.more = make(chan struct{})
		d.mu.Unlock()
	}
}

func (d *instance) records() []record {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]record(nil), d.log...)
}

// find gives the records whose message or error contains a text.
func (d *instance) find(text string) []record {
	var found []record
	for _, r := range d.records() {
		if strings.Contains(r.String("msg")+": "+r.String("error"), text) {
			found = append(found, r)
		}
	}
	return found
}

// event waits for a message in the log, after skipping some of the same.
func (d *instance) event(text string, skip int) record {
	d.t.Helper()
	deadline := time.After(patience)
	for {
		d.mu.Lock()
		more := d.more
		d.mu.Unlock()
		if found := d.find(text); len(found) > skip {
			return found[skip]
		}
		select {
		case <-more:
		case <-d.ended:
			if found := d.find(text); len(found) > skip {
				return found[skip]
			}
			d.t.Fatalf("the process ended (%v) without saying %q", d.cmd.ProcessState, text)
		case <-deadline:
			d.t.Fatalf("no log record says %q", text)
		}
	}
}

func (d *instance) signal(sig syscall.Signal) {
	d.t.Helper()
	if err := d.cmd.Process.Signal(sig); err != nil {
		d.t.Fatalf("signal %v: %v", sig, err)
	}
}

// status waits for the end of the process and gives its exit status; -1 if a signal killed it.
func (d *instance) status() int {
	d.t.Helper()
	select {
	case <-d.ended:
	case <-time.After(patience):
		d.t.Fatal("the process does not end")
	}
	return d.cmd.ProcessState.ExitCode()
}

// stop ends the server as its operator would and expects it to agree.
func (d *instance) stop() {
	d.t.Helper()
	d.signal(syscall.SIGTERM)
	if got := d.status(); got != exitOK {
		d.t.Errorf("exit status %d after SIGTERM, want 0", got)
	}
}

// client is a connection that speaks the protocol line by line.
type client struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

// dial connects to a server by an address as -l takes it, with the port.
func dial(t *testing.T, address string) *client {
	t.Helper()
	network := "tcp"
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		network, address = "unix", path
	}
	conn, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &client{t: t, conn: conn, in: bufio.NewReader(conn)}
}

func (c *client) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, text); err != nil {
		c.t.Fatalf("sending %.40q: %v", text, err)
	}
}

// line reads one line without its end; "EOF" if the server has closed.
func (c *client) line() string {
	c.t.Helper()
	s, err := c.in.ReadString('\n')
	if errors.Is(err, io.EOF) && s == "" {
		return "EOF"
	}
	if err != nil {
		c.t.Fatalf("reading a reply: %v", err)
	}
	return strings.TrimSuffix(s, "\r\n")
}

// ask sends a command and reads a reply of one line.
func (c *client) ask(command string) string {
	c.t.Helper()
	c.send(command + "\r\n")
	return c.line()
}

// answers checks that a server is there and speaks the protocol.
func (c *client) answers() {
	c.t.Helper()
	if got := c.ask("list-tube-used"); got != "USING default" {
		c.t.Fatalf("list-tube-used: %q, want USING default", got)
	}
}

// stat reads one value of the server's statistics.
func (c *client) stat(key string) string {
	c.t.Helper()
	c.ask("stats")
	value := ""
	for {
		line := strings.TrimSpace(c.line())
		if line == "" || line == "EOF" {
			return value
		}
		if v, ok := strings.CutPrefix(line, key+": "); ok {
			value = v
		}
	}
}

// outcome is what a command line came to that ends by itself.
type outcome struct {
	status         int
	stdout, stderr string
}

// runs executes a program to its end.
func runs(t *testing.T, program string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// reference finds the installed beanstalkd, which our own process of that name would hide in PATH.
func reference(t *testing.T) string {
	t.Helper()
	const path = "/usr/bin/beanstalkd"
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("HARICOT_REQUIRE_REFERENCE") != "" {
			t.Fatalf("the reference server is not installed, and HARICOT_REQUIRE_REFERENCE is set: %v", err)
		}
		t.Skip("the reference server is not installed: apt-get install beanstalkd")
	}
	return path
}
