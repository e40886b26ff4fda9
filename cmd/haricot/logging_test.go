package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haricotq/haricot/internal/protocol"
)

// TestLogAtInfo tells the life of the server and nothing of its clients.
func TestLogAtInfo(t *testing.T) {
	d := serve(t, command("-l", "127.0.0.1", "-p", "0"), 1)
	c := dial(t, d.addrs[0])
	for range 50 {
		c.answers()
	}
	c.conn.Close()
	d.stop()
	var got []string
	for _, r := range d.records() {
		if r["time"] == nil || r["level"] != "INFO" {
			t.Errorf("record %v, want a time and level INFO", r)
		}
		got = append(got, r.String("msg"))
	}
	want := []string{"starting", "listening", "stopping; a second signal exits at once", "stopped"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r := d.event("starting", 0); r.String("version") != protocol.Version {
		t.Errorf("version %q in the log, want %s", r.String("version"), protocol.Version)
	}
}

// TestLogAtDebug adds connections with the peer's address, but no commands.
func TestLogAtDebug(t *testing.T) {
	for _, flag := range []string{"-V", "-VV", "--verbose", "--log-level=debug"} {
		d := serve(t, command("-l", "127.0.0.1", "-p", "0", flag), 1)
		c := dial(t, d.addrs[0])
		for range 50 {
			c.answers()
		}
		peer := c.conn.LocalAddr().String()
		c.conn.Close()
		d.stop()
		lines, peers := 0, 0
		for _, r := range d.records() {
			if r["level"] != "DEBUG" {
				continue
			}
			lines++
			for _, v := range r {
				if s, ok := v.(string); ok && strings.Contains(s, peer) {
					peers++
				}
			}
		}
		if peers == 0 {
			t.Errorf("%s: no record names the peer %s", flag, peer)
		}
		if lines > 20 {
			t.Errorf("%s: %d records at debug for one connection", flag, lines)
		}
	}
}

// TestLogLevel leaves out what is less important than asked for. -V asks for more, whatever the level.
func TestLogLevel(t *testing.T) {
	path := "unix:" + t.TempDir() + "/s"
	for level, want := range map[string]int{"info": 2, "warn": 1, "error": 0} {
		cmd := command("-l", path, "-c", "--log-level", level)
		d := start(t, cmd)
		dial(t, awaitSocket(t, strings.TrimPrefix(path, "unix:"))).answers()
		d.stop()
		if got := len(d.find("starting")) + len(d.find("ignored")); got != want {
			t.Errorf("%d records at level %s, want %d", got, level, want)
		}
	}
	d := serve(t, command("-l", path, "-V", "--log-level=error"), 1)
	d.stop()
}

// TestProcs keeps places free beside the event loop's, unless somebody has decided otherwise.
func TestProcs(t *testing.T) {
	path := "unix:" + t.TempDir() + "/s"
	for setup, enough := range map[string]func(n float64) bool{
		"unset GOMAXPROCS;":    func(n float64) bool { return n >= 3 },
		"export GOMAXPROCS=1;": func(n float64) bool { return n == 1 },
	} {
		d := serve(t, shell(setup, "-l", path), 1)
		n, ok := d.event("starting", 0)["procs"].(float64)
		if !ok || !enough(n) {
			t.Errorf("%s %v procs", setup, n)
		}
		allAnswer(t, d)
	}
}
