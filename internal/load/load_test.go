//go:build linux

package load_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/load"
)

// BenchmarkCycle runs the put, reserve, delete cycle against haricot and the
// installed beanstalkd in turns and reports how many times the reference's
// throughput haricot reaches.
func BenchmarkCycle(b *testing.B) {
	reference, err := exec.LookPath("beanstalkd")
	if err != nil {
		b.Skip("beanstalkd is not installed")
	}
	haricot := b.TempDir() + "/haricot"
	if out, err := exec.Command("go", "build", "-o", haricot, "../../cmd/haricot").CombinedOutput(); err != nil {
		b.Fatalf("building haricot: %v\n%s", err, out)
	}
	ours, theirs := start(b, haricot), start(b, reference)
	for _, w := range []struct{ connections, window, size int }{
		{1, 1, 16}, {8, 1, 16}, {64, 1, 16}, {64, 1, 1024}, {8, 16, 16},
	} {
		b.Run(fmt.Sprintf("n%d-w%d-%d", w.connections, w.window, w.size), func(b *testing.B) {
			plan := load.Plan{Connections: w.connections, Window: w.window, BodySize: w.size, Duration: time.Second / 4}
			var commands [2]float64
			for b.Loop() {
				for i, address := range []string{ours, theirs} {
					plan.Address = address
					result, err := load.Run(plan)
					if err != nil {
						b.Fatal(err)
					}
					commands[i] += result.PerSecond()
				}
			}
			b.ReportMetric(commands[0]/float64(b.N), "haricot-commands/s")
			b.ReportMetric(commands[1]/float64(b.N), "beanstalkd-commands/s")
			b.ReportMetric(commands[0]/commands[1], "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// start starts a server on a free port and returns its address.
func start(b *testing.B, binary string) string {
	b.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	address := ln.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	if err := ln.Close(); err != nil {
		b.Fatal(err)
	}
	server := exec.Command(binary, "-l", "127.0.0.1", "-p", port)
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	})
	for range 100 {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
			return address
		}
		time.Sleep(20 * time.Millisecond) //nolint:forbidigo // another process starts; nothing tells when it listens
	}
	b.Fatalf("%s does not accept connections", binary)
	return ""
}
