//go:build unix

package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"testing"
	"time"

	"github.com/haricotq/haricot/client"
	"github.com/haricotq/haricot/client/clienttest"
)

// exampleTB stands for a test's T, which examples do not have.
type exampleTB struct {
	testing.TB
	cleanups []func()
}

func (e *exampleTB) Helper()          {}
func (e *exampleTB) Cleanup(f func()) { e.cleanups = append(e.cleanups, f) }
func (e *exampleTB) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

func (e *exampleTB) Errorf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

// run runs what was registered for the end of the test.
func (e *exampleTB) run() {
	for i := len(e.cleanups) - 1; i >= 0; i-- {
		e.cleanups[i]()
	}
}

// newExamplePool is client.NewPool for examples, which have servers in memory.
func newExamplePool(servers int) (*client.Pool, func()) {
	tb := &exampleTB{}
	var all []*clienttest.Server
	for range servers {
		all = append(all, clienttest.NewServer(tb))
	}
	return clienttest.Pool(tb, client.Config{}, all...), tb.run
}

// The first worker: it handles the jobs of one tube until it is interrupted.
func Example() {
	pool, err := client.NewPool(client.Config{Servers: []string{"localhost:11300"}})
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	worker := client.NewWorker(pool, client.WorkerConfig{})
	worker.HandleFunc("emails", func(ctx context.Context, job *client.Job) error {
		fmt.Printf("sending %s\n", job.Body)
		return nil // done; an error has the job tried again later
	})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := worker.Run(ctx); err != nil {
		log.Print(err)
	}
}

// A producer puts jobs, with more or less urgency.
func Example_producer() {
	pool, end := newExamplePool(1) // client.NewPool(client.Config{Servers: []string{"localhost"}})
	defer end()
	ctx := context.Background()
	ref, err := pool.Put(ctx, "emails", []byte("hello"), client.WithPriority(10), client.WithDelay(time.Minute), client.WithTTR(30*time.Second))
	if err != nil {
		log.Panic(err)
	}
	stats, err := pool.StatsJob(ctx, ref)
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(ref, stats.Tube, stats.State, stats.Priority, stats.Delay, stats.TTR)
	// Output: clienttest#1 emails delayed 10 1m0s 30s
}

// Jobs can be values of a type; here, two are put and a worker handles them.
func Example_worker() {
	pool, end := newExamplePool(1)
	defer end()
	type email struct{ To, Subject string }
	emails := client.NewTube[email](pool, "emails", nil)
	ctx := context.Background()
	if _, err := emails.PutAll(ctx, []email{{"ada@example.org", "one"}, {"alan@example.org", "two"}}); err != nil {
		log.Panic(err)
	}

	worker := client.NewWorker(pool, client.WorkerConfig{Concurrency: 1})
	handled := make(chan struct{})
	client.HandleTube(worker, emails, func(_ context.Context, job *client.Job, e email) error {
		fmt.Println(job.Tube, e.To, e.Subject)
		handled <- struct{}{}
		return nil
	}, client.TubeSettings{})
	go func() { _ = worker.Run(ctx) }()
	<-handled
	<-handled
	if err := worker.Stop(ctx); err != nil {
		log.Panic(err)
	}
	// Output:
	// emails ada@example.org one
	// emails alan@example.org two
}

// A job that fails is tried again, and buried after its last attempt. The hook
// learns why.
func Example_retry() {
	pool, end := newExamplePool(1)
	defer end()
	ctx := context.Background()
	buried := make(chan struct{})
	worker := client.NewWorker(pool, client.WorkerConfig{
		Concurrency: 1,
		Retry:       client.Retry{MaxAttempts: 3, Backoff: client.Backoff{Min: time.Second, Max: time.Hour}},
		Hooks: client.WorkerHooks{End: func(_ context.Context, job *client.Job, o client.Outcome) {
			fmt.Printf("attempt %d: %s, %v\n", job.Attempt, o.Result, o.Err)
			if o.Result == client.Buried {
				close(buried)
			}
		}},
	})
	worker.HandleFunc("payments", func(_ context.Context, job *client.Job) error {
		err := errors.New("card refused")
		if job.Attempt < 3 {
			return client.RetryAfter(err, 0) // so that the example is quick
		}
		return err
	})
	if _, err := pool.Put(ctx, "payments", []byte("42")); err != nil {
		log.Panic(err)
	}
	go func() { _ = worker.Run(ctx) }()
	<-buried
	_ = worker.Stop(ctx)
	// Output:
	// attempt 1: retried, card refused
	// attempt 2: retried, card refused
	// attempt 3: buried, card refused
}

// A periodic job is put once for each tick, however many workers have it.
func Example_periodic() {
	pool, end := newExamplePool(1)
	defer end()
	ctx := context.Background()
	handled := make(chan struct{}, 10)
	worker := client.NewWorker(pool, client.WorkerConfig{
		Periodic: []client.Periodic{{
			Name:     "hourly-report", // the same in all workers
			Schedule: client.Every(time.Second),
			Tube:     "reports",
			Body:     func(time.Time) ([]byte, error) { return []byte("all"), nil },
		}},
	})
	worker.HandleFunc("reports", func(_ context.Context, job *client.Job) error {
		handled <- struct{}{}
		return nil
	})
	go func() { _ = worker.Run(ctx) }()
	<-handled
	fmt.Println("a report is due")
	_ = worker.Stop(ctx)
	// Output: a report is due
}

// Stop waits for handlers; one that does not return in time has its context ended
// and its job given back.
func Example_gracefulStop() {
	pool, end := newExamplePool(1)
	defer end()
	ctx := context.Background()
	worker := client.NewWorker(pool, client.WorkerConfig{StopTimeout: 10 * time.Millisecond})
	begun := make(chan struct{})
	worker.HandleFunc("videos", func(ctx context.Context, job *client.Job) error {
		close(begun)
		<-ctx.Done() // work that takes hours, and looks at its context
		fmt.Println(context.Cause(ctx))
		return ctx.Err()
	})
	ref, err := pool.Put(ctx, "videos", []byte("long"))
	if err != nil {
		log.Panic(err)
	}
	go func() { _ = worker.Run(ctx) }()
	<-begun
	if err := worker.Stop(ctx); err != nil {
		log.Panic(err)
	}
	job, err := pool.Reserve(ctx, "videos")
	fmt.Println(job.Ref() == ref, err)
	// Output:
	// the worker is stopping
	// true <nil>
}

// With several servers, each job knows its own.
func Example_severalServers() {
	pool, end := newExamplePool(3)
	defer end()
	ctx := context.Background()
	for range 3 {
		ref, err := pool.Put(ctx, "x", []byte("job"))
		if err != nil {
			log.Panic(err)
		}
		fmt.Println("put to", ref.Server)
	}
	for range 3 {
		job, err := pool.Reserve(ctx, "x")
		if err != nil {
			log.Panic(err)
		}
		if err := job.Delete(ctx); err != nil {
			log.Panic(err)
		}
		fmt.Println("done at", job.Server())
	}
	// Unordered output:
	// put to clienttest
	// put to clienttest2
	// put to clienttest3
	// done at clienttest
	// done at clienttest2
	// done at clienttest3
}

// A connection of one's own has all commands of the protocol.
func ExampleConn() {
	pool, end := newExamplePool(1)
	defer end()
	ctx := context.Background()
	err := pool.On(ctx, pool.Servers()[0], func(conn *client.Conn) error { // or client.Dial
		if err := conn.Use(ctx, "emails"); err != nil {
			return err
		}
		if _, err := conn.PeekBuried(ctx); !errors.Is(err, client.ErrNotFound) {
			return err
		}
		n, err := conn.Kick(ctx, 100)
		fmt.Println("kicked", n)
		return err
	})
	if err != nil {
		log.Panic(err)
	}
	// Output: kicked 0
}
