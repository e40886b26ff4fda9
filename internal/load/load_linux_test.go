package load

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/server"
)

// inProcess starts a haricot in this process, and returns it as one that runs already.
func inProcess(t *testing.T) *Server {
	t.Helper()
	srv, err := server.New(server.Config{MaxJobSize: protocol.DefaultMaxJobSize})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Serve(ln); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- srv.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return &Server{Name: "haricot", Address: ln.Addr().String(), PID: os.Getpid()}
}

// small is a plan that each workload is through with in no time.
var small = Plan{
	Connections: 6, Window: 3, Body: 100, Duration: 30 * time.Millisecond, Jobs: 700, Tubes: 5, Rate: 2000,
}

// Every workload gets only replies that are right, counts something, and leaves nothing in the way of the next.
func TestWorkloads(t *testing.T) {
	s := inProcess(t)
	for _, w := range Workloads() {
		if w.Name == "restart" || w.Name == "operators" {
			continue // they need a server that was started
		}
		t.Run(w.Name, func(t *testing.T) {
			plan := small
			if w.Name == "put" {
				plan.Jobs = 0
			}
			if err := w.Prepare(t.Context(), s, plan); err != nil {
				t.Fatal(err)
			}
			result, err := w.Measure(t.Context(), s, plan)
			if err != nil {
				t.Fatal(err)
			}
			if err := Clean(t.Context(), s, plan); err != nil {
				t.Fatal(err)
			}
			if w.Name != "idle" && (result.Operations == 0 || len(result.Latency) == 0 || result.Telling().P50 == 0) {
				t.Errorf("nothing was counted: %+v", result)
			}
			if result.Elapsed <= 0 || result.ServerCPU <= 0 || result.RSS <= 0 {
				t.Errorf("costs were not counted: %+v", result)
			}
			if jobs := result.Operations; w.Name == "delayed" && (jobs != uint64(small.Jobs) || result.Took <= 0) {
				t.Errorf("%d of %d jobs in %v", jobs, small.Jobs, result.Took)
			}
		})
	}
}

// Jobs larger than what is read at once arrive whole, and so does a backlog of replies that the socket does not take at once.
func TestLargeJobs(t *testing.T) {
	s := inProcess(t)
	w, err := Find("cycle")
	if err != nil {
		t.Fatal(err)
	}
	for _, plan := range []Plan{
		{Connections: 2, Window: 40, Body: 60_000, Duration: 50 * time.Millisecond},
		{Connections: 1, Window: 1, Body: protocol.DefaultMaxJobSize, Duration: 20 * time.Millisecond},
	} {
		result, err := w.Measure(t.Context(), s, plan)
		if err != nil || result.Operations == 0 {
			t.Errorf("%v: %d operations, %v", plan, result.Operations, err)
		}
		if err := Clean(t.Context(), s, plan); err != nil {
			t.Fatal(err)
		}
	}
}

// A server that answers wrongly is found out.
func TestWrongReplies(t *testing.T) {
	for _, reply := range []string{
		"OUT_OF_MEMORY\r\n", "DELETED\r\n", "TIMED_OUT\r\n", "RESERVED 1 3\r\nabc\r\n", "INSERTED 1\r\nINSERTED 2\r\n", "",
	} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1000))
			_, _ = conn.Write([]byte(reply))
			_ = conn.Close()
		}()
		w, err := Find("cycle")
		if err != nil {
			t.Fatal(err)
		}
		s := &Server{Address: ln.Addr().String(), program: Program{Path: "none"}}
		plan := Plan{Connections: 1, Window: 1, Body: 16, Duration: time.Minute}
		if _, err := w.Measure(t.Context(), s, plan); err == nil {
			t.Errorf("the reply %q was accepted", reply)
		}
		_ = ln.Close()
		<-answered
	}
}

// The load ends when its context does, though the plan says to go on.
func TestInterrupt(t *testing.T) {
	s := inProcess(t)
	w, err := Find("cycle")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = w.Measure(ctx, s, Plan{Connections: 1, Window: 1, Body: 16, Duration: time.Hour})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want the end of the context", err)
	}
}

func TestComplete(t *testing.T) {
	for _, w := range Workloads() {
		p := w.Complete(Plan{})
		if p.Connections <= 0 || p.Window <= 0 || p.Body <= 0 || p.Duration <= 0 {
			t.Errorf("%s: the plan is not complete: %+v", w.Name, p)
		}
		own := Plan{Connections: 3, Window: 4, Body: 5, Duration: 6, Jobs: 7, Tubes: 8, Rate: 9, Drain: true}
		if got := w.Complete(own); got != own {
			t.Errorf("%s: %+v was changed to %+v", w.Name, own, got)
		}
	}
	if _, err := Find("nothing"); err == nil {
		t.Error("a workload that does not exist was found")
	}
}

// In the steady state nothing is allocated for a reply or a command.
func TestNoGarbage(t *testing.T) {
	d := &driver{buffer: make([]byte, 1<<16), began: time.Now()}
	jobs := newJobs(16)
	jobs.random = true
	c := &client{driver: d, fd: -1, role: &cycler{jobs: jobs, window: 3}}
	replies := []byte("INSERTED 123\r\nRESERVED 123 16\r\n" + string(jobs.body) + "\r\nDELETED\r\n")
	round := func() {
		c.waiting = append(c.waiting, group{3, 0})
		if err := c.digest(replies, 1); err != nil {
			t.Fatal(err)
		}
		c.out, c.queued = c.out[:0], 0
	}
	round()
	if n := testing.AllocsPerRun(1000, round); n != 0 {
		t.Errorf("%v allocations for three replies", n)
	}
}

func BenchmarkDigest(b *testing.B) {
	d := &driver{buffer: make([]byte, 1<<16), began: time.Now()}
	jobs := newJobs(16)
	c := &client{driver: d, fd: -1, role: &cycler{jobs: jobs, window: 3}}
	replies := []byte("INSERTED 123\r\nRESERVED 123 16\r\n" + string(jobs.body) + "\r\nDELETED\r\n")
	for b.Loop() {
		c.waiting = append(c.waiting, group{3, 0})
		if err := c.digest(replies, 1); err != nil {
			b.Fatal(err)
		}
		c.out, c.queued = c.out[:0], 0
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(3*b.N), "ns/command")
}
