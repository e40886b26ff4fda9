//go:build unix

package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/haricotq/haricot/client"
	"github.com/haricotq/haricot/client/clienttest"
)

// bubble is a server, a pool and what happened in a worker, in fake time.
type bubble struct {
	t      *testing.T
	server *clienttest.Server
	pool   *client.Pool

	mu       sync.Mutex
	log      bytes.Buffer // of a worker
	outcomes []client.Outcome
}

func inBubble(t *testing.T, test func(t *testing.T, b *bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		test(t, &bubble{t: t, server: s, pool: s.Pool(t, client.Config{})})
	})
}

// config is a worker's that keeps the outcomes and the log.
func (b *bubble) config() client.WorkerConfig {
	return client.WorkerConfig{
		Concurrency: 4,
		Logger:      slog.New(slog.NewTextHandler(b, nil)),
		Hooks: client.WorkerHooks{End: func(_ context.Context, _ *client.Job, o client.Outcome) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.outcomes = append(b.outcomes, o)
		}},
	}
}

// Write takes what a worker logs.
func (b *bubble) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.Write(p)
}

func (b *bubble) logged() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.String()
}

func (b *bubble) put(tube, body string, options ...client.Option) client.Ref {
	b.t.Helper()
	ref, err := b.pool.Put(b.t.Context(), tube, []byte(body), options...)
	must(b.t, err)
	return ref
}

// start runs a worker until the test ends.
func (b *bubble) start(w *client.Worker) {
	ended := make(chan error, 1)
	go func() { ended <- w.Run(context.Background()) }()
	b.t.Cleanup(func() {
		if err := errors.Join(w.Stop(context.Background()), <-ended); err != nil {
			b.t.Error(err)
		}
	})
}

// wait lets fake time pass.
func wait(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // in a bubble
	synctest.Wait()
}

// results are those of the outcomes so far.
func (b *bubble) results() []client.Result {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []client.Result
	for _, o := range b.outcomes {
		list = append(list, o.Result)
	}
	return list
}

func (b *bubble) counts(tube string) client.JobCounts {
	b.t.Helper()
	var counts client.JobCounts
	must(b.t, b.pool.On(b.t.Context(), clienttest.Address, func(c *client.Conn) error {
		stats, err := c.StatsTube(b.t.Context(), tube)
		if errors.Is(err, client.ErrNotFound) {
			return nil
		}
		counts = stats.Jobs
		return err
	}))
	return counts
}

func TestRetriesThenBuries(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		config := b.config()
		config.Retry = client.Retry{MaxAttempts: 4, Backoff: client.Backoff{Min: time.Minute, Max: 150 * time.Second, Jitter: 0.01}}
		w := client.NewWorker(b.pool, config)
		var at []time.Duration
		began := time.Now()
		w.HandleFunc("x", func(_ context.Context, job *client.Job) error {
			at = append(at, time.Since(began).Round(10*time.Second))
			if job.Attempt != len(at) || job.Tube != "x" {
				t.Errorf("attempt %d of %s is said to be %d", len(at), job.Tube, job.Attempt)
			}
			return errors.New("no luck")
		})
		ref := b.put("x", "job", client.WithPriority(5))
		b.start(w)
		wait(time.Hour)
		want := []time.Duration{0, 60 * time.Second, 180 * time.Second, 330 * time.Second}
		if !slices.Equal(at, want) {
			t.Errorf("attempts after %v, want %v", at, want)
		}
		if got := b.results(); !slices.Equal(got, []client.Result{client.Retried, client.Retried, client.Retried, client.Buried}) {
			t.Errorf("results %v", got)
		}
		stats, err := b.pool.StatsJob(t.Context(), ref)
		must(t, err)
		if stats.State != "buried" || stats.Priority != 5 {
			t.Errorf("%+v", stats)
		}
		if text := b.logged(); !strings.Contains(text, "level=ERROR") || !strings.Contains(text, "no luck") || !strings.Contains(text, "tube=x job=1") {
			t.Errorf("the log does not tell why: %s", text)
		}
		// Kicked, it has one more attempt.
		must(t, b.pool.KickJob(t.Context(), ref))
		wait(time.Hour)
		if len(at) != 5 {
			t.Errorf("%d attempts after a kick, want 5", len(at))
		}
		if b.counts("x").Buried != 1 {
			t.Errorf("%+v", b.counts("x"))
		}
	})
}

func TestWhatHandlersReturn(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		w := client.NewWorker(b.pool, b.config())
		cause := errors.New("cause")
		tries := 0
		w.HandleFunc("x", func(ctx context.Context, job *client.Job) error {
			switch string(job.Body) {
			case "fine":
				return nil
			case "permanent":
				return client.Permanent(cause)
			case "later":
				if tries++; tries == 1 {
					return client.RetryAfter(cause, 42*time.Second)
				}
				return nil
			case "panic":
				panic(cause)
			case "goexit":
				runtime.Goexit()
			case "self":
				return job.Bury(ctx)
			}
			return nil
		})
		b.start(w)
		for _, c := range []struct {
			body   string
			result client.Result
			err    error
		}{
			{"fine", client.Deleted, nil},
			{"permanent", client.Buried, cause},
			{"later", client.Retried, cause},
			{"panic", client.Retried, cause},
			{"goexit", client.Retried, nil},
			{"self", client.Settled, nil},
		} {
			b.mu.Lock()
			b.outcomes = nil
			b.mu.Unlock()
			b.put("x", c.body)
			synctest.Wait()
			b.mu.Lock()
			if len(b.outcomes) != 1 || b.outcomes[0].Result != c.result || c.err != nil && !errors.Is(b.outcomes[0].Err, c.err) {
				t.Errorf("%s: %+v", c.body, b.outcomes)
			}
			if c.body == "later" && b.outcomes[0].Delay != 42*time.Second {
				t.Errorf("retry after %v", b.outcomes[0].Delay)
			}
			b.mu.Unlock()
		}
		if text := b.logged(); !strings.Contains(text, "worker_test.go") {
			t.Errorf("the stack of a panic is not in the log: %s", text)
		}
		if client.Permanent(nil) != nil || client.RetryAfter(nil, time.Second) != nil {
			t.Error("no error became one")
		}
		wait(50 * time.Second)
		if tries != 2 {
			t.Errorf("%d tries", tries)
		}
	})
}

func TestDeadTubeAndRevive(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		config := b.config()
		config.DeadSuffix = ".dead"
		w := client.NewWorker(b.pool, config)
		var alive atomic.Bool
		w.HandleFunc("x", func(context.Context, *client.Job) error {
			if alive.Load() {
				return nil
			}
			return client.Permanent(errors.New("broken"))
		})
		b.start(w)
		b.put("x", "body\x00", client.WithPriority(3), client.WithTTR(5*time.Second))
		synctest.Wait()
		job, err := b.pool.Reserve(t.Context(), "x.dead")
		must(t, err)
		var dead client.Dead
		must(t, json.Unmarshal(job.Body, &dead))
		if dead.Reason != "broken" || dead.Tube != "x" || string(dead.Body) != "body\x00" || dead.Attempts != 1 || dead.Priority != 3 || dead.TTR != 5 || dead.Server != clienttest.Address {
			t.Errorf("%+v", dead)
		}
		must(t, job.Release(t.Context()))
		alive.Store(true)
		if n, err := b.pool.Revive(t.Context(), "x.dead", 10); n != 1 || err != nil {
			t.Errorf("revived %d, %v", n, err)
		}
		synctest.Wait()
		if got := b.results(); !slices.Equal(got, []client.Result{client.Moved, client.Deleted}) {
			t.Errorf("results %v", got)
		}
		if b.counts("x.dead") != (client.JobCounts{}) || b.counts("x") != (client.JobCounts{}) {
			t.Errorf("left: %+v, %+v", b.counts("x.dead"), b.counts("x"))
		}
		b.put("x.dead", "no dead job")
		_, err = b.pool.Revive(t.Context(), "x.dead", 10)
		wantError(t, err, client.ErrDecode)
	})
}

// TestPoisonedJob has a job that ends its worker each time.
func TestPoisonedJob(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		ref := b.put("x", "poison")
		for range client.DefaultMaxAttempts {
			job, err := b.pool.Reserve(t.Context(), "x")
			must(t, err)
			_ = job
			b.server.Cut()
			synctest.Wait()
		}
		w := client.NewWorker(b.pool, b.config())
		w.HandleFunc("x", func(context.Context, *client.Job) error {
			t.Error("it was handled once more")
			return nil
		})
		b.start(w)
		wait(time.Second)
		if stats, err := b.pool.StatsJob(t.Context(), ref); err != nil || stats.State != "buried" {
			t.Errorf("%+v, %v", stats, err)
		}
	})
}

func TestTouchWhileHandling(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		w := client.NewWorker(b.pool, b.config())
		w.HandleFunc("x", func(ctx context.Context, _ *client.Job) error {
			wait := time.NewTimer(30 * time.Minute)
			select {
			case <-wait.C:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
		b.start(w)
		for _, ttr := range []time.Duration{time.Second, 2 * time.Second, time.Minute, 24 * time.Hour} {
			b.put("x", ttr.String(), client.WithTTR(ttr))
		}
		wait(time.Hour)
		if got := b.results(); !slices.Equal(got, []client.Result{0, 0, 0, 0}) {
			t.Errorf("results %v: %s", got, b.logged())
		}
		must(t, b.pool.On(t.Context(), clienttest.Address, func(c *client.Conn) error {
			stats, err := c.Stats(t.Context())
			if err == nil && (stats.JobTimeouts != 0 || stats.Commands.Touch < 1800) {
				t.Errorf("%d jobs ran out of time, %d were touched", stats.JobTimeouts, stats.Commands.Touch)
			}
			return err
		}))
	})
}

func TestLostJobEndsTheContext(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		w := client.NewWorker(b.pool, b.config())
		causes := make(chan error, 2)
		var n atomic.Int64
		w.HandleFunc("x", func(ctx context.Context, _ *client.Job) error {
			if n.Add(1) > 1 {
				return nil
			}
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return nil
		})
		b.start(w)
		b.put("x", "job")
		synctest.Wait()
		b.server.Cut()
		wait(time.Minute)
		wantError(t, <-causes, client.ErrJobLost)
		if got := b.results(); !slices.Contains(got, client.Lost) || !slices.Contains(got, client.Deleted) || len(got) != 2 {
			t.Errorf("results %v", got)
		}
	})
}

func TestConcurrency(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		config := b.config()
		config.Concurrency = 6
		w := client.NewWorker(b.pool, config)
		var mu sync.Mutex
		now, most := make(map[string]int), make(map[string]int)
		handler := client.HandlerFunc(func(_ context.Context, job *client.Job) error {
			mu.Lock()
			for _, key := range []string{job.Tube, "all"} {
				now[key]++
				most[key] = max(most[key], now[key])
			}
			mu.Unlock()
			time.Sleep(time.Second) //nolint:forbidigo // in a bubble
			mu.Lock()
			now[job.Tube]--
			now["all"]--
			mu.Unlock()
			return nil
		})
		w.Handle("a", handler, client.TubeSettings{})
		w.Handle("b", handler, client.TubeSettings{Concurrency: 2})
		w.Handle("c", handler, client.TubeSettings{Concurrency: 1})
		for range 30 {
			b.put("a", "")
			b.put("b", "")
			b.put("c", "")
		}
		b.start(w)
		wait(90 * time.Second)
		if most["all"] != 6 || most["b"] != 2 || most["c"] != 1 || most["a"] < 3 {
			t.Errorf("at once: %v", most)
		}
		if got := b.results(); len(got) != 90 {
			t.Errorf("%d jobs handled, want 90", len(got))
		}
		// A tube that has been full gets new jobs soon after.
		began := time.Now()
		b.put("c", "")
		for len(b.results()) < 91 {
			wait(100 * time.Millisecond)
		}
		if took := time.Since(began); took > 2500*time.Millisecond {
			t.Errorf("a job of a limited tube took %v", took)
		}
	})
}

func TestGracefulStop(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		config := b.config()
		config.StopTimeout = 10 * time.Second
		w := client.NewWorker(b.pool, config)
		w.HandleFunc("x", func(ctx context.Context, job *client.Job) error {
			if string(job.Body) == "quick" {
				time.Sleep(5 * time.Second) //nolint:forbidigo // in a bubble
				return nil
			}
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), client.ErrStopping) {
				t.Errorf("cause %v", context.Cause(ctx))
			}
			return ctx.Err()
		})
		for _, body := range []string{"quick", "quick", "slow", "slow", "slow", "slow"} {
			b.put("x", body)
		}
		ended := make(chan error, 1)
		go func() { ended <- w.Run(context.Background()) }()
		synctest.Wait()
		began := time.Now()
		must(t, w.Stop(context.Background()))
		must(t, <-ended)
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("stopped after %v", took)
		}
		synctest.Wait()
		if got := b.counts("x"); got.Ready != 4 || got.Reserved != 0 {
			t.Errorf("left %+v, want the four slow ones ready", got)
		}
		if again := w.Run(context.Background()); again == nil {
			t.Error("it ran twice")
		}
		must(t, w.Stop(context.Background()))
	})
}

func TestStopInAHurry(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		w := client.NewWorker(b.pool, b.config())
		release := make(chan struct{})
		w.HandleFunc("deaf", func(context.Context, *client.Job) error {
			<-release
			return nil
		})
		b.put("deaf", "job")
		ended := make(chan error, 1)
		go func() { ended <- w.Run(context.Background()) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		began := time.Now()
		wantError(t, w.Stop(ctx), context.DeadlineExceeded)
		wantError(t, <-ended, client.ErrHandlerRunning)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("stopped after %v, want the 2s of the context and 1s of grace", took)
		}
		synctest.Wait()
		if got := b.counts("deaf"); got.Ready != 1 {
			t.Errorf("left %+v", got)
		}
		close(release)
	})
}

func TestRunEndsWithItsContextAndWithThePool(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		for _, end := range []string{"context", "pool"} {
			w := client.NewWorker(b.pool, b.config())
			w.HandleFunc("x", func(context.Context, *client.Job) error { return nil })
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- w.Run(ctx) }()
			synctest.Wait()
			if end == "context" {
				cancel()
				must(t, <-ended)
			} else {
				must(t, b.pool.Close())
				wantError(t, <-ended, client.ErrClosed)
			}
			cancel()
		}
	})
}

func TestMiddlewareAndHooks(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		type key struct{}
		var trace []string
		around := func(name string) client.Middleware {
			return func(next client.Handler) client.Handler {
				return client.HandlerFunc(func(ctx context.Context, job *client.Job) error {
					trace = append(trace, name)
					err := next.Handle(ctx, job)
					trace = append(trace, "/"+name)
					return err
				})
			}
		}
		config := client.WorkerConfig{Concurrency: 1, Middleware: []client.Middleware{around("outer"), around("inner")}}
		config.Hooks.Start = func(ctx context.Context, _ *client.Job) context.Context {
			return context.WithValue(ctx, key{}, "hooked")
		}
		config.Hooks.End = func(ctx context.Context, job *client.Job, o client.Outcome) {
			trace = append(trace, o.Result.String(), ctx.Value(key{}).(string), o.Took.String())
		}
		w := client.NewWorker(b.pool, config)
		client.HandleTube(w, client.NewTube[map[string]int](b.pool, "typed", nil), func(ctx context.Context, _ *client.Job, value map[string]int) error {
			time.Sleep(time.Duration(value["ms"]) * time.Millisecond) //nolint:forbidigo // in a bubble
			trace = append(trace, ctx.Value(key{}).(string))
			return nil
		}, client.TubeSettings{})
		b.start(w)
		b.put("typed", `{"ms":7}`)
		wait(time.Second)
		if got := strings.Join(trace, " "); got != "outer inner hooked /inner /outer deleted hooked 7ms" {
			t.Error(got)
		}
		trace = nil
		b.put("typed", "no JSON")
		wait(time.Second)
		if got := strings.Join(trace, " "); got != "outer inner /inner /outer buried hooked 0s" {
			t.Error(got)
		}
	})
}

func TestWorkerRefusesNonsense(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		w := client.NewWorker(b.pool, client.WorkerConfig{DeadSuffix: ".dead"})
		if err := w.Run(t.Context()); err == nil {
			t.Error("a worker without handlers ran")
		}
		must(t, w.Stop(t.Context()))
		w = client.NewWorker(b.pool, client.WorkerConfig{DeadSuffix: ".dead"})
		nothing := func(context.Context, *client.Job) error { return nil }
		w.HandleFunc("x", nothing)
		for _, tube := range []string{"x", "", "two words", strings.Repeat("x", 196)} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("tube %q was taken", tube)
					}
				}()
				w.HandleFunc(tube, nothing)
			}()
		}
	})
}
