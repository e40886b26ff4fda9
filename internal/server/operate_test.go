package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/engine"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// inserts is a step that puts a job.
func inserts(id *protocol.JobID, err *error) func(*engine.Turn) {
	return func(t *engine.Turn) {
		*id, *err = t.Insert(t.Now, &queue.Insertion{Tube: "default", TTR: time.Minute, Body: []byte("from an operator")})
	}
}

// TestOperate serves a client that waits, and sees it.
func TestOperate(t *testing.T) {
	everywhere(t, func(t *testing.T, w setting) {
		s := w.open(t, Config{Observed: true})
		worker, other := s.client(), s.client()
		worker.send("watch a\r\nreserve\r\n")
		worker.expect("WATCHING 2\r\n")
		other.until("current-waiting", 1)
		var id protocol.JobID
		var err error
		if stopped := s.server.Operate(inserts(&id, &err)); stopped != nil || err != nil || id != 1 {
			t.Fatal(id, err, stopped)
		}
		worker.expect("RESERVED 1 16\r\nfrom an operator\r\n")
		var totals queue.Totals
		var workload engine.Workload
		var process protocol.ProcessStats
		s.server.Operate(func(t *engine.Turn) {
			totals, workload, process = t.Totals(), t.Workload(), t.Process()
			if err := t.Remove(1, queue.Take); err != nil {
				totals.Done = queue.Counts{}
			}
		})
		if totals.Done[queue.Puts] != 1 || totals.Done[queue.Reserves] != 1 || totals.Wait.Count != 1 || totals.Connections != 2 {
			t.Errorf("the totals are %+v", totals)
		}
		if workload.Turns < 3 || workload.Busy < 0 || process.PID != os.Getpid() {
			t.Errorf("the workload is %+v of process %d", workload, process.PID)
		}
		worker.ask("delete 1\r\n", "NOT_FOUND\r\n")
	})
}

// TestOperateByMany has operators and clients at work at the same time, and the
// operators go on until they are told that the server has stopped.
func TestOperateByMany(t *testing.T) {
	const operators, clients, jobs = 8, 4, 100
	everywhere(t, func(t *testing.T, w setting) {
		s := w.openAmply(t, Config{Observed: true})
		var put, answered atomic.Int64
		var work sync.WaitGroup
		stopped := make(chan error, operators)
		busy := make(chan struct{}, operators)
		for i := range operators {
			work.Go(func() {
				for n := 0; ; n++ {
					if n == jobs {
						busy <- struct{}{}
					}
					var id protocol.JobID
					var err error
					step := inserts(&id, &err)
					if n >= jobs || i%2 == 0 {
						step = func(t *engine.Turn) { t.Walk(0, 10, &queue.Selection{}, func(queue.Position, queue.Rank) {}) }
					}
					if gone := s.server.Operate(step); gone != nil {
						stopped <- gone
						return
					}
					answered.Add(1)
					if id != 0 && err == nil {
						put.Add(1)
					}
				}
			})
		}
		taken := make(map[protocol.JobID]bool)
		var mutex sync.Mutex
		for range clients {
			c := s.client()
			work.Go(func() {
				for range operators / 2 * jobs / clients {
					id := reserveOne(c)
					mutex.Lock()
					if id == 0 || taken[id] {
						t.Errorf("job %d was given twice, or none", id)
					}
					taken[id] = true
					mutex.Unlock()
				}
			})
		}
		for range operators {
			<-busy
		}
		last := s.client()
		for last.stat("current-jobs-ready") > 0 {
			continue
		}
		s.stop()
		work.Wait()
		for range operators {
			if err := <-stopped; !errors.Is(err, ErrStopped) {
				t.Errorf("an operator is told %v", err)
			}
		}
		if got := put.Load(); got != operators/2*jobs || len(taken) != operators/2*jobs {
			t.Errorf("%d jobs were put and %d taken, want %d", got, len(taken), operators/2*jobs)
		}
	}, func(w setting) bool { return !w.fakeTime() }) // where no time passes while somebody is busy
}

// reserveOne reserves a job, deletes it and returns its id, 0 if something is wrong.
func reserveOne(c *client) (id protocol.JobID) {
	c.send("reserve\r\n")
	head, err := c.in.ReadString('\n')
	var size int
	if _, bad := fmt.Sscanf(head, "RESERVED %d %d", &id, &size); err != nil || bad != nil {
		return 0
	}
	if body, err := c.in.ReadString('\n'); err != nil || len(body) != size+2 {
		return 0
	}
	c.send(fmt.Sprintf("delete %d\r\n", id))
	if reply, err := c.in.ReadString('\n'); err != nil || strings.TrimSpace(reply) != "DELETED" {
		return 0
	}
	return id
}

// TestOperateWhileStopping serves operators as long as the loop runs, and tells
// them after that.
func TestOperateWhileStopping(t *testing.T) {
	everywhere(t, func(t *testing.T, w setting) {
		s := w.openAmply(t, Config{})
		idle, c := s.client(), s.client()
		c.send("put 0 0 60 4\r\nab") // keeps the server from ending
		idle.until("cmd-put", 1)
		s.cancel()
		idle.expectEnd()
		called := false
		if err := s.server.Operate(func(*engine.Turn) { called = true }); err != nil || !called {
			t.Errorf("while it stops an operator is told %v, and had a turn: %v", err, called)
		}
		c.ask("cd\r\n", "INSERTED 1\r\n")
		s.stop()
		for range 3 {
			if err := s.server.Operate(func(*engine.Turn) { t.Error("a turn after the end") }); !errors.Is(err, ErrStopped) {
				t.Errorf("after the end an operator is told %v", err)
			}
		}
	})
}

// TestOperateNeverRun tells those who come after a Run that did not succeed.
func TestOperateNeverRun(t *testing.T) {
	everywhere(t, func(t *testing.T, w setting) {
		s := w.prepare(t, Config{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		asked := make(chan error, 1)
		go func() { asked <- s.server.Operate(func(*engine.Turn) {}) }() // in time for a turn or not
		if err := s.server.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if err := <-asked; err != nil && !errors.Is(err, ErrStopped) {
			t.Errorf("the operator is told %v", err)
		}
	})
}

// fragile is a store that takes nothing.
type fragile struct{ fault error }

func (f fragile) Recover(*queue.Restoration) (int, error)          { return 0, nil }
func (f fragile) Commit(*queue.Changes) error                      { return f.fault }
func (f fragile) Load(protocol.JobID, uint32, func([]byte, error)) {}
func (f fragile) Full() bool                                       { return false }
func (f fragile) LogStats() protocol.LogStats                      { return protocol.LogStats{} }

// TestOperateCommitFails does not leave an operator waiting whose change cannot
// be made safe, and does not tell him that it is.
func TestOperateCommitFails(t *testing.T) {
	everywhere(t, func(t *testing.T, w setting) {
		fault := errors.New("the disk has gone")
		s := w.prepare(t, Config{Store: fragile{fault}})
		ended := make(chan error, 1)
		go func() { ended <- s.server.Run(t.Context()) }()
		if err := s.server.Operate(func(*engine.Turn) {}); err != nil {
			t.Errorf("a look is refused: %v", err)
		}
		var id protocol.JobID
		var err error
		if stopped := s.server.Operate(inserts(&id, &err)); !errors.Is(stopped, ErrStopped) {
			t.Errorf("the operator is told %v", stopped)
		}
		if err := <-ended; !errors.Is(err, fault) {
			t.Errorf("Run returns %v", err)
		}
	})
}

// TestPeer tells who is at the other end.
func TestPeer(t *testing.T) {
	everywhere(t, func(t *testing.T, w setting) {
		s := w.open(t, Config{})
		c := s.client()
		c.ask("list-tube-used\r\n", "USING default\r\n")
		var peers []engine.Peer
		var now, since queue.Instant
		s.server.Operate(func(t *engine.Turn) {
			now = t.Now
			t.Clients(0, 100, 0, func(v *queue.ClientView) {
				var p engine.Peer
				p, since = t.Peer(v.ID)
				peers = append(peers, p)
			})
		})
		want := engine.Peer{}
		switch {
		case w.network == "unix" && !w.portable:
			want.PID = os.Getpid()
		case w.network != "unix":
			want.Address = c.conn.LocalAddr().String()
		}
		if len(peers) != 1 || peers[0] != want {
			t.Errorf("the peers are %+v, want %+v", peers, want)
		}
		if since <= 0 || since > now {
			t.Errorf("it is there since %d, and now is %d", since, now)
		}
	}, func(w setting) bool { return !w.fakeTime() })
}

// TestPeerGone does not stumble over a connection that is being closed.
func TestPeerGone(t *testing.T) {
	const crowd = 50
	everywhere(t, func(t *testing.T, w setting) {
		s := w.open(t, Config{})
		var work sync.WaitGroup
		for i := range crowd {
			c := s.client()
			c.ask("list-tube-used\r\n", "USING default\r\n")
			work.Go(func() {
				if i%2 == 0 {
					c.reset()
				} else {
					c.conn.Close()
				}
			})
		}
		last := crowd
		for last > 0 {
			n := 0
			if err := s.server.Operate(func(t *engine.Turn) {
				t.Clients(0, 1000, 0, func(v *queue.ClientView) { t.Peer(v.ID); n++ })
			}); err != nil || n > last {
				t.Fatalf("%d clients are there after %d: %v", n, last, err)
			}
			last = n
		}
		work.Wait()
	}, func(w setting) bool { return !w.fakeTime() })
}
