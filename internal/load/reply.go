package load

import (
	"bytes"
	"errors"
	"fmt"
)

// kind says what a latency was measured of: a command, or the way of a job.
type kind int

const (
	putKind kind = iota
	reserveKind
	deleteKind
	otherKind  // any other command
	travelKind // from the sending of a put to the arrival of its RESERVED elsewhere
	kinds      // their number
)

var kindNames = [kinds]string{"put", "reserve", "delete", "other", "put-to-reserved"}

// reply is what a server said. Its slices are valid until the next one is scanned.
type reply struct {
	kind   kind
	digits []byte // of the job's id, of INSERTED and RESERVED
	body   []byte // of RESERVED, FOUND and OK
}

// ErrReply reports a server that does not answer as it must.
var ErrReply = errors.New("the server answered something else than expected")

// scan takes one reply from the front of the input. It returns 0 if the reply has not arrived whole.
func (r *reply) scan(input []byte) (used int, err error) {
	end := bytes.IndexByte(input, '\n') + 1
	if end == 0 {
		return 0, nil
	}
	line := input[:end]
	if end < 2 || input[end-2] != '\r' {
		return 0, unexpected(line)
	}
	switch {
	case string(line) == "DELETED\r\n":
		r.kind = deleteKind
	case end > 11 && string(line[:9]) == "INSERTED ":
		r.kind, r.digits = putKind, line[9:end-2]
	case end > 13 && string(line[:9]) == "RESERVED ":
		r.kind = reserveKind
		return r.scanBody(input, 9, end)
	case end > 10 && string(line[:6]) == "FOUND ":
		r.kind = otherKind
		return r.scanBody(input, 6, end)
	case end > 5 && string(line[:3]) == "OK ":
		r.kind = otherKind
		return r.scanBody(input, 3, end)
	case end > 8 && string(line[:6]) == "USING ", end > 11 && string(line[:9]) == "WATCHING ":
		r.kind = otherKind
	case string(line) == "TIMED_OUT\r\n":
		r.kind, r.digits = reserveKind, nil
	default:
		return 0, unexpected(line)
	}
	return end, nil
}

// scanBody reads the numbers that begin at from and end the line, the last of which is the size of the body behind the line; one
// before it is a job's id.
func (r *reply) scanBody(input []byte, from, end int) (used int, err error) {
	numbers := input[from : end-2]
	digits := numbers
	if space := bytes.IndexByte(numbers, ' '); space >= 0 {
		r.digits, digits = numbers[:space], numbers[space+1:]
	}
	size := 0
	for _, d := range digits {
		if d < '0' || d > '9' || size > 1<<30 {
			return 0, unexpected(input[:end])
		}
		size = 10*size + int(d-'0')
	}
	if len(digits) == 0 {
		return 0, unexpected(input[:end])
	}
	if len(input) < end+size+2 {
		return 0, nil
	}
	r.body = input[end : end+size]
	if input[end+size] != '\r' || input[end+size+1] != '\n' {
		return 0, unexpected(input[:end])
	}
	return end + size + 2, nil
}

func unexpected(line []byte) error { return fmt.Errorf("%w: %q", ErrReply, line) }
