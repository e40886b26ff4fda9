package protocol

import "bytes"

// An Event is what the decoder found in its input.
type Event uint8

const (
	// Incomplete: all input is taken and more is needed.
	Incomplete Event = iota
	// CommandLine: the decoder's Command holds a command.
	CommandLine
	// BadLine: a line that is too long, has a zero byte, or has arguments that
	// its verb does not take. The answer is BAD_FORMAT.
	BadLine
	// UnknownLine: a line that begins with no verb. The answer is
	// UNKNOWN_COMMAND.
	UnknownLine
	// BodyComplete: the body asked for by Accept has arrived.
	BodyComplete
	// BodyUnterminated: it has, but no CRLF stood behind it. The bytes in the
	// place of the CRLF are taken as well.
	BodyUnterminated
	// Discarded: the bytes that Discard named are gone.
	Discarded
)

// A Decoder turns the bytes of one connection into events, however they are
// cut up on their way. The zero value is ready.
//
// Its life:
//
//	          ┌──────────── line ends ───────────┐
//	          ▼                                  │
//	─────► in line ── MaxLine bytes, no CRLF ─► overlong
//	        │   ▲
//	 Accept │   │ BodyComplete, BodyUnterminated, Discarded
//	Discard ▼   │
//	      in body
//
// A line ends at CRLF. A lone CR or LF is a byte like any other.
type Decoder struct {
	// Command is the command of the last CommandLine.
	Command Command

	state decoderState
	// line holds the beginning of a line whose end has not arrived. It is nil
	// between lines, so that an idle connection owns no buffer.
	line []byte
	// afterCR tells that the last byte of an overlong line so far, or the
	// first byte after a body, was a CR.
	afterCR bool
	// body is the place of the body, its first filled bytes are there, and
	// tail bytes of the two after it were taken.
	body   []byte
	filled int
	tail   int
	// discard is how many bytes are still to be thrown away.
	discard uint64
}

type decoderState uint8

const (
	inLine decoderState = iota
	overlong
	inBody
	discarding
)

// Accept tells the decoder, after a put, to fill body with the bytes that
// follow. The decoder keeps body until it reports BodyComplete or
// BodyUnterminated, or Abandon is called.
func (d *Decoder) Accept(body []byte) {
	d.state, d.body, d.filled, d.tail, d.afterCR = inBody, body, 0, 0, false
}

// Discard tells the decoder, after a put, to throw away the next n bytes.
func (d *Decoder) Discard(n uint64) {
	d.state, d.discard = discarding, n
}

// Abandon makes the decoder forget the body that it was told to fill.
func (d *Decoder) Abandon() {
	d.body = nil
}

// Room is the part of a body under way that has not arrived, for a reader that
// can bring bytes right there instead of through Next; it says with Filled how
// many it has brought. Without a body under way there is none.
func (d *Decoder) Room() []byte {
	if d.state != inBody {
		return nil
	}
	return d.body[d.filled:]
}

// Filled tells that the first n bytes of Room have arrived.
func (d *Decoder) Filled(n int) { d.filled += n }

// Midway tells whether a command has begun to arrive and not ended.
func (d *Decoder) Midway() bool {
	return d.state != inLine || len(d.line) > 0
}

// Next takes bytes from the front of input up to the end of one event and
// returns how many it took. After Incomplete it has taken all of them.
func (d *Decoder) Next(input []byte) (n int, event Event) {
	switch d.state {
	case inLine:
		return d.nextLine(input)
	case overlong:
		return d.skipLine(input)
	case inBody:
		return d.fillBody(input)
	case discarding:
		return d.throwAway(input)
	}
	panic("protocol: decoder in no state")
}

func (d *Decoder) nextLine(input []byte) (int, Event) {
	room := min(len(input), MaxLine-len(d.line))
	if end := d.lineEnd(input[:room]); end > 0 {
		line := input[:end]
		if d.line != nil {
			line = append(d.line, line...)
			d.line = nil
		}
		return end, d.Command.parse(line[:len(line)-len(crlf)])
	}
	if len(d.line)+room < MaxLine {
		if room > 0 {
			d.line = append(d.line, input...)
		}
		return room, Incomplete
	}
	d.state, d.line = overlong, nil
	d.afterCR = room > 0 && input[room-1] == '\r'
	n, event := d.skipLine(input[room:])
	return room + n, event
}

// lineEnd returns how many bytes of input belong to the current line, its CRLF
// included, or 0 if input does not hold its end.
func (d *Decoder) lineEnd(input []byte) int {
	for from := 0; ; {
		i := bytes.IndexByte(input[from:], '\n')
		if i < 0 {
			return 0
		}
		at := from + i
		if at > 0 && input[at-1] == '\r' || at == 0 && len(d.line) > 0 && d.line[len(d.line)-1] == '\r' {
			return at + 1
		}
		from = at + 1
	}
}

func (d *Decoder) skipLine(input []byte) (int, Event) {
	for i, b := range input {
		if b == '\n' && d.afterCR {
			d.state = inLine
			return i + 1, BadLine
		}
		d.afterCR = b == '\r'
	}
	return len(input), Incomplete
}

func (d *Decoder) fillBody(input []byte) (int, Event) {
	n := copy(d.body[d.filled:], input)
	d.filled += n
	for d.filled == len(d.body) && n < len(input) {
		b := input[n]
		n++
		d.tail++
		if d.tail == 1 {
			d.afterCR = b == '\r'
			continue
		}
		d.state, d.body = inLine, nil
		if d.afterCR && b == '\n' {
			return n, BodyComplete
		}
		return n, BodyUnterminated
	}
	return n, Incomplete
}

func (d *Decoder) throwAway(input []byte) (int, Event) {
	if uint64(len(input)) < d.discard {
		d.discard -= uint64(len(input))
		return len(input), Incomplete
	}
	n := int(d.discard)
	d.state, d.discard = inLine, 0
	return n, Discarded
}
