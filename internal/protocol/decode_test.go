package protocol

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// smallBody is the largest body that the driver of these tests takes.
const smallBody = 16

// heard is an event with all that belongs to it.
type heard struct {
	event   Event
	command Command
	body    string
}

// listener does with a decoder what the owner of a connection does.
type listener struct {
	decoder Decoder
	body    []byte
	heard   []heard
}

// hear takes a piece of input, which it then overwrites, for the decoder must
// not keep it. What is wrong with the decoder's use of it is returned.
func (l *listener) hear(piece []byte) string {
	piece = bytes.Clone(piece)
	for rest := piece; ; {
		n, event := l.decoder.Next(rest)
		if n > len(rest) || n < 0 {
			return "more bytes taken than there are"
		}
		rest = rest[n:]
		if event == Incomplete {
			if len(rest) > 0 {
				return "an incomplete event leaves bytes behind"
			}
			break
		}
		l.take(event)
	}
	for i := range piece {
		piece[i] = 0xff
	}
	return ""
}

func (l *listener) take(event Event) {
	h := heard{event: event}
	switch event {
	case CommandLine:
		h.command = l.decoder.Command
		h.command.Tube = bytes.Clone(h.command.Tube)
	case BodyComplete, BodyUnterminated:
		h.body, l.body = string(l.body), nil
	case Incomplete, BadLine, UnknownLine, Discarded:
	}
	l.heard = append(l.heard, h)
	if h.command.Verb != Put {
		return
	}
	switch size := h.command.Size; {
	case size > smallBody:
		l.decoder.Discard(uint64(size) + uint64(len(crlf)))
	case !h.command.Malformed:
		l.body = make([]byte, size)
		l.decoder.Accept(l.body)
	}
}

// listen hears all pieces.
func listen(t *testing.T, pieces ...string) *listener {
	t.Helper()
	l := &listener{}
	for _, p := range pieces {
		if fault := l.hear([]byte(p)); fault != "" {
			t.Fatalf("%q: %s", pieces, fault)
		}
	}
	return l
}

// lines is the language as a reader of the protocol would tell it who has all
// of the input before him.
func lines(input []byte) (all []heard) {
	for {
		line, rest, found := bytes.Cut(input, []byte(crlf))
		if !found {
			return all
		}
		input = rest
		if len(line)+len(crlf) > MaxLine {
			all = append(all, heard{event: BadLine})
			continue
		}
		var c Command
		h := heard{event: c.parse(line)}
		if h.event == CommandLine {
			h.command = c
		}
		all = append(all, h)
		if h.command.Verb != Put || h.command.Malformed && h.command.Size <= smallBody {
			continue
		}
		end := int(h.command.Size) + len(crlf)
		if len(input) < end {
			return all
		}
		body, after := input[:end-len(crlf)], input[end-len(crlf):end]
		input = input[end:]
		switch {
		case h.command.Size > smallBody:
			all = append(all, heard{event: Discarded})
		case string(after) == crlf:
			all = append(all, heard{event: BodyComplete, body: string(body)})
		default:
			all = append(all, heard{event: BodyUnterminated, body: string(body)})
		}
	}
}

// differ compares what was heard; an empty tube and none are the same.
func differ(want, got []heard) string {
	return cmp.Diff(want, got, cmp.AllowUnexported(heard{}), cmp.Comparer(bytes.Equal))
}

func events(l *listener) string {
	var b strings.Builder
	for i, h := range l.heard {
		if i > 0 {
			b.WriteByte(' ')
		}
		switch h.event {
		case CommandLine:
			b.WriteString(h.command.Verb.String())
		case BadLine:
			b.WriteString("BAD")
		case UnknownLine:
			b.WriteString("UNKNOWN")
		case BodyComplete:
			b.WriteString("body:" + h.body)
		case BodyUnterminated:
			b.WriteString("UNTERMINATED:" + h.body)
		case Discarded:
			b.WriteString("DISCARDED")
		case Incomplete:
			b.WriteString("INCOMPLETE")
		}
	}
	return b.String()
}

func TestFraming(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	longest := "pause-tube " + x(200) + " 4294967295\r\n"
	if len(longest) != MaxLine {
		t.Fatalf("the longest command has %d bytes", len(longest))
	}
	for _, c := range []struct {
		name, input, want string
		midway            bool
	}{
		{"nothing", "", "", false},
		{"pipelined", "stats\r\nlist-tubes\r\nreserve\r\n", "stats list-tubes reserve", false},
		{"a line begun", "sta", "", true},
		{"only its CR", "\r", "", true},
		{"empty lines", "\r\n\r\n", "UNKNOWN UNKNOWN", false},
		{"a lone LF ends nothing", "list-tube-used\n", "", true},
		{"a lone LF is part of the line", "list-tube-used\nstats\r\nstats\r\n", "BAD stats", false},
		{"a lone CR is part of the line", "list-\rtubes\r\nstats\r\n", "UNKNOWN stats", false},
		{"two CR", "stats\r\r\nstats\r\n", "BAD stats", false},
		{"CR in front of the CRLF of a name", "use a\r\r\n", "BAD", false},
		{"LF CR", "stats\n\r", "", true},
		{"the longest line", longest, "pause-tube", false},
		{"the longest unknown line", x(222) + "\r\nstats\r\n", "UNKNOWN stats", false},
		{"a byte more", x(223) + "\r\nstats\r\n", "BAD stats", false},
		{"two more", x(224) + "\r\nstats\r\n", "BAD stats", false},
		{"three more", x(225) + "\r\nstats\r\n", "BAD stats", false},
		{"two blocks and the LF", x(447) + "\r\nstats\r\n", "BAD stats", false},
		{"three blocks and the LF", x(671) + "\r\nstats\r\n", "BAD stats", false},
		{"far too long", x(100000) + "\r\nstats\r\n", "BAD stats", false},
		{"far too long with CR and LF", strings.Repeat("x\rx\nx\n\r", 1000) + "\r\nstats\r\n", "BAD stats", false},
		{"long without an end", x(100000), "", true},
		{"a command at the front of a long line", "stats " + x(300) + "\r\n", "BAD", false},
		{"quit does not end the decoder", "quit\r\nstats\r\n", "quit stats", false},
	} {
		l := listen(t, c.input)
		if got := events(l); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if l.decoder.Midway() != c.midway {
			t.Errorf("%s: midway %v", c.name, l.decoder.Midway())
		}
	}
}

func TestBodies(t *testing.T) {
	for _, c := range []struct {
		name, input, want string
		midway            bool
	}{
		{"a body", "put 0 0 1 5\r\nhello\r\nstats\r\n", "put body:hello stats", false},
		{"an empty body", "put 0 0 1 0\r\n\r\nstats\r\n", "put body: stats", false},
		{"CRLF in the body", "put 0 0 1 4\r\n\r\n\r\n\r\nstats\r\n", "put body:\r\n\r\n stats", false},
		{"zero bytes in the body", "put 0 0 1 2\r\n\x00\x00\r\nstats\r\n", "put body:\x00\x00 stats", false},
		{"half a body", "put 0 0 1 5\r\nhel", "put", true},
		{"all but the CRLF", "put 0 0 1 5\r\nhello", "put", true},
		{"all but the LF", "put 0 0 1 5\r\nhello\r", "put", true},
		{"too long a body", "put 0 0 1 1\r\nabc\r\n", "put UNTERMINATED:a UNKNOWN", false},
		{"LF only", "put 0 0 1 1\r\na\nstats\r\n", "put UNTERMINATED:a UNKNOWN", false},
		{"LF CR", "put 0 0 1 1\r\na\n\rstats\r\n", "put UNTERMINATED:a stats", false},
		{"CR CR", "put 0 0 1 1\r\na\r\rstats\r\n", "put UNTERMINATED:a stats", false},
		{"body ends with CR", "put 0 0 1 1\r\n\r\n\nstats\r\n", "put UNTERMINATED:\r stats", false},
		{"empty body, wrong end", "put 0 0 1 0\r\nxxstats\r\n", "put UNTERMINATED: stats", false},
		{"CR before an empty body means nothing", "put 0 0 1 0\r\nx\nstats\r\n", "put UNTERMINATED: stats", false},
		{"malformed: no body follows", "put 0 0 1 5 x\r\nstats\r\n", "put stats", false},
		{"malformed in its numbers: neither", "put 0 0 1 x\r\nstats\r\n", "BAD stats", false},
		{"discarded, whatever the end", "put 0 0 1 17\r\n01234567890123456xystats\r\n", "put DISCARDED stats", false},
		{"discarded though malformed", "put 0 0 1 17 x\r\n01234567890123456\r\nstats\r\n", "put DISCARDED stats", false},
		{"discarding", "put 0 0 1 4294967295\r\n" + strings.Repeat("stats\r\n", 1000), "put", true},
	} {
		l := listen(t, c.input)
		if got := events(l); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if l.decoder.Midway() != c.midway {
			t.Errorf("%s: midway %v", c.name, l.decoder.Midway())
		}
	}
}

func TestDiscardCountsIn64Bits(t *testing.T) {
	var d Decoder
	d.Discard(1<<32 + 1)
	block := make([]byte, 1<<20)
	for range 1 << 12 {
		if n, event := d.Next(block); n != len(block) || event != Incomplete {
			t.Fatalf("%d bytes, event %d", n, event)
		}
	}
	if n, event := d.Next([]byte("xstats\r\n")); n != 1 || event != Discarded {
		t.Fatalf("%d bytes, event %d at the end", n, event)
	}
	if n, event := d.Next([]byte("stats\r\n")); n != 7 || event != CommandLine || d.Command.Verb != Stats {
		t.Fatalf("%d bytes, event %d after it", n, event)
	}
}

// An idle connection owns no buffer.
func TestNoBufferBetweenLines(t *testing.T) {
	l := listen(t, "sta", "ts\r\nuse a", "bc\r\n", strings.Repeat("x", 100), strings.Repeat("x", 200))
	if l.decoder.line != nil {
		t.Error("a buffer stays while an overlong line goes by")
	}
	l.hear([]byte("\r\nput 0 0 "))
	l.hear([]byte("1 1\r\na\r\n"))
	if got, want := events(l), "stats use BAD put body:a"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if l.decoder.line != nil || l.decoder.body != nil {
		t.Error("a buffer stays between lines")
	}
}

func TestAbandon(t *testing.T) {
	l := listen(t, "put 0 0 1 5\r\nhe")
	l.decoder.Abandon()
	if l.decoder.body != nil {
		t.Error("the body is still known")
	}
}
