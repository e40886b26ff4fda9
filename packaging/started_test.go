package packaging_test

import (
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/wire"
)

// patience is how long a test waits for what must happen. It only ever runs out in a failing test.
const patience = 30 * time.Second

// service is a server that was started in a root as its unit says, for no systemd is there to do it.
type service struct {
	r    *root
	cmd  *exec.Cmd
	said *os.File
}

// settings are the lines of units that say how a service is run. A later file of a unit clears what it sets to nothing.
func (r *root) settings(units ...string) (files, environment []string, start string) {
	r.t.Helper()
	for _, unit := range units {
		for line := range strings.Lines(read(r.t, r.path("usr/lib/systemd/system", unit))) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			switch {
			case key == "EnvironmentFile" && value == "":
				files = nil
			case key == "EnvironmentFile":
				files = append(files, strings.TrimPrefix(value, "-"))
			case key == "Environment":
				environment = append(environment, strings.Fields(value)...)
			case key == "ExecStart":
				start = value
			}
		}
	}
	return files, environment, start
}

// start runs the command line of a unit and its drop-ins as a user, until the end of the test, and waits for the server to answer
// at a unix socket.
func (r *root) start(user, socket string, units ...string) *service {
	r.t.Helper()
	files, environment, line := r.settings(units...)
	script := ""
	for _, file := range files {
		script += "[ ! -e " + file + " ] || . " + file + "\n"
	}
	cmd := r.command("sh", "-ec", script+"exec "+regexp.MustCompile(`\$\{(\w+)\}`).ReplaceAllString(line, `"$$$1"`))
	cmd.Args = append([]string{"chroot", "--userspec=" + user + ":" + user, "--groups="}, cmd.Args[1:]...)
	cmd.Env = append(cmd.Env, environment...)
	return r.serve(cmd, socket)
}

// serve runs a server until the end of the test, and waits for it to answer at a unix socket.
func (r *root) serve(cmd *exec.Cmd, socket string) *service {
	r.t.Helper()
	said, err := os.CreateTemp(r.dir, "said-*")
	if err != nil {
		r.t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	s := &service{r, cmd, said}
	r.t.Cleanup(s.stop)
	s.await(socket)
	return s
}

// await waits until somebody listens.
func (s *service) await(socket string) {
	s.r.t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for deadline := time.After(patience); ; {
		conn, err := net.Dial("unix", s.r.path(socket))
		if err == nil {
			conn.Close()
			return
		}
		select {
		case <-again.C:
		case <-deadline:
			s.r.t.Fatalf("%v does not listen on %s: %v\n%s", s.cmd.Args, socket, err, read(s.r.t, s.said.Name()))
		}
	}
}

// stop ends it as systemd does, and waits for its end.
func (s *service) stop() {
	if s.cmd.ProcessState != nil {
		return
	}
	_ = s.cmd.Process.Signal(os.Interrupt) // It has ended already, or will.
	_ = s.cmd.Wait()                       // A server that a signal has ended reports just that.
	s.said.Close()
}

// client is a connection whose commands must all be answered.
type client struct {
	t *testing.T
	*wire.Conn
}

// connect connects to a server in the root, until the end of the test.
func (r *root) connect(socket string) client {
	r.t.Helper()
	conn, err := net.Dial("unix", r.path(socket))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		r.t.Fatal(err)
	}
	return client{r.t, wire.New(conn)}
}

// must sends a command that is to be answered with a word.
func (c client) must(word, format string, args ...any) wire.Reply {
	c.t.Helper()
	reply, err := c.Ask(format, args...)
	if err != nil || reply.Word != word {
		c.t.Fatalf("%q: %v, %v; want %s", format, &reply, err, word)
	}
	return reply
}

// put puts a job.
func (c client) put(tube string, delay int, body string) protocol.JobID {
	c.t.Helper()
	c.must("USING", "use %s", tube)
	return c.must("INSERTED", "put 7 %d 60 %d\r\n%s", delay, len(body), body).ID()
}

// states tells of each job in which state it is.
func (c client) states(ids ...protocol.JobID) []string {
	c.t.Helper()
	var states []string
	for _, id := range ids {
		reply := c.must("OK", "stats-job %d", id)
		stats := wire.Stats(reply.Data)
		states = append(states, stats["tube"]+" "+stats["state"]+" "+stats["pri"])
	}
	return states
}
