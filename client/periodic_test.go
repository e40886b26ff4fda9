//go:build unix

package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/haricotq/haricot/client"
	"github.com/haricotq/haricot/client/clienttest"
)

// ticks runs schedulers for a while of fake time and returns when jobs came.
func ticks(t *testing.T, b *bubble, schedulers int, d time.Duration, disturb func()) []time.Duration {
	t.Helper()
	began := time.Now()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, schedulers)
	for range schedulers {
		s, err := client.NewScheduler(b.server.Pool(t, client.Config{}), nil, client.Periodic{
			Name: "report", Schedule: client.Every(time.Minute), Tube: "reports",
			Body: func(now time.Time) ([]byte, error) { return fmt.Append(nil, now.Sub(began)), nil },
		})
		must(t, err)
		go func() { ended <- s.Run(ctx) }()
	}
	if disturb != nil {
		go disturb()
	}
	wait(d)
	cancel()
	for range schedulers {
		must(t, <-ended)
	}
	var at []time.Duration
	for {
		job, err := reserveNow(t.Context(), b.pool, "reports")
		if errors.Is(err, client.ErrTimedOut) {
			return at
		}
		must(t, err)
		tick, err := time.ParseDuration(string(job.Body))
		must(t, err)
		at = append(at, tick)
		must(t, job.Delete(t.Context()))
	}
}

func TestPeriodicOnceEachTickHoweverManySchedulers(t *testing.T) {
	for _, schedulers := range []int{1, 5} {
		inBubble(t, func(t *testing.T, b *bubble) {
			at := ticks(t, b, schedulers, 10*time.Minute+30*time.Second, nil)
			if len(at) != 10 {
				t.Fatalf("%d schedulers: ticks at %v, want ten", schedulers, at)
			}
			for i, tick := range at {
				if late := tick - time.Duration(i+1)*time.Minute; late < 0 || late > time.Second {
					t.Errorf("tick %d at %v", i, tick)
				}
			}
			if counts := b.counts(client.TokenPrefix + "report"); counts.Delayed != 1 || counts.Ready+counts.Reserved+counts.Buried != 0 {
				t.Errorf("tokens: %+v", counts)
			}
		})
	}
}

func TestPeriodicThroughCutsAndRestarts(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		at := ticks(t, b, 3, 20*time.Minute+30*time.Second, func() {
			for i := range 8 {
				time.Sleep(130 * time.Second) //nolint:forbidigo // in a bubble
				if i == 4 {
					b.server.Stop()
					b.server.Start()
				} else {
					b.server.Cut()
				}
			}
		})
		// The restart loses the jobs of the first ten minutes and eighteen seconds.
		if len(at) < 9 || len(at) > 11 {
			t.Errorf("ticks at %v", at)
		}
	})
}

func TestPeriodicMakesUpForMissedTicksOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		if at := ticks(t, b, 1, 90*time.Second, nil); len(at) != 1 {
			t.Fatalf("ticks at %v", at)
		}
		wait(time.Hour)
		if at := ticks(t, b, 1, 10*time.Second, nil); len(at) != 1 {
			t.Errorf("ticks at %v, want one for all that were missed", at)
		}
	})
}

func TestPeriodicInWorker(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		config := b.config()
		fail := errors.New("no body")
		n := 0
		config.Periodic = []client.Periodic{{Name: "p", Schedule: client.Every(time.Hour), Tube: "x", Body: func(time.Time) ([]byte, error) {
			if n++; n == 2 {
				return nil, fail
			}
			return []byte("tick"), nil
		}}}
		w := client.NewWorker(b.pool, config)
		w.HandleFunc("x", func(context.Context, *client.Job) error { return nil })
		b.start(w)
		wait(4*time.Hour + time.Minute)
		if got := b.results(); len(got) != 3 {
			t.Errorf("%v, want three of four ticks", got)
		}
	})
}

func TestSchedulerRefusesNonsense(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := clienttest.NewServer(t).Pool(t, client.Config{})
		good := client.Periodic{Name: "n", Schedule: client.Every(0), Tube: "t"}
		bad := []client.Periodic{good, good, good, good}
		bad[0].Name = "two words"
		bad[1].Tube = ""
		bad[2].Schedule = nil
		bad[3].Options = []client.Option{client.WithDelay(-1)}
		for _, job := range bad {
			if _, err := client.NewScheduler(p, nil, job); err == nil {
				t.Errorf("%+v was taken", job)
			}
		}
		if _, err := client.NewScheduler(p, nil, good, good); err == nil {
			t.Error("the same name was taken twice")
		}
	})
}

func TestEvery(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	for d, want := range map[time.Duration]time.Time{
		0:             at.Truncate(time.Second).Add(time.Second),
		time.Hour:     time.Date(2026, 1, 2, 4, 0, 0, 0, time.UTC),
		7 * time.Hour: time.Unix(0, 0).Add(at.Sub(time.Unix(0, 0)).Truncate(7*time.Hour) + 7*time.Hour),
	} {
		if got := client.Every(d).Next(at); !got.Equal(want) {
			t.Errorf("every %v: %v, want %v", d, got, want)
		}
	}
}
