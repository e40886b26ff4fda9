package engine

import (
	"time"

	"github.com/haricotq/haricot/internal/queue"
)

// Clock tells the time of the queue: the wall clock when it was made, and the
// monotonic clock from then on. A change of the system's time neither hastens
// nor stretches delays and reservations.
type Clock struct{ start time.Time }

// NewClock makes a clock and sets it.
func NewClock() Clock { return Clock{time.Now()} }

// Now returns the moment.
func (c Clock) Now() queue.Instant {
	return queue.Instant(c.start.UnixNano() + int64(time.Since(c.start)))
}

// Running returns how long the clock has run.
func (c Clock) Running() time.Duration { return time.Since(c.start) }
