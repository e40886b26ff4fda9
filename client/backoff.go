package client

import (
	"context"
	"math/rand/v2"
	"time"
)

// A Backoff says how long to wait after failures: Min after the first, twice as
// long after each further one, at most Max. From each wait a random share of up
// to Jitter is taken off, so that those who failed together do not come back
// together.
type Backoff struct {
	Min    time.Duration
	Max    time.Duration
	Jitter float64 // from 0, none, to 1
}

// Delay returns how long to wait after n failures in a row.
func (b Backoff) Delay(n int) time.Duration {
	d := b.Min
	for i := 1; i < n && d < b.Max; i++ {
		if d > b.Max/2 {
			d = b.Max // doubling could overflow
			break
		}
		d *= 2
	}
	d = min(d, b.Max)
	return d - time.Duration(rand.Float64()*b.Jitter*float64(d))
}

// withDefaults fills in what is not set.
func (b Backoff) withDefaults(d Backoff) Backoff {
	if b.Min <= 0 {
		b.Min = d.Min
	}
	if b.Max <= 0 {
		b.Max = max(d.Max, b.Min)
	}
	if b.Jitter == 0 {
		b.Jitter = d.Jitter
	}
	b.Jitter = min(max(b.Jitter, 0), 1)
	return b
}

// sleep waits until the time has passed or the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
