package queue

import "time"

// An Instant is a moment in nanoseconds since 1970 UTC, by a clock that never
// goes back: the wall clock at the start of the process, and the monotonic one
// from then on.
type Instant int64

func (t Instant) add(d time.Duration) Instant { return t + Instant(d) }

func (t Instant) sub(u Instant) time.Duration { return time.Duration(t - u) }
