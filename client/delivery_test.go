//go:build unix

package client_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/haricotq/haricot/client"
)

// ledger counts how often each job was handled to its end.
type ledger struct {
	mu   sync.Mutex
	done map[string]int
	lost int // handled, and not held any more
}

func newLedger() *ledger { return &ledger{done: make(map[string]int)} }

func (l *ledger) handle(_ context.Context, job *client.Job) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done[string(job.Body)]++
	return nil
}

func (l *ledger) end(_ context.Context, _ *client.Job, o client.Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if o.Result == client.Lost {
		l.lost++
	}
}

func (l *ledger) distinct() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.done)
}

// work runs a worker until all jobs are handled and none is left at the server.
func (l *ledger) work(t *testing.T, p *client.Pool, s *target, jobs int) {
	t.Helper()
	w := client.NewWorker(p, client.WorkerConfig{Concurrency: 5, Retry: client.Retry{MaxAttempts: -1}, Hooks: client.WorkerHooks{End: l.end}})
	w.HandleFunc("x", l.handle)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(context.Background()) }()
	defer func() {
		must(t, w.Stop(context.Background()))
		must(t, <-ended)
	}()
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond) //nolint:forbidigo // sockets live in real time
		if l.distinct() < jobs {
			continue
		}
		c, err := client.Dial(t.Context(), s.address())
		if err != nil {
			continue
		}
		stats, err := c.StatsTube(t.Context(), "x")
		_ = c.Close()
		if errors.Is(err, client.ErrNotFound) || err == nil && stats.Jobs == (client.JobCounts{}) {
			return
		}
	}
	t.Errorf("after 30 s, %d of %d jobs are handled", l.distinct(), jobs)
}

// TestExactlyOnceWithoutFaults is what a quiet day promises.
func TestExactlyOnceWithoutFaults(t *testing.T) {
	eachServer(t, func(t *testing.T, s *target) {
		ctx := patient(t)
		p := newPool(t, client.Config{Servers: []string{s.address()}})
		for i := range 500 {
			_, err := p.Put(ctx, "x", []byte(strconv.Itoa(i)))
			must(t, err)
		}
		l := newLedger()
		l.work(t, p, s, 500)
		for job, n := range l.done {
			if n != 1 {
				t.Errorf("job %s was handled %d times", job, n)
			}
		}
		if l.lost != 0 {
			t.Errorf("%d jobs were lost on the way", l.lost)
		}
	})
}

// TestAtLeastOnceThroughFaults puts and handles jobs through a proxy that delays,
// halves, and cuts connections at odd places, and restarts the server if it keeps its
// jobs. Each job is handled; twice at most as often as a fault allows for: when a put was
// uncertain, or a job was lost after it had been handled.
func TestAtLeastOnceThroughFaults(t *testing.T) {
	eachServer(t, func(t *testing.T, s *target) {
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
		defer cancel()
		pr := startProxy(t, s)
		pr.halve.Store(true)
		pr.delay.Store(int64(50 * time.Microsecond))
		pr.cutIn.Store(1500)
		quick := client.Backoff{Min: time.Millisecond, Max: 20 * time.Millisecond}
		p := newPool(t, client.Config{Servers: []string{pr.address()}, Reconnect: quick})
		const jobs = 300
		uncertain := 0
		var mu sync.Mutex
		var producers sync.WaitGroup
		for i := range 6 {
			producers.Go(func() {
				for n := i; n < jobs; n += 6 {
					for {
						_, err := p.Put(ctx, "x", []byte(strconv.Itoa(n)))
						if err == nil {
							break
						}
						if !errors.Is(err, client.ErrUncertain) {
							t.Error(err)
							return
						}
						mu.Lock()
						uncertain++
						mu.Unlock()
					}
				}
			})
		}
		disturbed := make(chan struct{})
		go func() {
			defer close(disturbed)
			for i := range 12 {
				time.Sleep(40 * time.Millisecond) //nolint:forbidigo // sockets live in real time
				switch {
				case s.lasting && i%4 == 3:
					s.stop()
					s.start()
				case i%2 == 0:
					pr.cut()
				default:
					pr.refuse.Store(true)
					time.Sleep(10 * time.Millisecond) //nolint:forbidigo // as above
					pr.refuse.Store(false)
				}
			}
		}()
		l := newLedger()
		l.work(t, p, s, jobs)
		producers.Wait()
		<-disturbed
		twice := 0
		for _, n := range l.done {
			twice += n - 1
		}
		t.Logf("%d connections, %d uncertain puts, %d jobs lost when handled, %d handled again", pr.connections(), uncertain, l.lost, twice)
		if pr.connections() < 10 {
			t.Errorf("only %d connections: nothing was disturbed", pr.connections())
		}
		if twice > uncertain+l.lost {
			t.Errorf("%d jobs were handled again, and only %d faults allow for it", twice, uncertain+l.lost)
		}
	})
}

// TestSlowServer has every reply take its time.
func TestSlowServer(t *testing.T) {
	eachServer(t, func(t *testing.T, s *target) {
		ctx := patient(t)
		pr := startProxy(t, s)
		pr.delay.Store(int64(20 * time.Millisecond))
		p := newPool(t, client.Config{Servers: []string{pr.address()}})
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				if _, err := p.Put(ctx, "x", []byte(strconv.Itoa(i))); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		l := newLedger()
		l.work(t, p, s, 40)
		if l.lost != 0 || l.distinct() != 40 {
			t.Errorf("%d handled, %d lost", l.distinct(), l.lost)
		}
	})
}
