package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A chunk is a piece of a script's text: bytes, repeated count times, or, in an
// expectation, a pattern for bytes that nobody can know beforehand.
type chunk struct {
	bytes   []byte
	count   int
	pattern string // a regular expression, if not empty
	size    bool   // the pattern is {size}
	counter bool   // stands for the turn of the enclosing repeat
}

// text is what follows the mark on a line of a script, decoded.
type text []chunk

// patterns are the names that may stand in braces in an expectation. README.md
// describes each.
var patterns = map[string]string{
	"uint":    `[0-9]+`,
	"seconds": `[0-9]+\.[0-9]{6}`,
	"id":      `[0-9a-f]{16}`,
	"version": `"[0-9]+\.[0-9]+"`,
	"any":     `[^\r\n]*`,
	"size":    `[0-9]+`,
}

var repetition = regexp.MustCompile(`^([0-9]+) x (.+)$`)

// parseText decodes the escapes and braces of one line.
func parseText(s string) (text, error) {
	var out text
	var plain []byte
	flush := func() {
		if len(plain) > 0 {
			out = append(out, chunk{bytes: plain, count: 1})
			plain = nil
		}
	}
	for len(s) > 0 {
		switch s[0] {
		case '\\':
			b, n, err := unescape(s)
			if err != nil {
				return nil, err
			}
			plain = append(plain, b)
			s = s[n:]
		case '{':
			end := strings.IndexByte(s, '}')
			if end < 0 {
				return nil, fmt.Errorf("a { without its }: %q", s)
			}
			c, err := parseBraces(s[1:end])
			if err != nil {
				return nil, err
			}
			flush()
			out = append(out, c)
			s = s[end+1:]
		default:
			plain = append(plain, s[0])
			s = s[1:]
		}
	}
	flush()
	return out, nil
}

func unescape(s string) (b byte, n int, err error) {
	if len(s) < 2 {
		return 0, 0, errors.New(`a lone \ at the end of the line`)
	}
	switch s[1] {
	case 'r':
		return '\r', 2, nil
	case 'n':
		return '\n', 2, nil
	case 't':
		return '\t', 2, nil
	case '\\', '{', '}':
		return s[1], 2, nil
	case 'x':
		if len(s) >= 4 {
			if v, err := strconv.ParseUint(s[2:4], 16, 8); err == nil {
				return byte(v), 4, nil
			}
		}
	}
	return 0, 0, fmt.Errorf("unknown escape at %q", s)
}

func parseBraces(s string) (chunk, error) {
	if s == "turn" {
		return chunk{counter: true}, nil
	}
	if m := repetition.FindStringSubmatch(s); m != nil {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			return chunk{}, err
		}
		inner, err := parseText(m[2])
		if err != nil {
			return chunk{}, err
		}
		return chunk{bytes: inner.all(), count: n}, nil
	}
	if p, ok := patterns[s]; ok {
		return chunk{pattern: p, size: s == "size"}, nil
	}
	if first, second, ok := strings.Cut(s, "|"); ok {
		return chunk{pattern: regexp.QuoteMeta(first) + "|" + regexp.QuoteMeta(second)}, nil
	}
	return chunk{}, fmt.Errorf("unknown name in braces: {%s}", s)
}

// all returns the bytes of a text without patterns.
func (t text) all() []byte {
	var b []byte
	for _, c := range t {
		b = append(b, bytes.Repeat(c.bytes, c.count)...)
	}
	return b
}

// fixed reports whether the text has no pattern.
func (t text) fixed() bool {
	for _, c := range t {
		if c.pattern != "" {
			return false
		}
	}
	return true
}

// turn returns the text with the number of the repeat's turn in its place.
func (t text) turn(n int) text {
	out := make(text, len(t))
	for i, c := range t {
		if c.counter {
			c = chunk{bytes: strconv.AppendInt(nil, int64(n), 10), count: 1}
		}
		out[i] = c
	}
	return out
}

// match reports whether b is what the text says. size is the value found in
// place of {size}, or -1.
func (t text) match(b []byte) (ok bool, size int) {
	if t.fixed() {
		return bytes.Equal(t.all(), b), -1
	}
	var re strings.Builder
	re.WriteString(`^(?s)`)
	for _, c := range t {
		switch {
		case c.size:
			re.WriteString("(" + c.pattern + ")")
		case c.pattern != "":
			re.WriteString("(?:" + c.pattern + ")")
		default:
			re.WriteString(regexp.QuoteMeta(string(bytes.Repeat(c.bytes, c.count))))
		}
	}
	re.WriteString(`$`)
	m := regexp.MustCompile(re.String()).FindSubmatch(b)
	switch {
	case m == nil:
		return false, -1
	case len(m) == 1:
		return true, -1
	}
	size, err := strconv.Atoi(string(m[1]))
	return err == nil, size
}

// shortestRun is the number of equal bytes from which formatText writes a
// repetition.
const shortestRun = 20

// formatText is the reverse of parseText for bytes that came from a server.
func formatText(b []byte) string {
	var s strings.Builder
	for i := 0; i < len(b); {
		run := 1
		for i+run < len(b) && b[i+run] == b[i] {
			run++
		}
		last := i+run == len(b)
		if run >= shortestRun {
			fmt.Fprintf(&s, "{%d x %s}", run, escape(b[i], true))
			i += run
			continue
		}
		for range run {
			s.WriteString(escape(b[i], last))
		}
		i += run
	}
	return s.String()
}

// escape writes one byte; a space that may end a line is made visible.
func escape(b byte, visible bool) string {
	switch {
	case b == '\r':
		return `\r`
	case b == '\n':
		return `\n`
	case b == '\t':
		return `\t`
	case b == '\\' || b == '{' || b == '}':
		return `\` + string(rune(b))
	case b == ' ' && visible, b < ' ', b >= 0x7f:
		return fmt.Sprintf(`\x%02x`, b)
	}
	return string(rune(b))
}
