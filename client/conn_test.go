//go:build unix

package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/haricotq/haricot/client"
)

// TestCommands uses every command once where it succeeds, and where it can be refused.
func TestCommands(t *testing.T) {
	eachServer(t, func(t *testing.T, s *target) {
		ctx := patient(t)
		c := dial(t, s.address())
		must(t, c.Use(ctx, "work"))
		if tube, err := c.ListTubeUsed(ctx); tube != "work" || err != nil {
			t.Errorf("used %q, %v", tube, err)
		}
		if n, err := c.Watch(ctx, "work"); n != 2 || err != nil {
			t.Errorf("watching %d, %v", n, err)
		}
		if n, err := c.Ignore(ctx, "default"); n != 1 || err != nil {
			t.Errorf("watching %d, %v", n, err)
		}
		_, err := c.Ignore(ctx, "work")
		wantError(t, err, client.ErrNotIgnored)
		id, err := c.Put(ctx, []byte("one\r\n\x00two"), client.WithPriority(7), client.WithTTR(90*time.Second))
		must(t, err)
		if p, err := c.Peek(ctx, id); p.ID != id || string(p.Body) != "one\r\n\x00two" || err != nil {
			t.Errorf("peeked %v, %v", p, err)
		}
		if p, err := c.PeekReady(ctx); p.ID != id || err != nil {
			t.Errorf("peeked %v, %v", p, err)
		}
		job, err := c.Reserve(ctx)
		must(t, err)
		if job.ID != id || job.Tube != "work" || job.Server() != s.address() || job.Ref().ID != id {
			t.Errorf("reserved %+v", job)
		}
		must(t, job.Touch(ctx))
		must(t, job.Release(ctx, client.WithDelay(time.Hour)))
		if stats, err := c.StatsJob(ctx, id); err != nil || stats.Priority != 7 || stats.State != "delayed" || stats.Delay != time.Hour || stats.TTR != 90*time.Second {
			t.Errorf("stats of the job %+v, %v", stats, err)
		}
		if p, err := c.PeekDelayed(ctx); p.ID != id || err != nil {
			t.Errorf("peeked %v, %v", p, err)
		}
		must(t, c.KickJob(ctx, id))
		job, err = c.ReserveJob(ctx, id)
		must(t, err)
		must(t, job.Bury(ctx))
		if p, err := c.PeekBuried(ctx); p.ID != id || err != nil {
			t.Errorf("peeked %v, %v", p, err)
		}
		if n, err := c.Kick(ctx, 10); n != 1 || err != nil {
			t.Errorf("kicked %d, %v", n, err)
		}
		must(t, c.PauseTube(ctx, "work", 30*time.Second))
		if stats, err := c.StatsTube(ctx, "work"); err != nil || stats.Pause != 30*time.Second || stats.Name != "work" || stats.Jobs.Ready != 1 {
			t.Errorf("stats of the tube %+v, %v", stats, err)
		}
		_, err = c.ReserveWithTimeout(ctx, 0)
		wantError(t, err, client.ErrTimedOut)
		must(t, c.PauseTube(ctx, "work", 0))
		must(t, c.Delete(ctx, id))
		if tubes, err := c.ListTubes(ctx); !slices.Equal(tubes, []string{"default", "work"}) || err != nil {
			t.Errorf("tubes %q, %v", tubes, err)
		}
		must(t, c.WatchOnly(ctx, "a", "b"))
		if tubes, err := c.ListTubesWatched(ctx); len(tubes) != 2 || !slices.Contains(tubes, "b") || err != nil {
			t.Errorf("watched %q, %v", tubes, err)
		}
		if stats, err := c.Stats(ctx); err != nil || stats.Commands.Put != 1 || stats.TotalJobs != 1 {
			t.Errorf("stats %+v, %v", stats, err)
		}
	})
}

func wantError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

func TestRefusals(t *testing.T) {
	eachServer(t, func(t *testing.T, s *target) {
		ctx := patient(t)
		c := dial(t, s.address())
		_, err := c.Peek(ctx, 99)
		wantError(t, err, client.ErrNotFound)
		var typed *client.Error
		if !errors.As(err, &typed) || typed.Op != "peek" || typed.Server != s.address() {
			t.Errorf("error %#v", err)
		}
		wantError(t, c.Delete(ctx, 99), client.ErrNotFound)
		wantError(t, c.KickJob(ctx, 99), client.ErrNotFound)
		_, err = c.StatsTube(ctx, "none")
		wantError(t, err, client.ErrNotFound)
		_, err = c.StatsJob(ctx, 99)
		wantError(t, err, client.ErrNotFound)
		_, err = c.ReserveJob(ctx, 99)
		wantError(t, err, client.ErrNotFound)
		wantError(t, c.PauseTube(ctx, "none", time.Second), client.ErrNotFound)
		_, err = c.Put(ctx, make([]byte, 65536))
		wantError(t, err, client.ErrJobTooBig)
		wantError(t, c.Use(ctx, "two words"), client.ErrTubeName)
		wantError(t, c.Use(ctx, strings.Repeat("x", 201)), client.ErrTubeName)
		must(t, c.Use(ctx, strings.Repeat("x", 200)))
		_, err = c.Put(ctx, nil, client.WithDelay(-time.Second))
		wantError(t, err, client.ErrRange)
		_, err = c.Put(ctx, nil, client.WithTTR(1<<63-1))
		wantError(t, err, client.ErrRange)
		_, err = c.Put(ctx, nil, client.WithDelay((1<<32-1)*time.Second))
		must(t, err)
		must(t, c.Err())
		must(t, c.Close())
		_, err = c.Put(ctx, nil)
		wantError(t, err, client.ErrClosed)
	})
}

// TestBodies crosses the sizes at which a body is sent in another way.
func TestBodies(t *testing.T) {
	eachServer(t, func(t *testing.T, s *target) {
		ctx := patient(t)
		p := startProxy(t, s)
		p.halve.Store(true)
		c := dial(t, p.address())
		var bodies [][]byte
		for _, n := range []int{0, 1, 100, 8191, 8192, 8193, 20000, 65535} {
			bodies = append(bodies, bytes.Repeat([]byte{byte(n), '\r', '\n'}, n/3+1)[:n])
		}
		ids, err := c.PutAll(ctx, bodies)
		must(t, err)
		for i, body := range bodies {
			one, err := c.Put(ctx, body)
			must(t, err)
			for _, id := range []uint64{ids[i], one} {
				job, err := c.ReserveJob(ctx, id)
				must(t, err)
				if !bytes.Equal(job.Body, body) {
					t.Errorf("a body of %d bytes came back as %d different ones", len(body), len(job.Body))
				}
				must(t, job.Delete(ctx))
			}
		}
	})
}

func TestBatches(t *testing.T) {
	eachServer(t, func(t *testing.T, s *target) {
		ctx := patient(t)
		c := dial(t, s.address())
		bodies := make([][]byte, 3000)
		for i := range bodies {
			bodies[i] = fmt.Appendf(nil, "%d", i)
		}
		bodies[10] = make([]byte, 65536)
		ids, err := c.PutAll(ctx, bodies)
		wantError(t, err, client.ErrJobTooBig)
		var batch *client.BatchError
		if !errors.As(err, &batch) || len(batch.Unwrap()) != 1 || batch.Errs[10] == nil || ids[10] != 0 || ids[11] == 0 {
			t.Fatalf("%v", err)
		}
		seen := 0
		for seen < 2999 {
			jobs, err := c.ReserveAll(ctx, 700)
			must(t, err)
			seen += len(jobs)
			must(t, client.DeleteAll(ctx, jobs...))
			err = client.DeleteAll(ctx, jobs[0])
			wantError(t, err, client.ErrJobLost)
		}
		if stats, err := c.StatsTube(ctx, "default"); err != nil || stats.Jobs != (client.JobCounts{}) {
			t.Errorf("left over: %+v, %v", stats, err)
		}
	})
}

func TestDeadlineOfReserve(t *testing.T) {
	eachServer(t, func(t *testing.T, s *target) {
		c := dial(t, s.address())
		for _, wait := range []time.Duration{200 * time.Millisecond, 1300 * time.Millisecond} {
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			_, err := c.Reserve(ctx)
			cancel()
			wantError(t, err, client.ErrTimedOut)
			if took := time.Since(began); took < wait-10*time.Millisecond {
				t.Errorf("gave up after %v of %v", took, wait)
			}
		}
		must(t, c.Err())
		// A job that comes in the last fraction of a second is found.
		ctx, cancel := context.WithTimeout(t.Context(), 900*time.Millisecond)
		defer cancel()
		producer := dial(t, s.address())
		time.AfterFunc(100*time.Millisecond, func() { _, _ = producer.Put(t.Context(), []byte("late")) })
		job, err := c.Reserve(ctx)
		must(t, err)
		must(t, job.Delete(t.Context()))
	})
}

func TestDeadlineSoon(t *testing.T) {
	eachServer(t, func(t *testing.T, s *target) {
		ctx := patient(t)
		c := dial(t, s.address())
		_, err := c.Put(ctx, []byte("short"), client.WithTTR(time.Second))
		must(t, err)
		job, err := c.Reserve(ctx)
		must(t, err)
		_, err = c.Reserve(ctx)
		wantError(t, err, client.ErrDeadlineSoon)
		must(t, job.Delete(ctx))
		must(t, c.Err())
	})
}

// TestLostJob lets a job's time run out. Its holder says something after that:
// beanstalkd 1.12 otherwise forgets it once in ten times, and the job stays reserved.
func TestLostJob(t *testing.T) {
	eachServer(t, func(t *testing.T, s *target) {
		ctx := patient(t)
		c := dial(t, s.address())
		_, err := c.Put(ctx, []byte("short"), client.WithTTR(time.Second))
		must(t, err)
		job, err := c.Reserve(ctx)
		must(t, err)
		time.AfterFunc(1100*time.Millisecond, func() { _, _ = c.ListTubeUsed(ctx) })
		again, err := dial(t, s.address()).Reserve(ctx)
		must(t, err)
		wantError(t, job.Touch(ctx), client.ErrJobLost)
		wantError(t, job.Release(ctx, client.WithPriority(0)), client.ErrNotFound)
		must(t, again.Delete(ctx))
		must(t, c.Err())
	})
}

func TestCancelGivesBackAndLosesNothing(t *testing.T) {
	eachServer(t, func(t *testing.T, s *target) {
		ctx := patient(t)
		producer := dial(t, s.address())
		_, err := producer.Put(ctx, []byte("held"))
		must(t, err)
		c := dial(t, s.address())
		held, err := c.Reserve(ctx)
		must(t, err)
		waiting, cancel := context.WithCancel(ctx)
		time.AfterFunc(20*time.Millisecond, cancel)
		_, err = c.Reserve(waiting)
		wantError(t, err, context.Canceled)
		wantError(t, c.Err(), client.ErrClosed)
		wantError(t, held.Delete(ctx), client.ErrJobLost)
		if stats, err := producer.StatsJob(ctx, held.ID); err != nil || stats.State != "ready" || stats.Releases != 0 || stats.Timeouts != 0 {
			t.Errorf("the job held: %+v, %v", stats, err)
		}
	})
}

// TestCancelRacesWithPut puts jobs at the very moment when the reserve waiting for
// them is given up. Each job is either returned, or ready when Reserve has returned.
func TestCancelRacesWithPut(t *testing.T) {
	eachServer(t, func(t *testing.T, s *target) {
		ctx := patient(t)
		producer := dial(t, s.address())
		returned, givenBack := 0, 0
		for i := range 200 {
			c := dial(t, s.address())
			waiting, cancel := context.WithCancel(ctx)
			put := make(chan uint64, 1)
			go func() {
				id, _ := producer.Put(ctx, []byte("job"))
				put <- id
			}()
			time.AfterFunc(time.Duration(i)*2*time.Microsecond, cancel)
			job, err := c.Reserve(waiting)
			id := <-put
			if err == nil {
				returned++
				must(t, job.Delete(ctx))
			} else {
				wantError(t, err, context.Canceled)
				givenBack++
				stats, err := producer.StatsJob(ctx, id)
				if err != nil || stats.State != "ready" {
					t.Fatalf("the job is %+v, %v", stats, err)
				}
				must(t, producer.Delete(ctx, id))
			}
			cancel()
			must(t, c.Close())
		}
		t.Logf("%d returned, %d given back", returned, givenBack)
	})
}

func TestContextOfOtherCommands(t *testing.T) {
	eachServer(t, func(t *testing.T, s *target) {
		p := startProxy(t, s)
		c := dial(t, p.address())
		ctx := patient(t)
		must(t, c.Use(ctx, "x"))
		ended, cancel := context.WithCancel(ctx)
		cancel()
		_, err := c.Put(ended, []byte("never sent"))
		wantError(t, err, context.Canceled)
		if errors.Is(err, client.ErrUncertain) || c.Err() != nil {
			t.Errorf("%v; the connection is %v", err, c.Err())
		}
		p.mute.Store(true)
		short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		_, err = c.Put(short, []byte("sent"))
		wantError(t, err, context.DeadlineExceeded)
		wantError(t, err, client.ErrUncertain)
		wantError(t, c.Err(), client.ErrClosed)
	})
}

func TestServerThatDoesNotAnswer(t *testing.T) {
	s := startHaricot(t)
	p := startProxy(t, s)
	p.mute.Store(true)
	d := client.Dialer{CommandTimeout: 100 * time.Millisecond}
	c, err := d.DialContext(t.Context(), p.address())
	must(t, err)
	_, err = c.Put(t.Context(), []byte("x"))
	wantError(t, err, client.ErrUncertain)
	wantError(t, c.Err(), client.ErrClosed)
}

func TestCutIsSeenBeforeAnythingIsSent(t *testing.T) {
	eachServer(t, func(t *testing.T, s *target) {
		ctx := patient(t)
		p := startProxy(t, s)
		c := dial(t, p.address()) // over TCP, where writing to a closed connection seems to succeed
		must(t, c.Use(ctx, "x"))
		p.cut()
		time.Sleep(60 * time.Millisecond) //nolint:forbidigo // the socket is looked at after 50 ms of silence
		_, err := c.Put(ctx, []byte("x"))
		wantError(t, err, client.ErrClosed)
		if errors.Is(err, client.ErrUncertain) {
			t.Errorf("%v, though nothing was sent", err)
		}
	})
}

func TestCloseEndsAWait(t *testing.T) {
	eachServer(t, func(t *testing.T, s *target) {
		c := dial(t, s.address())
		time.AfterFunc(20*time.Millisecond, func() { _ = c.Close() })
		_, err := c.Reserve(context.Background())
		wantError(t, err, client.ErrClosed)
	})
}
