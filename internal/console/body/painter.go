package body

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// pictureMost is how many bytes of text a picture has.
	pictureMost = 1 << 20
	// spansMost is how many pieces a picture has; what follows is in the last.
	spansMost = 20_000
	// indentMost is down to which depth lines are indented.
	indentMost = 40
)

// painter makes a picture, up to its limit.
type painter struct {
	content []byte
	pieces  []piece
	full    bool
	line    bool // all in one line
}

// piece ends at a byte of the content.
type piece struct {
	mark Mark
	end  int
}

// add appends a piece.
func (p *painter) add(mark Mark, text string) {
	if p.full || text == "" {
		return
	}
	if room := pictureMost - len(p.content); len(text) > room {
		for room > 0 && !utf8.RuneStart(text[room]) {
			room--
		}
		text, p.full = text[:room], true
	}
	p.content = append(p.content, text...)
	last := len(p.pieces) - 1
	if len(p.pieces) >= spansMost {
		mark = p.pieces[last].mark
	}
	if last >= 0 && p.pieces[last].mark == mark {
		p.pieces[last].end = len(p.content)
		return
	}
	p.pieces = append(p.pieces, piece{mark, len(p.content)})
}

// picture is what has been painted.
func (p *painter) picture() Picture {
	content, from := string(p.content), 0
	picture := Picture{Spans: make([]Span, 0, len(p.pieces)), Cut: p.full}
	for _, piece := range p.pieces {
		picture.Spans = append(picture.Spans, Span{piece.mark, content[from:piece.end]})
		from = piece.end
	}
	return picture
}

// newLine begins a line at a depth.
func (p *painter) newLine(depth int) {
	if p.line {
		p.add(Plain, " ")
		return
	}
	p.add(Plain, "\n"+strings.Repeat("  ", min(depth, indentMost)))
}

// text appends text, and writes out what cannot be seen in it.
func (p *painter) text(mark Mark, b []byte) {
	from := 0
	for at := 0; at < len(b) && !p.full; {
		r, n := utf8.DecodeRune(b[at:])
		if visible(r, n) {
			at += n
			continue
		}
		p.add(mark, string(b[from:at]))
		p.add(Escaped, escaped(b[at:at+n], r, n))
		at += n
		from = at
	}
	if !p.full {
		p.add(mark, string(b[from:]))
	}
}

// visible tells whether a character can be seen for what it is.
func visible(r rune, n int) bool {
	switch r {
	case '\n', '\t', ' ':
		return true
	case utf8.RuneError:
		return n > 1
	}
	return unicode.IsPrint(r)
}

// escaped writes a character out.
func escaped(b []byte, r rune, n int) string {
	switch {
	case r == '\r':
		return `\r`
	case r == utf8.RuneError && n == 1:
		return fmt.Sprintf(`\x%02x`, b[0])
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	default:
		return fmt.Sprintf(`\u%04x`, r)
	}
}

const (
	// hexMost is how many bytes the hex view shows.
	hexMost = 64 << 10
	// hexRow is how many bytes are in a row of it.
	hexRow = 16
)

// hex appends rows of an offset, the bytes in hexadecimal, and in ASCII.
func (p *painter) hex(b []byte) {
	cut := len(b) > hexMost
	if cut {
		b = b[:hexMost]
	}
	var rows strings.Builder
	for at := 0; at < len(b); at += hexRow {
		row := b[at:min(at+hexRow, len(b))]
		fmt.Fprintf(&rows, "%08x  ", at)
		for i := range hexRow {
			if i < len(row) {
				fmt.Fprintf(&rows, "%02x ", row[i])
			} else {
				rows.WriteString("   ")
			}
			if i == hexRow/2-1 {
				rows.WriteByte(' ')
			}
		}
		rows.WriteByte(' ')
		for _, c := range row {
			if c < ' ' || c > '~' {
				c = '.'
			}
			rows.WriteByte(c)
		}
		rows.WriteByte('\n')
	}
	p.add(Plain, rows.String())
	p.full = p.full || cut
}

// Preview is the beginning of a body in one line of at most so many characters.
func Preview(b []byte, whole bool, most int) string {
	var p painter
	prefix := ""
	if !isText(b, whole) {
		if content, kind, all := unpack(b); kind != "" {
			prefix, b, whole = kind+": ", content, whole && all
		}
	}
	if !isText(b, whole) && startsMessagePack(b) {
		p.line = true
		p.messagePack(b)
	} else {
		p.text(Plain, b[:min(len(b), 4*most*utf8.UTFMax)]) // spaces go
	}
	line := []rune(prefix + strings.Join(strings.Fields(string(p.content)), " "))
	if len(line) > most {
		return string(line[:most]) + "…"
	}
	if !whole {
		return string(line) + "…"
	}
	return string(line)
}

// quoted writes bytes as JSON would write a string.
func (p *painter) quoted(mark Mark, b []byte) {
	p.add(mark, `"`)
	from := 0
	for at := 0; at < len(b) && !p.full; at++ {
		c := b[at]
		var instead string
		switch c {
		case '"', '\\':
			instead = `\` + string(rune(c))
		case '\n':
			instead = `\n`
		case '\t':
			instead = `\t`
		default:
			continue
		}
		p.text(mark, b[from:at])
		p.add(mark, instead)
		from = at + 1
	}
	if !p.full {
		p.text(mark, b[from:])
	}
	p.add(mark, `"`)
}
