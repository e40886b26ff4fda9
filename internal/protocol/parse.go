package protocol

import (
	"bytes"
	"math"
	"time"
)

// A Command is one line of a client, understood.
//
// Only the fields that the verb's arguments fill have a meaning. Tube is a
// piece of the decoder's input and holds until the next call of
// [Decoder.Next]; who keeps it copies it.
type Command struct {
	Verb Verb
	// Malformed marks a line that counts as a use of its verb and is then
	// refused with BAD_FORMAT.
	Malformed bool

	ID       JobID
	Priority Priority
	Delay    time.Duration // of put and release; the length of a pause
	TTR      time.Duration
	Timeout  time.Duration // of reserve-with-timeout
	Size     uint32        // of a put's body in bytes, without its CRLF
	Count    uint32        // of kick
	Tube     []byte
}

// parse understands a line, given without its CRLF.
func (c *Command) parse(line []byte) Event {
	*c = Command{}
	// A zero byte is refused before anything else is looked at.
	if bytes.IndexByte(line, 0) >= 0 {
		return BadLine
	}
	if len(line) == 0 {
		return UnknownLine
	}
	for _, r := range byFirst[line[0]] {
		rest, ok := r.begins(line)
		if !ok {
			continue
		}
		c.Verb = r.verb
		return c.arguments(r, rest)
	}
	return UnknownLine
}

// begins tells whether the line is one of the rule's, and what follows the
// word and its space.
func (r *rule) begins(line []byte) (rest []byte, ok bool) {
	n := len(r.word)
	if len(line) < n || string(line[:n]) != r.word {
		return nil, false
	}
	if r.match != spaced {
		return line[n:], true
	}
	if len(line) == n || line[n] != ' ' {
		return nil, false
	}
	return line[n+1:], true
}

func (c *Command) arguments(r *rule, rest []byte) Event {
	switch r.match {
	case alone:
		if len(rest) > 0 {
			return BadLine
		}
		return CommandLine
	case closing:
		return CommandLine
	case spaced, glued:
	}
	for _, kind := range r.args {
		var ok bool
		if rest, ok = c.argument(kind, rest); !ok {
			return BadLine
		}
	}
	if len(rest) > 0 {
		switch r.tail {
		case exact:
			return BadLine
		case counted:
			c.Malformed = true
		case lenient:
		}
	}
	return CommandLine
}

// argument takes one argument from the front of text.
func (c *Command) argument(kind argument, text []byte) (rest []byte, ok bool) {
	var n uint64
	switch kind {
	case argID:
		n, rest, ok = number(text, math.MaxUint64)
		c.ID = JobID(n)
	case argPriority:
		n, rest, ok = number(text, math.MaxUint32)
		c.Priority = Priority(n)
	case argDelay:
		n, rest, ok = number(text, math.MaxUint32)
		c.Delay = time.Duration(n) * time.Second
	case argTTR:
		n, rest, ok = number(text, math.MaxUint32)
		c.TTR = time.Duration(n) * time.Second
	case argSize:
		n, rest, ok = number(text, math.MaxUint32)
		c.Size = uint32(n)
	case argTimeout:
		n, rest, ok = number(text, uint64(MaxTimeout/time.Second))
		c.Timeout = time.Duration(n) * time.Second
	case argCount:
		c.Count, rest, ok = count(text)
	case argTube:
		// The whole rest of the line is the name.
		c.Tube, ok = text, ValidTube(text)
	case argPausedTube:
		c.Tube, rest, ok = leadingName(text)
		c.Malformed = !ValidTube(c.Tube)
	}
	return rest, ok
}

// number takes spaces and a decimal number up to limit. What follows must be
// a space, the end, or something that the caller refuses.
func number(text []byte, limit uint64) (n uint64, rest []byte, ok bool) {
	i := 0
	for i < len(text) && text[i] == ' ' {
		i++
	}
	first := i
	for ; i < len(text); i++ {
		digit := uint64(text[i] - '0')
		if digit > 9 {
			break
		}
		if n > (limit-digit)/10 {
			return 0, nil, false
		}
		n = n*10 + digit
	}
	return n, text[i:], i > first
}

// count reads the argument of kick as C's strtoul does, which beanstalkd
// calls: blanks and a sign may lead, anything may follow, a minus negates in
// 64 bits, and the low 32 bits are what counts. So "-1" means all.
func count(text []byte) (n uint32, rest []byte, ok bool) {
	i := 0
	for i < len(text) && (text[i] == ' ' || text[i] >= '\t' && text[i] <= '\r') {
		i++
	}
	negative := false
	if i < len(text) && (text[i] == '-' || text[i] == '+') {
		negative = text[i] == '-'
		i++
	}
	// No blank may stand between the sign and its digits.
	if i == len(text) || text[i] == ' ' {
		return 0, nil, false
	}
	wide, rest, ok := number(text[i:], math.MaxUint64)
	if negative {
		wide = -wide
	}
	return uint32(wide), rest, ok
}
