package operator_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/haricotq/haricot/internal/memnet"
	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
	"github.com/haricotq/haricot/internal/server"
	"github.com/haricotq/haricot/internal/wire"
)

// practice is a server whose tubes are looked at, in a bubble.
type practice struct {
	t        *testing.T
	ln       *memnet.Listener
	server   *server.Server
	operator *operator.Operator
}

// examine runs a test beside a server in fake time.
func examine(t *testing.T, test func(p *practice)) {
	t.Helper()
	examineWith(t, nil, test)
}

func examineWith(t *testing.T, store server.Store, test func(p *practice)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &practice{t: t, ln: memnet.Listen()}
		var err error
		if p.server, err = server.New(server.Config{Observed: true, Portable: true, MaxJobSize: 100, Store: store}); err != nil {
			t.Fatal(err)
		}
		if err := p.server.Serve(p.ln); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- p.server.Run(ctx) }()
		defer func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}()
		p.operator = operator.New(p.server, slog.New(slog.DiscardHandler))
		test(p)
	})
}

// client is a connection of the queue that uses and watches a tube, and no other.
func (p *practice) client(tube string) *wire.Conn {
	p.t.Helper()
	conn, err := p.ln.Dial()
	if err != nil {
		p.t.Fatal(err)
	}
	c := wire.New(conn)
	p.t.Cleanup(func() { c.Close() })
	p.say(c, "use "+tube)
	p.say(c, "watch "+tube)
	p.say(c, "ignore default")
	return c
}

func (p *practice) say(c *wire.Conn, command string) wire.Reply {
	p.t.Helper()
	c.Send("%s", command)
	r, err := c.Receive()
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// ask sends a command whose reply is not waited for.
func (p *practice) ask(c *wire.Conn, command string) {
	p.t.Helper()
	p.say(c, "list-tube-used")
	c.Send("list-tube-used\r\n%s", command)
	if _, err := c.Receive(); err != nil {
		p.t.Fatal(err)
	}
	synctest.Wait()
}

// put puts n jobs from a connection that goes afterwards.
func (p *practice) put(tube string, n int, delay uint64) {
	p.t.Helper()
	c := p.client(tube)
	defer func() { c.Close(); synctest.Wait() }()
	for range n {
		c.Put(1024, delay, 60, nil)
		if r, err := c.Receive(); err != nil || r.Word != "INSERTED" {
			p.t.Fatal(r, err)
		}
	}
}

// finds compares a diagnosis with what it should be: code, severity and text of
// each finding, in order.
func (p *practice) finds(tube string, want ...operator.Finding) {
	p.t.Helper()
	got, err := p.operator.Diagnose(p.t.Context(), tube)
	if err != nil {
		p.t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		p.t.Errorf("diagnosis of %s is\n%+v, want\n%+v", tube, got, want)
	}
	for _, f := range got {
		if !slices.Contains(operator.Findings, f.Code) {
			p.t.Errorf("%s is not among the codes", f.Code)
		}
	}
}

func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // in a bubble this is free
}

func finding(code string, severity operator.Severity, text string) operator.Finding {
	return operator.Finding{Code: code, Severity: severity, Text: text}
}

func TestDiagnosisOfNoTube(t *testing.T) {
	examine(t, func(p *practice) {
		if _, err := p.operator.Diagnose(t.Context(), "none"); !errors.Is(err, queue.ErrNoTube) {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestDiagnosisOfAnEmptyTube(t *testing.T) {
	examine(t, func(p *practice) {
		p.finds("default", finding("no_producers", operator.Info, "No connection uses this tube, so nobody is about to put a job into it."),
			finding("empty", operator.OK, "The tube is empty, and no worker waits for its next job. No job has been put into it since it was made."))
		c := p.client("a")
		p.put("a", 1, 0)
		p.say(c, "reserve")
		p.say(c, "delete 1")
		p.ask(c, "reserve")
		p.finds("a", finding("empty", operator.OK, "The tube is empty, and 1 worker waits for its next job."))
		p.ask(p.client("a"), "reserve")
		p.finds("a", finding("empty", operator.OK, "The tube is empty, and 2 workers wait for its next job."))
	})
}

func TestDiagnosisOfAPause(t *testing.T) {
	examine(t, func(p *practice) {
		c := p.client("a")
		p.put("a", 2, 0)
		p.say(c, "pause-tube a 3700")
		pass(time.Second)
		p.finds("a", finding("paused", operator.Critical, "The tube is paused for another 1 h 1 min. 2 ready jobs are not given out until then."))
		p.say(c, "delete 1")
		p.finds("a", finding("paused", operator.Critical, "The tube is paused for another 1 h 1 min. 1 ready job is not given out until then."))
		p.say(c, "delete 2")
		p.finds("a", finding("paused", operator.Info, "The tube is paused for another 1 h 1 min."),
			finding("empty", operator.OK, "The tube is empty, and no worker waits for its next job."))
	})
}

func TestDiagnosisWithoutWorkers(t *testing.T) {
	examine(t, func(p *practice) {
		p.put("a", 3, 0)
		p.finds("a", finding("no_workers", operator.Critical, "No worker watches this tube: 3 ready jobs are waiting for one."))
		pass(5 * time.Minute)
		p.finds("a", finding("no_workers", operator.Critical, "No worker watches this tube: 3 ready jobs are waiting for one."),
			finding("oldest_ready", operator.Warning, "The oldest ready job has been waiting for about 5 min."))
		c := p.client("a") // watches, and does nothing
		p.say(c, "delete 1")
		p.say(c, "delete 2")
		p.finds("a", finding("no_workers", operator.Critical, "1 connection is watching this tube, but none has ever asked for a job: 1 ready job is waiting for a worker."),
			finding("oldest_ready", operator.Warning, "The oldest ready job has been waiting for about 5 min."))
	})
}

func TestDiagnosisOfBusyWorkers(t *testing.T) {
	examine(t, func(p *practice) {
		one := p.client("a")
		p.put("a", 4, 0)
		p.say(one, "reserve")
		p.finds("a", finding("workers_busy", operator.Info, "The only worker that watches this tube is busy: 3 ready jobs are waiting until one is done."))
		two := p.client("a")
		p.say(two, "reserve")
		pass(10 * time.Second)
		p.finds("a", finding("workers_busy", operator.Info, "All 2 workers that watch this tube are busy: 2 ready jobs are waiting until one is done."),
			finding("oldest_ready", operator.Info, "The oldest ready job has been waiting for about 10 s."))
		pass(49 * time.Second)
		p.say(one, "touch 1")
		p.say(two, "touch 2")
		pass(1 * time.Second)
		p.finds("a", finding("workers_busy", operator.Warning, "All 2 workers that watch this tube are busy: 2 ready jobs are waiting until one is done."),
			finding("oldest_ready", operator.Warning, "The oldest ready job has been waiting for about 1 min."))
		p.say(one, "reserve")
		p.say(two, "reserve")
		p.finds("a", finding("working", operator.OK, "4 jobs are being worked on, and no job has to wait."))
	})
}

func TestDiagnosisOfWorkersThatDoNotAsk(t *testing.T) {
	examine(t, func(p *practice) {
		hanging, busy := p.client("a"), p.client("a")
		p.put("a", 3, 0)
		p.say(hanging, "reserve")
		p.say(hanging, "delete 1")
		p.finds("a", finding("fine", operator.OK, "2 jobs are ready, and 1 worker is on the tube: nothing seems to be in the way."))
		p.say(busy, "reserve")
		pass(2 * time.Second)
		p.finds("a", finding("workers_idle", operator.Warning, "1 of 2 workers that watch this tube holds no job and does not ask for one, though 1 ready job is waiting: busy with something else, or hanging."),
			finding("oldest_ready", operator.Info, "The oldest ready job has been waiting for about 2 s."))
	})
}

func TestDiagnosisOfBuriedJobs(t *testing.T) {
	examine(t, func(p *practice) {
		c := p.client("a")
		p.put("a", 2, 0)
		p.say(c, "reserve")
		p.say(c, "bury 1 0")
		p.say(c, "reserve")
		p.finds("a", finding("buried", operator.Warning, "1 job is buried: nothing happens to it until somebody kicks or deletes it. The other jobs go on."),
			finding("working", operator.OK, "1 job is being worked on, and no job has to wait."))
		p.say(c, "bury 2 0")
		p.finds("a", finding("all_buried", operator.Critical, "All 2 jobs are buried: nothing happens to them until somebody kicks or deletes them."))
		p.say(c, "delete 2")
		p.finds("a", finding("all_buried", operator.Critical, "The only job is buried: nothing happens to it until somebody kicks or deletes it."))
	})
}

func TestDiagnosisOfAJobThatIsHeldLong(t *testing.T) {
	examine(t, func(p *practice) {
		c := p.client("a")
		p.put("a", 1, 0)
		p.say(c, "reserve")
		for range 3 {
			pass(30 * time.Second)
			p.say(c, "touch 1")
		}
		held := finding("job_held", operator.Warning, "Connection 1 (memory) has held job 1 for 1 min 30 s, longer than its time to run of 1 min: the worker keeps asking for more time.")
		held.Job, held.Connection = 1, 1
		p.finds("a", held, finding("working", operator.OK, "1 job is being worked on, and no job has to wait."))
	})
}

func TestDiagnosisOfAJobThatIsHeldLongerThanOthers(t *testing.T) {
	examine(t, func(p *practice) {
		c := p.client("a")
		p.put("a", 30, 0)
		for range 29 {
			id := p.say(c, "reserve").ID()
			pass(100 * time.Millisecond)
			p.say(c, fmt.Sprintf("delete %d", id))
		}
		p.say(c, "reserve")
		pass(10 * time.Second)
		p.finds("a", finding("working", operator.OK, "1 job is being worked on, and no job has to wait."))
		pass(time.Second)
		held := finding("job_held", operator.Warning, "Connection 1 (memory) has held job 30 for 11 s, while 9 of 10 jobs of this tube are done within 128 ms.")
		held.Job, held.Connection = 30, 1
		p.finds("a", held, finding("working", operator.OK, "1 job is being worked on, and no job has to wait."))
	})
}

func TestDiagnosisOfTimeouts(t *testing.T) {
	examine(t, func(p *practice) {
		c := p.client("a")
		p.put("a", 1, 0)
		for range 4 {
			p.say(c, "reserve")
			pass(61 * time.Second)
		}
		p.finds("a", finding("timeouts", operator.Warning, "Jobs often run out of their time to run: 4 timeouts in 4 reservations so far, and 0 jobs deleted. The time is too short, or workers hang."))
	})
}

func TestDiagnosisOfDelayedJobs(t *testing.T) {
	examine(t, func(p *practice) {
		p.put("a", 1, 90)
		p.put("a", 1, 200_000)
		pass(500 * time.Millisecond)
		p.finds("a", finding("delayed_only", operator.Info, "All 2 jobs are delayed; the next is ready in 1 min 30 s."))
		p.put("b", 1, 200_000)
		p.finds("b", finding("delayed_only", operator.Info, "The only job is delayed; the next is ready in 2 d 7 h."))
	})
}

func TestDiagnosisOfADrainingServer(t *testing.T) {
	examine(t, func(p *practice) {
		p.server.Drain(true)
		p.finds("default",
			finding("draining", operator.Warning, "The server is draining: it refuses new jobs, and gives out those it has."),
			finding("no_producers", operator.Info, "No connection uses this tube, so nobody is about to put a job into it."),
			finding("empty", operator.OK, "The tube is empty, and no worker waits for its next job. No job has been put into it since it was made."))
	})
}

// fullStore has no room, and nothing in it.
type fullStore struct{}

func (fullStore) Recover(*queue.Restoration) (int, error)          { return 0, nil }
func (fullStore) Commit(*queue.Changes) error                      { return nil }
func (fullStore) Load(protocol.JobID, uint32, func([]byte, error)) {}
func (fullStore) Full() bool                                       { return true }
func (fullStore) LogStats() (stats protocol.LogStats)              { return stats }

func TestDiagnosisOfAFullDisk(t *testing.T) {
	examineWith(t, fullStore{}, func(p *practice) {
		p.client("a")
		p.finds("a", finding("full", operator.Critical, "The disk of the server is full: it refuses new jobs until some are deleted."),
			finding("empty", operator.OK, "The tube is empty, and no worker waits for its next job. No job has been put into it since it was made."))
	})
}

// TestDiagnosisDoesNotMixTubes has a client hold a job of another tube.
func TestDiagnosisDoesNotMixTubes(t *testing.T) {
	examine(t, func(p *practice) {
		c := p.client("b")
		p.say(c, "watch a")
		p.put("b", 1, 0)
		p.say(c, "reserve")
		pass(30 * time.Second)
		p.say(c, "touch 1")
		pass(40 * time.Second)
		p.put("a", 1, 0)
		p.finds("a", finding("workers_busy", operator.Info, "The only worker that watches this tube is busy: 1 ready job is waiting until one is done."))
	})
}

func TestQuantile(t *testing.T) {
	var h queue.Histogram
	if _, ok := operator.Quantile(&h, 0.5); ok {
		t.Error("nothing has a median")
	}
	for range 9 {
		h.Add(time.Millisecond)
	}
	h.Add(time.Hour)
	if d, ok := operator.Quantile(&h, 0.9); d != 2*time.Millisecond || !ok {
		t.Errorf("9 of 10 are within %v, want 2ms", d)
	}
	if _, ok := operator.Quantile(&h, 0.99); ok {
		t.Error("an hour is beyond the last bound")
	}
}
