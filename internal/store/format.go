package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// formatVersion is the version of the layout described in this file, and
// formatLine what FORMAT holds. A change of the layout raises the version, and
// a store of any earlier version must remain readable: testdata has one of each.
const (
	formatVersion = 1
	formatLine    = "haricot store %d\n"
)

// Keys. Ids are big-endian, so that jobs stand in the order of their ids.
//
//	h<id>     header of a job
//	b<id>     body of a job, absent if it is empty
//	p<tube>   pause of a tube
//	next      the lowest id that no job has had, 8 bytes big-endian
const (
	headerPrefix = 'h'
	bodyPrefix   = 'b'
	pausePrefix  = 'p'
)

var nextKey = []byte("next")

func jobKey(dst []byte, prefix byte, id protocol.JobID) []byte {
	return binary.BigEndian.AppendUint64(append(dst[:0], prefix), uint64(id))
}

// idOf is the id in the key of a header or body.
func idOf(key []byte) (protocol.JobID, error) {
	if len(key) != 9 {
		return 0, fmt.Errorf("%w: key %q names no job", ErrDamaged, key)
	}
	return protocol.JobID(binary.BigEndian.Uint64(key[1:])), nil
}

func pauseKey(dst []byte, tube string) []byte {
	return append(append(dst[:0], pausePrefix), tube...)
}

// States in headers. They are not those of package queue, which may be
// numbered anew.
var stateBytes = map[queue.State]byte{queue.Ready: 'r', queue.Delayed: 'd', queue.Buried: 'b'}

// appendHeader writes a job's header: its state, then numbers as varints, then
// the name of its tube up to the end. The moment is that at which a delayed job
// is due, or a buried job's number in the order of burial.
func appendHeader(dst []byte, r *queue.Record) []byte {
	dst = append(dst, stateBytes[r.State])
	moment := uint64(r.Due)
	if r.State == queue.Buried {
		moment = r.Burial
	}
	for _, n := range [...]uint64{
		uint64(r.Priority), uint64(r.Size), uint64(r.Delay / time.Second), uint64(r.TTR / time.Second),
		uint64(r.Created), moment,
		uint64(r.Reserves), uint64(r.Timeouts), uint64(r.Releases), uint64(r.Buries), uint64(r.Kicks),
	} {
		dst = binary.AppendUvarint(dst, n)
	}
	return append(dst, r.Tube...)
}

// headerLimits are the highest numbers that a header can have.
var headerLimits = [11]uint64{
	math.MaxUint32, math.MaxUint32, math.MaxUint32, math.MaxUint32,
	math.MaxInt64, math.MaxInt64,
	math.MaxUint32, math.MaxUint32, math.MaxUint32, math.MaxUint32, math.MaxUint32,
}

// readHeader reads what appendHeader wrote.
func readHeader(id protocol.JobID, p []byte) (queue.Record, error) {
	r := queue.Record{ID: id}
	if len(p) == 0 {
		return r, fmt.Errorf("%w: the header of job %d is empty", ErrDamaged, id)
	}
	state := p[0]
	p = p[1:]
	var n [11]uint64
	for i := range n {
		v, size := binary.Uvarint(p)
		if size <= 0 {
			return r, fmt.Errorf("%w: the header of job %d ends early", ErrDamaged, id)
		}
		if v > headerLimits[i] {
			return r, fmt.Errorf("%w: the header of job %d has a number that is too high", ErrDamaged, id)
		}
		n[i], p = v, p[size:]
	}
	r.Priority, r.Size = protocol.Priority(n[0]), uint32(n[1])
	r.Delay, r.TTR = time.Duration(n[2])*time.Second, time.Duration(n[3])*time.Second
	r.Created = queue.Instant(n[4])
	r.Reserves, r.Timeouts, r.Releases = uint32(n[6]), uint32(n[7]), uint32(n[8])
	r.Buries, r.Kicks = uint32(n[9]), uint32(n[10])
	r.Tube = string(p)
	if !protocol.ValidTube(p) {
		return r, fmt.Errorf("%w: job %d is in a tube named %q", ErrDamaged, id, p)
	}
	switch state {
	case 'r':
		r.State = queue.Ready
	case 'd':
		r.State, r.Due = queue.Delayed, queue.Instant(n[5])
	case 'b':
		r.State, r.Burial = queue.Buried, n[5]
	default:
		return r, fmt.Errorf("%w: job %d is in a state %q", ErrDamaged, id, state)
	}
	return r, nil
}

// appendPause writes a pause: its length in nanoseconds and its end.
func appendPause(dst []byte, p *queue.PauseRecord) []byte {
	dst = binary.AppendUvarint(dst[:0], uint64(p.Length))
	return binary.AppendUvarint(dst, uint64(p.Resume))
}

func readPause(tube string, p []byte) (queue.PauseRecord, error) {
	length, n := binary.Uvarint(p)
	resume, m := binary.Uvarint(p[max(n, 0):])
	if n <= 0 || m <= 0 || n+m != len(p) {
		return queue.PauseRecord{}, fmt.Errorf("%w: the pause of tube %q cannot be read", ErrDamaged, tube)
	}
	return queue.PauseRecord{Tube: tube, Length: time.Duration(length), Resume: queue.Instant(resume)}, nil
}

// parseFormat reads FORMAT.
func parseFormat(text []byte) error {
	var version int
	if _, err := fmt.Sscanf(string(text), formatLine, &version); err != nil || version < 1 {
		return errors.Join(ErrDamaged, fmt.Errorf("FORMAT holds %q", text))
	}
	if version > formatVersion {
		return fmt.Errorf("%w: its format is %d, this version knows up to %d", ErrNewer, version, formatVersion)
	}
	return nil
}
