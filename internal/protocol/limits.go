package protocol

import "time"

// Version is what `stats` reports as the server's version. Clients read it as
// a decimal number and some refuse servers below 1.8, so it has two parts.
const Version = "2.0"

// Limits of the wire language. They are those of beanstalkd since 1.11.
const (
	// MaxLine is the longest command line in bytes, its CRLF included.
	MaxLine = 224
	// MaxTubeName is the longest name of a tube in bytes.
	MaxTubeName = 200
	// DefaultMaxJobSize is the largest body in bytes that a server takes
	// unless it is told otherwise.
	DefaultMaxJobSize = 65535
	// MaxJobSizeLimit is the highest limit in bytes that a server can be set
	// to: 1 GiB.
	MaxJobSizeLimit = 1 << 30
	// MaxTimeout is the longest time that a reserve-with-timeout may name.
	MaxTimeout = (1<<31 - 1) * time.Second
	// UrgentBelow is the priority under which a ready job counts as urgent.
	UrgentBelow Priority = 1024
	// MinTTR is the shortest time to run; a put that names less gets this.
	MinTTR = time.Second
	// SafetyMargin is how long before the end of a reservation its holder is
	// told DEADLINE_SOON instead of being left to wait.
	SafetyMargin = time.Second
	// DefaultTube is the tube that every connection uses and watches at first.
	DefaultTube = "default"
)

// JobID names a job for as long as the queue exists. The first job has 1;
// 0 names none.
type JobID uint64

// Priority orders ready jobs: the smaller, the sooner.
type Priority uint32
