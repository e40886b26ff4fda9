package main

import (
	"fmt"
	"maps"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/wire"
)

// talker is a connection whose commands must all be answered.
type talker struct {
	t testing.TB
	*wire.Conn
}

// connected connects to a server, until the end of the test.
func connected(t testing.TB, address string) talker {
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
	if err := conn.SetDeadline(time.Now().Add(2 * patience)); err != nil {
		t.Fatal(err)
	}
	return talker{t, wire.New(conn)}
}

// ask sends a command and returns its reply.
func (c talker) ask(format string, args ...any) wire.Reply {
	c.t.Helper()
	r, err := c.Ask(format, args...)
	if err != nil {
		c.t.Fatalf("%.60q: %v", fmt.Sprintf(format, args...), err)
	}
	return r
}

// must sends a command that is to be answered with a word.
func (c talker) must(word, format string, args ...any) wire.Reply {
	c.t.Helper()
	r := c.ask(format, args...)
	if r.Word != word {
		c.t.Fatalf("%.60q: %v, want %s", fmt.Sprintf(format, args...), &r, word)
	}
	return r
}

// put puts a job with a time to run of ten minutes.
func (c talker) put(tube string, priority, delay int, body string) protocol.JobID {
	c.t.Helper()
	c.must("USING", "use %s", tube)
	r := c.must("INSERTED", "put %d %d 600 %d\r\n%s", priority, delay, len(body), body)
	return r.ID()
}

// stats reads the statistics of a job; nil if there is none.
func (c talker) stats(id protocol.JobID) map[string]string {
	c.t.Helper()
	r := c.ask("stats-job %d", id)
	if r.Word == "NOT_FOUND" {
		return nil
	}
	return wire.Stats(r.Data)
}

// count reads a number of a tube's statistics; 0 if there is no such tube.
func (c talker) count(tube, key string) int {
	c.t.Helper()
	r := c.ask("stats-tube %s", tube)
	n, _ := strconv.Atoi(wire.Stats(r.Data)[key]) // It is a number, or the tube is not there.
	return n
}

// buried gives the ids of a tube's buried jobs in their order, and deletes them.
func (c talker) buried(tube string) []protocol.JobID {
	c.t.Helper()
	c.must("USING", "use %s", tube)
	var ids []protocol.JobID
	for {
		r := c.ask("peek-buried")
		if r.Word == "NOT_FOUND" {
			return ids
		}
		ids = append(ids, r.ID())
		c.must("DELETED", "delete %d", r.ID())
	}
}

// beanstalkd is a reference server that keeps a log.
type beanstalkd struct {
	t       *testing.T
	dir     string
	address string
	cmd     *exec.Cmd
	args    []string
}

// startBeanstalkd starts one, until the end of the test. Without a directory it keeps no log.
func startBeanstalkd(t *testing.T, dir string, args ...string) *beanstalkd {
	t.Helper()
	b := &beanstalkd{t: t, dir: dir, args: args}
	reference(t)
	b.start()
	t.Cleanup(func() { b.kill() })
	return b
}

func (b *beanstalkd) start() {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), "s")
	args := append([]string{"-l", "unix:" + path}, b.args...)
	if b.dir != "" {
		args = append(args, "-b", b.dir)
	}
	b.cmd = exec.Command(reference(b.t), args...)
	if err := b.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.address = awaitSocket(b.t, path)
}

// kill ends it as a loss of power does, its writes apart.
func (b *beanstalkd) kill() {
	_ = b.cmd.Process.Kill() // It has ended already, or must.
	_ = b.cmd.Wait()
}

// lasting is what a job's statistics say that must survive.
func lasting(stats map[string]string) map[string]string {
	kept := maps.Clone(stats)
	for _, key := range []string{"age", "time-left", "file"} {
		delete(kept, key)
	}
	if kept["state"] == "reserved" {
		kept["state"] = "ready"
	}
	return kept
}

// near tells whether a number of seconds is what it was, but for the time since then; either may be cut by a second.
func near(now, then string, since int) bool {
	m, _ := strconv.Atoi(now) // Both are numbers that a server has written.
	n, _ := strconv.Atoi(then)
	return -2 <= m-n-since && m-n-since <= 2
}
