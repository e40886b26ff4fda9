//go:build linux

package differential

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// In these cases the reference is known to answer differently on purpose, or it depends on which of two connections is looked at
// first. Sessions avoid them (session.admits, and the words chosen in vocabulary_test.go):
//
//   - two connections wait on a common tube: haricot serves the one that has waited longest, the reference goes round by a
//     cursor
//   - peek or stats-job of a job that is half received: the reference shows it with whatever its memory held; haricot does not
//     know it yet
//   - a line of 224k+1 bytes with its CRLF: the reference misses the CRLF and swallows the next line as well; haricot refuses
//     each line for itself
//   - a CR without LF inside a line: the reference does not see the line's end and hangs; haricot refuses the line
//   - reserve-with-timeout of anything but digits below 2^31: 1.12 reads it by strtol: -1 waits for ever, x is 0; haricot,
//     like 1.13, refuses it
//   - commands piled up behind a reserve while others send several commands in one step, or on two connections: which of the
//     two connections goes on first is not defined
//   - anything but the end of a step after pause-tube: the reference ends a pause at its next timer tick, not within the
//     command
//   - delays of less than an hour apart, in a lockstep session: the order of the deadlines would depend on the pace of the
//     session
//   - a release with a delay among several commands that are at hand at once: haricot gives all commands of one turn the same
//     time, and jobs of equal deadline the order of their ids; the reference looks at its clock for each
//   - more than 32 KiB piled up behind a reserve: a half-close reaches a server only after the bytes before it, for which the
//     system's buffers may have no room
//   - an abrupt close with commands piled up: whether the reference still reads them before it sees the close is chance

// swallowsNext is the reference's fault with lines whose CR ends one of its blocks of 224 bytes.
func swallowsNext(text string) bool {
	line, _, _ := strings.Cut(text, "\r\n")
	n := len(line) + 2
	return n > 224 && n%224 == 1
}

// A leeway says how much the values of one statistics key may differ.
type leeway int

const (
	exact    leeway = iota
	within1         // numbers of seconds cut off at slightly different moments
	anything        // tells of the process, not of the queue
	unquoted        // equal once quotes are taken off
)

// leeways of the keys, by the first key of the reply and the key. All others must be equal.
var leeways = map[string]leeway{
	// The process: two programs, started one after the other.
	"current-jobs-urgent/pid":          anything,
	"current-jobs-urgent/version":      anything,
	"current-jobs-urgent/rusage-utime": anything,
	"current-jobs-urgent/rusage-stime": anything,
	"current-jobs-urgent/id":           anything,
	"current-jobs-urgent/uptime":       within1,
	// The lockstep itself asks for stats, and not always equally often; its own probes are compared without leeway.
	"current-jobs-urgent/cmd-stats": anything,
	// 1.12 never quotes, haricot quotes a scalar that YAML would read as something else than a string.
	"current-jobs-urgent/hostname": unquoted,
	"current-jobs-urgent/os":       unquoted,
	"current-jobs-urgent/platform": unquoted,
	"name/name":                    unquoted,
	"id/tube":                      unquoted,
	// Seconds are cut off, and the two servers took the command some microseconds apart.
	"id/age":               within1,
	"id/time-left":         within1,
	"name/pause-time-left": within1,
}

func (l leeway) covers(a, b string) bool {
	switch l {
	case anything:
		return true
	case unquoted:
		return strings.Trim(a, `"`) == strings.Trim(b, `"`)
	case within1:
		x, errX := strconv.ParseInt(a, 10, 64)
		y, errY := strconv.ParseInt(b, 10, 64)
		return errX == nil && errY == nil && x-y <= 1 && y-x <= 1
	}
	return a == b
}

// differ says how the reply of the server under test differs from the reference's, or nothing.
func differ(want, got reply) string {
	if want.hasBody && got.hasBody && strings.HasPrefix(want.line, "OK ") && strings.HasPrefix(got.line, "OK ") {
		return differInBody(want.body, got.body)
	}
	if want.line != got.line {
		return fmt.Sprintf("the reference says %q, the server under test %q", want.line, got.line)
	}
	if !bytes.Equal(want.body, got.body) {
		return fmt.Sprintf("after %q the reference sends body %.200q, the server under test %.200q", want.line, want.body, got.body)
	}
	return ""
}

// differInBody compares line by line, so that a value of other length changes nothing but itself; the length announced has been
// checked against the body when the reply was read.
func differInBody(want, got []byte) string {
	if bytes.Equal(want, got) {
		return ""
	}
	a, b := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	if len(a) != len(b) {
		return fmt.Sprintf("the reference sends %d lines, the server under test %d: %q against %q", len(a), len(b), want, got)
	}
	kind := ""
	if len(a) > 1 {
		kind, _, _ = strings.Cut(a[1], ": ")
	}
	var differences []string
	for i := range a {
		keyA, valueA, isPair := strings.Cut(a[i], ": ")
		keyB, valueB, _ := strings.Cut(b[i], ": ")
		if a[i] == b[i] || isPair && keyA == keyB && leeways[kind+"/"+keyA].covers(valueA, valueB) {
			continue
		}
		differences = append(differences, fmt.Sprintf("the reference's line %d is %q, the server under test's %q", i+1, a[i], b[i]))
	}
	return strings.Join(differences, "; ")
}
