package operator_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/queue"
	"github.com/haricotq/haricot/internal/server"
)

// run takes samples until the test calls stop, which waits for the end.
func run(p *practice) (h *operator.History, stop func()) {
	h = operator.NewHistory(p.operator)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.Run(ctx)
	}()
	synctest.Wait()
	return h, func() {
		cancel()
		<-ended
	}
}

// later lets time pass, and what is due then happen.
func later(d time.Duration) {
	pass(d)
	synctest.Wait()
}

// TestHistory has a sample of each second, of what there was then.
func TestHistory(t *testing.T) {
	examine(t, func(p *practice) {
		c := p.client("a")
		h, stop := run(p)
		defer stop()
		p.put("a", 3, 0)
		later(time.Second)
		p.ask(c, "reserve")
		later(time.Second)
		p.ask(c, "delete 1")
		later(10 * time.Second)
		samples := h.Samples()
		if len(samples) != 13 {
			t.Fatalf("there are %d samples after 12 seconds", len(samples))
		}
		for i, s := range samples {
			if i > 0 && s.At.Sub(samples[i-1].At) != time.Second {
				t.Errorf("sample %d comes %v after the one before", i, s.At.Sub(samples[i-1].At))
			}
			if s.Busy < 0 || s.Busy > 1 {
				t.Errorf("the loop was busy for %v of the time", s.Busy)
			}
		}
		first, put, reserved, last := samples[0], samples[1], samples[2], samples[12]
		if first.Jobs.Ready != 0 || first.Connections != 1 || first.Oldest != 0 {
			t.Errorf("at the start there is %+v", first)
		}
		if put.Jobs.Ready != 3 || put.Done[queue.Puts] != 3 || put.Memory == 0 || put.Oldest != time.Second {
			t.Errorf("after the put there is %+v", put)
		}
		if reserved.Jobs.Reserved != 1 || reserved.Jobs.Ready != 2 || reserved.Workers != 1 {
			t.Errorf("after the reservation there is %+v", reserved)
		}
		if last.Done[queue.Deletes] != 1 || last.Jobs.Ready != 2 || last.Oldest < 12*time.Second || last.Oldest > 14*time.Second {
			t.Errorf("at the end there is %+v", last)
		}
		// What was handed out is the caller's.
		samples[0].Connections = 99
		if h.Samples()[0].Connections == 99 {
			t.Error("samples are not copied")
		}
	})
}

// TestHistoryOfMoreThanAnHour keeps the last hour.
func TestHistoryOfMoreThanAnHour(t *testing.T) {
	examine(t, func(p *practice) {
		h, stop := run(p)
		defer stop()
		start := h.Samples()[0].At
		for _, minutes := range []int{30, 29, 2, 75} {
			later(time.Duration(minutes) * time.Minute)
		}
		samples := h.Samples()
		if len(samples) != 3600 {
			t.Fatalf("%d samples are kept", len(samples))
		}
		end := start.Add(136 * time.Minute)
		for i, s := range samples {
			if want := end.Add(time.Duration(i-3599) * time.Second); !s.At.Equal(want) {
				t.Fatalf("sample %d is of %v, want %v", i, s.At, want)
			}
		}
	})
}

// TestHistoryWatch tells those who watch, and does not wait for those who do
// not look.
func TestHistoryWatch(t *testing.T) {
	examine(t, func(p *practice) {
		h, stop := run(p)
		samples, quit := h.Watch()
		_, idle := h.Watch()
		defer idle()
		for i := range 10 {
			later(time.Second)
			kept := h.Samples()
			select {
			case s := <-samples:
				if !s.At.Equal(kept[len(kept)-1].At) {
					t.Errorf("sample %d is told as of %v", i, s.At)
				}
			default:
				t.Fatalf("sample %d was not told", i)
			}
		}
		quit()
		quit() // twice is once
		later(time.Second)
		select {
		case s := <-samples:
			t.Errorf("a sample of %v is told to somebody who has gone", s.At)
		default:
		}
		stop()
		before := len(h.Samples())
		later(10 * time.Second)
		if after := len(h.Samples()); after != before {
			t.Errorf("%d samples were taken after the end", after-before)
		}
	})
}

// TestHistoryEndsWithServer does not go on when there is nothing to look at.
func TestHistoryEndsWithServer(t *testing.T) {
	s := openShop(t, server.Config{})
	h := operator.NewHistory(s.Operator)
	s.close()
	h.Run(t.Context()) // returns at once
	if n := len(h.Samples()); n != 0 {
		t.Errorf("%d samples were taken", n)
	}
}
