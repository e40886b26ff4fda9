package binlog

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// states as the log numbers them. Zero is a job that was deleted.
type state uint8

const (
	deleted state = iota
	ready
	reserved
	buried
	delayed
)

// A layout is how one version writes records.
type layout struct {
	lengthSize int           // bytes of the length of a tube's name
	jobSize    int           // bytes of the job
	unit       time.Duration // of times
}

var layouts = map[uint32]*layout{
	5: {lengthSize: 8, jobSize: 77, unit: time.Microsecond},
	7: {lengthSize: 4, jobSize: 80, unit: time.Nanosecond},
}

// record is a record of either version. Both have the job's fields at the same
// places:
//
//	 0 id        8    32 body size  4    56 reserves  4    72 kicks  4
//	 8 priority  4    36 unused     4    60 timeouts  4    76 state  1
//	12 unused    4    40 created    8    64 releases  4    77 unused, in version 7
//	16 delay     8    48 deadline   8    68 buries    4
//	24 ttr       8
type record struct {
	tube     string // empty in a short record
	id       protocol.JobID
	priority protocol.Priority
	delay    int64 // these four in nanoseconds
	ttr      int64
	created  int64
	deadline int64 // of a delayed job, and of a buried one's last reservation
	bodySize int32 // with the CRLF
	state    state

	reserves, timeouts, releases, buries, kicks uint32

	tidy bool // what is unused is zero, as beanstalkd leaves it
	// Where in the file it begins, its body, and what follows it.
	at, body, end int64
}

func (r *record) full() bool { return r.tube != "" }

// job reads the fields of a job.
func (l *layout) job(r *record, p []byte) {
	u32 := binary.LittleEndian.Uint32
	moment := func(at int) int64 {
		n := binary.LittleEndian.Uint64(p[at:])
		if n > uint64(math.MaxInt64/int64(l.unit)) {
			return -1
		}
		return int64(n) * int64(l.unit)
	}
	r.id = protocol.JobID(binary.LittleEndian.Uint64(p))
	r.priority = protocol.Priority(u32(p[8:]))
	r.delay, r.ttr = moment(16), moment(24)
	r.bodySize = int32(u32(p[32:]))
	r.created, r.deadline = moment(40), moment(48)
	r.reserves, r.timeouts, r.releases = u32(p[56:]), u32(p[60:]), u32(p[64:])
	r.buries, r.kicks = u32(p[68:]), u32(p[72:])
	r.state = state(p[76])
	r.tidy = u32(p[12:]) == 0 && u32(p[36:]) == 0
	for _, b := range p[77:] {
		r.tidy = r.tidy && b == 0
	}
}

// fault says what in the job's fields cannot be, if anything.
func (r *record) fault() string {
	switch {
	case r.id == 0:
		return "a record names no job"
	case r.state > delayed:
		return fmt.Sprintf("job %d would be in a state numbered %d", r.id, r.state)
	case r.bodySize < 2:
		return fmt.Sprintf("job %d would have a body of %d bytes, less than its CRLF", r.id, r.bodySize)
	case r.delay < 0 || r.ttr < 0 || r.created < 0 || r.deadline < 0:
		return fmt.Sprintf("job %d has times that cannot be", r.id)
	}
	return ""
}

// The first release of beanstalkd, and a time that no clock should show.
var (
	earliest = time.Date(2007, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	latest   = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
)

// certain tells whether the record has all the marks of a real one, so that it
// is one even where nobody knows that a record begins.
func (r *record) certain() bool {
	seconds := func(n int64) bool {
		return n%int64(time.Second) == 0 && n/int64(time.Second) <= math.MaxUint32
	}
	date := func(n int64) bool { return earliest <= n && n <= latest }
	return r.tidy && seconds(r.delay) && seconds(r.ttr) && r.ttr > 0 && date(r.created) &&
		(r.deadline == 0 || date(r.deadline)) && r.bodySize-2 <= protocol.MaxJobSizeLimit
}

// survivor is what remains of the job after a restart. The size, the tube and
// the order of burial are the caller's to fill in.
func (r *record) survivor() queue.Record {
	seconds := func(n int64) time.Duration {
		return time.Duration(min(n/int64(time.Second), math.MaxUint32)) * time.Second
	}
	s := queue.Record{
		ID: r.id, State: queue.Ready, Priority: r.priority,
		Delay: seconds(r.delay), TTR: max(seconds(r.ttr), protocol.MinTTR), Created: queue.Instant(r.created),
		Reserves: r.reserves, Timeouts: r.timeouts, Releases: r.releases, Buries: r.buries, Kicks: r.kicks,
	}
	switch r.state {
	case delayed:
		s.State, s.Due = queue.Delayed, queue.Instant(r.deadline)
	case buried:
		s.State = queue.Buried
	case ready, reserved, deleted:
	}
	return s
}
