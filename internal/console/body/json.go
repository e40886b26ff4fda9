package body

import (
	"bytes"
	"encoding/json"
	"strings"
)

// isJSON tells whether text is an object or an array in JSON. A lone number or
// string is too little to tell.
func isJSON(b []byte) bool {
	trimmed := bytes.TrimSpace(b)
	return len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') && json.Valid(trimmed)
}

// json lays out valid JSON, a member or an element a line. Everything in it
// stays as it is written, so that no number loses digits and no key its place.
func (p *painter) json(b []byte) {
	depth := 0
	for at := 0; at < len(b) && !p.full; {
		switch c := b[at]; c {
		case '{', '[':
			at = p.open(b, at, &depth)
		case '}', ']':
			depth--
			p.newLine(depth)
			p.add(Plain, string(rune(c)))
			at++
		case ',':
			p.add(Plain, ",")
			p.newLine(depth)
			at++
		case ':':
			p.add(Plain, ": ")
			at++
		case ' ', '\t', '\n', '\r':
			at++
		case '"':
			end := stringEnd(b, at)
			mark := String
			if next := skipSpace(b, end); next < len(b) && b[next] == ':' {
				mark = Key
			}
			p.text(mark, b[at:end])
			at = end
		default:
			end := at
			for end < len(b) && strings.IndexByte(" \t\r\n,:]}", b[end]) < 0 {
				end++
			}
			p.add(literalMark(c), string(b[at:end]))
			at = end
		}
	}
}

// open appends the beginning of an object or array, or all of an empty one.
func (p *painter) open(b []byte, at int, depth *int) int {
	p.add(Plain, string(rune(b[at])))
	if next := skipSpace(b, at+1); next < len(b) && (b[next] == '}' || b[next] == ']') {
		p.add(Plain, string(rune(b[next])))
		return next + 1
	}
	*depth++
	p.newLine(*depth)
	return at + 1
}

func literalMark(first byte) Mark {
	if first == '-' || first >= '0' && first <= '9' {
		return Number
	}
	return Word
}

// stringEnd is where the string that begins at from ends.
func stringEnd(b []byte, from int) int {
	at := from + 1
	for at < len(b) && b[at] != '"' {
		if b[at] == '\\' {
			at++
		}
		at++
	}
	return min(at+1, len(b))
}

func skipSpace(b []byte, at int) int {
	for at < len(b) && (b[at] == ' ' || b[at] == '\t' || b[at] == '\n' || b[at] == '\r') {
		at++
	}
	return at
}
