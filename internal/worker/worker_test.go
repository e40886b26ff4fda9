package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/haricotq/haricot/client"
	"github.com/haricotq/haricot/client/clienttest"
)

// patience is how long a test waits for what must happen. It only ever runs out in a failing test.
const patience = 30 * time.Second

// scene is a server and a directory in which commands leave their traces.
type scene struct {
	t      *testing.T
	server *clienttest.Server
	conn   *client.Conn
	dir    string

	mu       sync.Mutex
	outcomes []Outcome
	lost     []bool
}

func newScene(t *testing.T) *scene {
	t.Helper()
	t.Cleanup(func() { goleak.VerifyNone(t) })
	s := &scene{t: t, server: clienttest.NewServer(t), dir: t.TempDir()}
	s.conn = s.server.Conn(t)
	return s
}

// put puts jobs with a time to run of a second into the tube "t".
func (s *scene) put(bodies ...string) {
	s.t.Helper()
	if err := s.conn.Use(s.t.Context(), "t"); err != nil {
		s.t.Fatal(err)
	}
	for _, body := range bodies {
		if _, err := s.conn.Put(s.t.Context(), []byte(body), client.WithTTR(time.Second)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// config makes a config that runs a script of the shell in the directory.
func (s *scene) config(script string) Config {
	dialer := client.Dialer{Dial: s.server.Dial}
	return Config{
		Dial:    func(ctx context.Context) (*client.Conn, error) { return dialer.DialContext(ctx, "test") },
		Tubes:   []string{"t"},
		Command: []string{"/bin/sh", "-c", "cd " + s.dir + "; " + script},
		Errors:  os.Stderr, Tries: 2, Grace: patience,
		Backoff: client.Backoff{Min: time.Hour, Max: time.Hour},
		Finished: func(o *Outcome) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.outcomes = append(s.outcomes, *o)
		},
		Lost: func(err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.lost = append(s.lost, err != nil)
		},
	}
}

// run runs a worker until it ends by itself.
func (s *scene) run(c Config) (Summary, error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	return New(c).Run(ctx)
}

// trace waits for a file to be there, and reads it.
func (s *scene) trace(name string) string {
	s.t.Helper()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	deadline := time.After(patience)
	for {
		if text, err := os.ReadFile(filepath.Join(s.dir, name)); err == nil {
			return string(text)
		}
		select {
		case <-again.C:
		case <-deadline:
			s.t.Fatalf("there is no file %s", name)
		}
	}
}

// stats asks for a job.
func (s *scene) stats(id uint64) *client.JobStats {
	s.t.Helper()
	stats, err := s.conn.StatsJob(s.t.Context(), id)
	if err != nil {
		s.t.Fatalf("job %d: %v", id, err)
	}
	return stats
}

func TestExitStatusDecides(t *testing.T) {
	s := newScene(t)
	s.put("good", "bad", "", "bad")
	c := s.config(`body=$(cat); echo "$HARICOT_JOB_ID $HARICOT_TUBE $HARICOT_TRIES $body" >>log; test "$body" != bad || exit 3`)
	c.UntilEmpty = true
	if got, err := s.run(c); err != nil || got != (Summary{Done: 2, Retried: 2}) {
		t.Fatalf("the summary is %+v (%v)", got, err)
	}
	if got, want := s.trace("log"), "1 t 1 good\n2 t 1 bad\n3 t 1 \n4 t 1 bad\n"; got != want {
		t.Errorf("the commands have seen\n%s, want\n%s", got, want)
	}
	if got := s.stats(2); got.State != "delayed" || got.Delay != time.Hour || got.Releases != 1 {
		t.Errorf("job 2 is %+v", got)
	}
	for _, id := range []uint64{2, 4} {
		if err := s.conn.KickJob(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.run(c); err != nil || got != (Summary{Buried: 2}) {
		t.Fatalf("the second summary is %+v (%v)", got, err)
	}
	if got := s.stats(4); got.State != "buried" {
		t.Errorf("job 4 is %+v", got)
	}
	o := s.outcomes[1]
	if o.Job != 2 || o.Tube != "t" || o.Tries != 1 || o.Result != Retried || o.Delay != time.Hour || o.Err.Error() != "exit status 3" {
		t.Errorf("the outcome is %+v", o)
	}
}

func TestStopGivesBack(t *testing.T) {
	s := newScene(t)
	s.put("x", "y")
	c := s.config(`sleep 1000 & echo $! >child; mv child started; wait`)
	w := New(c)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan Summary)
	go func() {
		got, err := w.Run(ctx)
		if err != nil {
			t.Error(err)
		}
		ended <- got
	}()
	child := strings.TrimSpace(s.trace("started"))
	stop()
	if got := <-ended; got != (Summary{GivenBack: 1}) {
		t.Errorf("the summary is %+v", got)
	}
	if got := s.stats(1); got.State != "ready" || got.Timeouts != 0 {
		t.Errorf("the job is %+v", got)
	}
	s.gone(child)
}

// gone makes sure that a process has ended, as one that was signalled does in a moment.
func (s *scene) gone(pid string) {
	s.t.Helper()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	deadline := time.After(patience)
	for {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		select {
		case <-again.C:
		case <-deadline:
			s.t.Fatalf("process %s, which a command has started, lives on", pid)
		}
	}
}

func TestKillEndsTheDeaf(t *testing.T) {
	s := newScene(t)
	s.put("x")
	w := New(s.config(`trap '' TERM; touch started; while :; do sleep 0.02; done`))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan Summary)
	go func() {
		got, err := w.Run(ctx)
		if err != nil {
			t.Error(err)
		}
		ended <- got
	}()
	s.trace("started")
	stop()
	w.Kill()
	w.Kill()
	if got := <-ended; got != (Summary{GivenBack: 1}) {
		t.Errorf("the summary is %+v", got)
	}
}

func TestFinishedWhileStopping(t *testing.T) {
	s := newScene(t)
	s.put("x")
	w := New(s.config(`trap 'exit 0' TERM; touch started; while :; do sleep 0.02; done`))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan Summary)
	go func() {
		got, err := w.Run(ctx)
		if err != nil {
			t.Error(err)
		}
		ended <- got
	}()
	s.trace("started")
	stop()
	if got := <-ended; got != (Summary{Done: 1}) {
		t.Errorf("the summary is %+v", got)
	}
}

// TestLostServer cuts the connection while a command runs: the command is stopped, and its job is done when the server is back.
func TestLostServer(t *testing.T) {
	s := newScene(t)
	s.put("x")
	c := s.config(`if test -e started; then exit 0; fi; touch started; while :; do sleep 0.02; done`)
	c.Once = false
	w := New(c)
	ctx, stop := context.WithCancel(t.Context())
	c.Finished = nil
	ended := make(chan Summary)
	w.config.Finished = func(o *Outcome) {
		if o.Result == Done {
			stop()
		}
	}
	go func() {
		got, err := w.Run(ctx)
		if err != nil {
			t.Error(err)
		}
		ended <- got
	}()
	s.trace("started")
	s.server.Cut()
	select {
	case got := <-ended:
		if got != (Summary{Done: 1, Lost: 1}) {
			t.Errorf("the summary is %+v", got)
		}
	case <-time.After(patience):
		t.Fatal("the job is not done again")
	}
	if !slices.Equal(s.lost, []bool{true, false}) {
		t.Errorf("told of the server: %v, want lost and back", s.lost)
	}
}

func TestTouchedWhileItRuns(t *testing.T) {
	s := newScene(t)
	s.put("x") // with a time to run of a second
	c := s.config(`sleep 2.5`)
	c.Once = true
	if got, err := s.run(c); err != nil || got != (Summary{Done: 1}) {
		t.Errorf("the summary is %+v (%v)", got, err)
	}
}

func TestLimit(t *testing.T) {
	s := newScene(t)
	s.put("x")
	c := s.config(`sleep 1000`)
	c.Once, c.Limit = true, 50*time.Millisecond
	if got, err := s.run(c); err != nil || got != (Summary{Retried: 1}) {
		t.Errorf("the summary is %+v (%v)", got, err)
	}
	if !errors.Is(s.outcomes[0].Err, errLimit) {
		t.Errorf("the reason is %v", s.outcomes[0].Err)
	}
}

// TestUntilEmptyWaitsForOthers has one command put what the other places are to find.
func TestUntilEmptyWaitsForOthers(t *testing.T) {
	s := newScene(t)
	s.put("0")
	putting := s.server.Conn(t)
	if err := putting.Use(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	c := s.config(`test "$(cat)" != 0 || sleep 0.5`)
	c.UntilEmpty, c.Concurrency = true, 4
	var once sync.Once
	c.Finished = func(o *Outcome) {
		once.Do(func() { // while Finished is called, its place is not idle
			for i := range 10 {
				if _, err := putting.Put(t.Context(), fmt.Append(nil, i+1)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	if got, err := s.run(c); err != nil || got != (Summary{Done: 11}) {
		t.Errorf("the summary is %+v (%v)", got, err)
	}
}

func TestNoJob(t *testing.T) {
	s := newScene(t)
	c := s.config("true")
	c.Once, c.Wait = true, time.Second
	if _, err := s.run(c); !errors.Is(err, ErrNoJob) {
		t.Errorf("waiting for a job: %v", err)
	}
	c.Wait, c.UntilEmpty = 0, true
	if _, err := s.run(c); !errors.Is(err, ErrNoJob) {
		t.Errorf("looking for a job: %v", err)
	}
	s.server.Stop()
	if _, err := s.run(c); err == nil || errors.Is(err, ErrNoJob) {
		t.Errorf("without a server: %v", err)
	}
}
