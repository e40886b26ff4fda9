package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	parts["starving loop"] = func() { starve(false) }
	parts["starving streams"] = func() { starve(true) }
}

// starve serves with hardly any descriptors until its standard input ends. It
// writes the address to standard output and the log to standard error.
func starve(portable bool) {
	fail := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	fail(err)
	server, err := New(Config{Portable: portable, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	fail(err)
	fail(server.Serve(ln))
	open, err := os.ReadDir("/proc/self/fd")
	fail(err)
	few := uint64(len(open) + 8)
	fail(unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: few, Max: few}))
	fmt.Println(ln.Addr())
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	fail(server.Run(ctx))
}

// TestOutOfDescriptors fills a server with clients. Those that it has are
// served, and the others when descriptors are free again.
func TestOutOfDescriptors(t *testing.T) {
	for _, part := range []string{"starving loop", "starving streams"} {
		t.Run(part, func(t *testing.T) {
			address, complaints := startPart(t, part)
			const people = 20
			all, served := make([]*client, people), make(chan *client, people)
			for i := range all {
				conn, err := net.Dial("tcp", address)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				c := newClient(t, conn)
				all[i] = c
				c.send("list-tube-used\r\n")
				go func() {
					if _, err := c.in.ReadString('\n'); err == nil {
						served <- c
					}
				}()
			}
			if text := <-complaints; !strings.Contains(text, "cannot accept") {
				t.Fatalf("the log says %q, want that nothing can be accepted", text)
			}
			for range people {
				c := <-served
				c.ask("list-tube-used\r\n", "USING default\r\n")
				c.conn.Close()
			}
		})
	}
}

// startPart starts this program to play a part until the end of the test. It
// returns the address that it tells, and the warnings of its log.
func startPart(t *testing.T, part string) (address string, warnings chan string) {
	t.Helper()
	cmd := exec.Command(os.Args[0]) // ends when its standard input does
	cmd.Env = append(os.Environ(), partVariable+"="+part)
	input, err1 := cmd.StdinPipe()
	output, err2 := cmd.StdoutPipe()
	log, err3 := cmd.StderrPipe()
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	warnings = make(chan string, 1000)
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		defer close(warnings)
		for lines := bufio.NewScanner(log); lines.Scan(); {
			if !strings.Contains(lines.Text(), "level=INFO") {
				warnings <- lines.Text()
			}
		}
	}()
	t.Cleanup(func() {
		input.Close()
		<-logged
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", part, err)
		}
	})
	address, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(address), warnings
}
