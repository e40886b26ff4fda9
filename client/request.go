package client

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
)

// A request is one command, and what came of it.
type request struct {
	verb protocol.Verb
	tube string    // written before the numbers, if not empty
	args [4]uint64 // the first count of them are written
	n    int
	body []byte // of a put, whose length is its last number

	reply    reply
	answered bool
}

// reply is what a server answered. Which fields are set depends on the word.
type reply struct {
	word   protocol.Word
	number uint64 // the id of a job, or a count
	text   string // the name of a tube
	data   []byte // a body or a document
}

// command makes a request without a tube.
func command(verb protocol.Verb, args ...uint64) request {
	q := request{verb: verb, n: len(args)}
	copy(q.args[:], args)
	return q
}

// onTube makes a request that names a tube.
func onTube(verb protocol.Verb, tube string, args ...uint64) request {
	q := command(verb, args...)
	q.tube = tube
	return q
}

// appendLine appends the command's line with its CRLF.
func (q *request) appendLine(dst []byte) []byte {
	dst = append(dst, q.verb.String()...)
	if q.tube != "" {
		dst = append(dst, ' ')
		dst = append(dst, q.tube...)
	}
	for _, n := range q.args[:q.n] {
		dst = append(dst, ' ')
		dst = strconv.AppendUint(dst, n, 10)
	}
	return append(dst, "\r\n"...)
}

// result returns nil if the reply is the word wanted. A word that is a refusal
// gives the error that stands for it.
func (q *request) result(want protocol.Word) error {
	switch err := refusals[q.reply.word]; {
	case q.reply.word == want:
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%w: %s answered with %s", ErrProtocol, q.verb, q.reply.word)
}

// checkTube returns ErrTubeName if no server would take the name.
func checkTube(name string) error {
	if !protocol.ValidTube([]byte(name)) {
		return fmt.Errorf("%q: %w", name, ErrTubeName)
	}
	return nil
}

func checkTubes(names []string) error {
	for _, name := range names {
		if err := checkTube(name); err != nil {
			return err
		}
	}
	return nil
}

// wholeSeconds is a duration as the protocol has it. A fraction of a second is
// rounded up, so that nothing happens before its time.
func wholeSeconds(d time.Duration, most uint64) (uint64, error) {
	if d < 0 {
		return 0, fmt.Errorf("duration %v: %w", d, ErrRange)
	}
	n := uint64((d + time.Second - 1) / time.Second)
	if d > math.MaxInt64-time.Second {
		n = math.MaxUint64
	}
	if n > most {
		return 0, fmt.Errorf("duration %v: %w", d, ErrRange)
	}
	return n, nil
}
