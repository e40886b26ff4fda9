package main

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDrainSignals refuses puts after SIGUSR1 and takes them after SIGUSR2; other commands go on.
func TestDrainSignals(t *testing.T) {
	d := serve(t, command("-l", "127.0.0.1", "-p", "0"), 1)
	c := dial(t, d.addrs[0])
	put := func() string { return strings.Fields(c.ask("put 0 0 60 1\r\nx"))[0] }
	if got := put(); got != "INSERTED" {
		t.Fatalf("put: %s, want INSERTED", got)
	}
	for range 2 { // A second SIGUSR1 changes nothing.
		d.signal(syscall.SIGUSR1)
		eventually(t, "DRAINING", func() bool { return put() == "DRAINING" })
		c.answers()
	}
	d.signal(syscall.SIGUSR2)
	eventually(t, "the end of draining", func() bool { return put() == "INSERTED" })
	d.event("draining ended", 0)
	d.stop()
}

// TestGracefulStop wakes a worker that waits, answers what was sent before the signal, and exits with 0.
func TestGracefulStop(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			d := serve(t, command("-l", "127.0.0.1", "-p", "0"), 1)
			worker, producer := dial(t, d.addrs[0]), dial(t, d.addrs[0])
			worker.send("watch empty\r\nignore default\r\nreserve\r\n")
			for _, want := range []string{"WATCHING 2", "WATCHING 1"} {
				if got := worker.line(); got != want {
					t.Fatalf("reply %q, want %q", got, want)
				}
			}
			const jobs = 200
			producer.send(strings.Repeat("put 0 0 60 5\r\nhello\r\n", jobs))
			if got := producer.line(); got != "INSERTED 1" {
				t.Fatalf("put: %q, want INSERTED 1", got)
			}
			d.signal(sig)
			for id := 2; id <= jobs; id++ {
				if got, want := producer.line(), fmt.Sprintf("INSERTED %d", id); got != want {
					t.Fatalf("reply %q to a put sent before the signal, want %q", got, want)
				}
			}
			if got := worker.line(); got != "TIMED_OUT" {
				t.Errorf("the waiting worker got %q, want TIMED_OUT", got)
			}
			for _, c := range []*client{worker, producer} {
				if got := c.line(); got != "EOF" {
					t.Errorf("reply %q after the end, want none", got)
				}
			}
			if got := d.status(); got != exitOK {
				t.Errorf("exit status %d, want 0", got)
			}
			d.event("stopped", 0)
		})
	}
}

// TestStopDespiteStuckClient does not let a client that never reads its replies keep the server from ending.
func TestStopDespiteStuckClient(t *testing.T) {
	d := serve(t, command("-l", "127.0.0.1", "-p", "0"), 1)
	stuck(t, d)
	d.stop()
}

// TestSecondSignalExits makes the system deliver two stop signals at once, to a server that has something to wait for.
func TestSecondSignalExits(t *testing.T) {
	d := serve(t, command("-l", "127.0.0.1", "-p", "0"), 1)
	stuck(t, d)
	d.signal(syscall.SIGSTOP)
	d.signal(syscall.SIGTERM)
	d.signal(syscall.SIGINT)
	d.signal(syscall.SIGCONT)
	if got := d.status(); got != exitSignal+2 && got != exitSignal+15 {
		t.Errorf("exit status %d after two signals, want 130 or 143, whichever came last", got)
	}
}

// stuck is a client that asks for much and reads nothing, until no more can be sent.
func stuck(t *testing.T, d *instance) {
	t.Helper()
	c := dial(t, d.addrs[0])
	c.answers()
	c.send(strings.Repeat("stats\r\n", 4000))
}

// TestSignalIgnoredAtStart leaves SIGHUP alone under nohup, and SIGINT in a shell's background job.
func TestSignalIgnoredAtStart(t *testing.T) {
	d := serve(t, shell(`trap "" HUP INT;`, "-l", "127.0.0.1", "-p", "0"), 1)
	d.signal(syscall.SIGHUP)
	d.signal(syscall.SIGINT)
	dial(t, d.addrs[0]).answers()
	d.stop()
	if got := d.event("stopping", 0).String("signal"); got != "SIGTERM" {
		t.Errorf("stopped by %s, want SIGTERM only", got)
	}
}

// TestLogReaderGone goes on serving when nobody reads the log any more.
func TestLogReaderGone(t *testing.T) {
	path := t.TempDir() + "/s"
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := command("-l", "unix:"+path)
	cmd.Stderr = w
	background(t, cmd)
	w.Close()
	c := dial(t, awaitSocket(t, path))
	c.answers()
	r.Close()
	for _, sig := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGPIPE} {
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "DRAINING", func() bool { return c.ask("put 0 0 60 1\r\nx") == "DRAINING" })
}

// TestSignalOrder states what each signal does in what state, without the timing of a process.
func TestSignalOrder(t *testing.T) {
	var did []string
	a := &signalActions{
		drain: func(on bool) { did = append(did, fmt.Sprint("drain ", on)) },
		stop:  func() { did = append(did, "stop") },
		exit:  func(code int) { did = append(did, fmt.Sprint("exit ", code)) },
		log:   slog.New(slog.DiscardHandler),
	}
	stopping := false
	for _, sig := range []syscall.Signal{
		syscall.SIGUSR2, syscall.SIGUSR1, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGINT, syscall.SIGTERM,
	} {
		stopping = a.act(sig, stopping)
	}
	want := []string{"drain false", "drain true", "stop", "drain true", "exit 130", "exit 143"}
	if diff := cmp.Diff(want, did); diff != "" {
		t.Error(diff)
	}
}
