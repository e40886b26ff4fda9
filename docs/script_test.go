package docs_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// An example is one fenced block of the language "beanstalk":
//
//	producer> put 0 0 60 5     sent by the connection "producer", CRLF added; a final backslash keeps the line end back
//	producer< INSERTED 1       the next line it must receive; "*" stands for any text in the line
//	worker< ...                any lines, up to the one that the next expectation of this connection names
//	worker (waits)             its reserve is known to be waiting
//	worker (is half received)  the server has seen the line of its put
//	worker (closes)            also (half-closes), and (is closed) when the server must have hung up
//	server (drains)            also (ends draining) and (stops)
//	# text                     a remark
//
// Both directions know the escapes \r \n \t \s \0 \\ and {x*n} for n times x. The body of a job is one line, statistics are one line a
// field. The info string may name the only server that a block is true of and set the size limit: beanstalk haricot max-job-size=10.
type example struct {
	file       string
	line       int
	heading    string
	server     string // empty: every server
	maxJobSize uint32 // 0: the default
	steps      []step
}

type stepKind int

const (
	stepSend stepKind = iota
	stepExpect
	stepSkip
	stepAct
)

type step struct {
	line int
	conn string
	kind stepKind
	text string // escapes resolved
}

func (e example) trueOf(server string) bool { return e.server == "" || e.server == server }

func (e example) name() string { return fmt.Sprintf("%s:%d", e.heading, e.line) }

var (
	wireLine = regexp.MustCompile(`^([a-z]+)\s*([<>])(?: (.*))?$`)
	actLine  = regexp.MustCompile(`^([a-z]+)\s+\(([a-z -]+)\)$`)
	repeated = regexp.MustCompile(`\{(.)\*(\d+)\}`)
)

func readExamples(t *testing.T, file string) []example {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []example
	var heading string
	var open, other bool
	for i, line := range strings.Split(string(text), "\n") {
		switch {
		case open && line == "```":
			open = false
		case open:
			e := &all[len(all)-1]
			if s, ok := readStep(t, file, i+1, line); ok {
				e.steps = append(e.steps, s)
			}
		case strings.HasPrefix(line, "```beanstalk") && !other:
			all = append(all, readMark(t, file, i+1, heading, line))
			open = true
		case strings.HasPrefix(line, "```"):
			other = !other
		case strings.HasPrefix(line, "#") && !other:
			heading = strings.ReplaceAll(strings.TrimLeft(line, "# "), "`", "")
		}
	}
	if open || other {
		t.Fatalf("%s: the last block has no end", file)
	}
	return all
}

func readMark(t *testing.T, file string, line int, heading, mark string) example {
	t.Helper()
	e := example{file: file, line: line, heading: heading}
	for _, word := range strings.Fields(mark)[1:] {
		size, isSize := strings.CutPrefix(word, "max-job-size=")
		switch n, err := strconv.ParseUint(size, 10, 32); {
		case isSize && err == nil:
			e.maxJobSize = uint32(n)
		case slices.ContainsFunc(makers(), func(m maker) bool { return m.name == word }):
			e.server = word
		default:
			t.Fatalf("%s:%d: unknown mark %q", file, line, word)
		}
	}
	return e
}

func readStep(t *testing.T, file string, n int, line string) (step, bool) {
	t.Helper()
	if line == "" || strings.HasPrefix(line, "#") {
		return step{}, false
	}
	if m := actLine.FindStringSubmatch(line); m != nil {
		return step{line: n, conn: m[1], kind: stepAct, text: m[2]}, true
	}
	m := wireLine.FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("%s:%d: not a step: %q", file, n, line)
	}
	held, rest := holdsLineEnd(m[3])
	s := step{line: n, conn: m[1], text: unescape(rest)}
	switch {
	case m[2] == ">" && !held:
		s.text += "\r\n"
	case m[2] == ">":
	case m[3] == "...":
		s.kind = stepSkip
	default:
		s.kind = stepExpect
	}
	return s, true
}

// holdsLineEnd reports whether the text ends in a backslash that is not half of an escaped one, and returns the text without it.
func holdsLineEnd(text string) (bool, string) {
	n := len(text) - len(strings.TrimRight(text, `\`))
	if n%2 == 0 {
		return false, text
	}
	return true, text[:len(text)-1]
}

var escapes = strings.NewReplacer(`\r`, "\r", `\n`, "\n", `\t`, "\t", `\s`, " ", `\0`, "\x00", `\\`, `\`)

func unescape(s string) string {
	s = repeated.ReplaceAllStringFunc(s, func(r string) string {
		m := repeated.FindStringSubmatch(r)
		n, _ := strconv.Atoi(m[2]) // the pattern admits digits only
		return strings.Repeat(m[1], n)
	})
	return escapes.Replace(s)
}

// matches reports whether got is want, in which each "*" stands for any text.
func matches(want, got string) bool {
	parts := strings.Split(want, "*")
	if len(parts) == 1 {
		return want == got
	}
	last := len(parts) - 1
	if !strings.HasPrefix(got, parts[0]) {
		return false
	}
	got = got[len(parts[0]):]
	for _, p := range parts[1:last] {
		i := strings.Index(got, p)
		if i < 0 {
			return false
		}
		got = got[i+len(p):]
	}
	return strings.HasSuffix(got, parts[last])
}
