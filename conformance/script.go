package conformance

import (
	"fmt"
	"strings"
	"time"
)

// Script is one parsed file of the corpus. README.md describes the format.
type Script struct {
	Name    string   // the file's path
	Title   string   // one line for people
	Covers  []string // numbers of rules.txt
	Setting Settings

	// OnlyHaricot is the reason why the script cannot be recorded from the
	// reference; it is empty for nearly all scripts.
	OnlyHaricot string

	// Heavy marks a script that moves so many bytes that it runs only on
	// demand.
	Heavy bool

	Steps []Step

	lines []string // the file, for Record
}

// Settings is how the server of a script is started.
type Settings struct {
	MaxJobSize  uint32 // bytes; 0 means the server's default, 65535
	MemoryLimit int64  // bytes of job bodies; 0 means no limit
	EmptyOnly   bool   // max-job-size: 0 was said, so that only empty bodies fit
}

// Kind is what a step does.
type Kind int

// The kinds of steps.
const (
	Open       Kind = iota // connect
	Send                   // send bytes
	Cut                    // end a write here
	HalfClose              // close the writing side
	Close                  // close both sides
	StopRead               // leave what arrives in the network
	ReadOn                 // end StopRead
	Expect                 // one line of a reply
	Fields                 // a reply in YAML of which some fields are compared
	Nothing                // nothing has arrived
	Skip                   // forget what has arrived
	Closed                 // the server has closed the connection
	Sleep                  // time passes
	Drain                  // enter or leave drain mode
	Repeat                 // steps several times
	Difference             // steps for the reference or for haricot
)

// Step is one line of a script, or a block of lines.
type Step struct {
	Kind Kind
	Line int    // 1 is the file's first
	Conn string // "" for steps that concern the whole script

	Text   text          // Send and Expect, ending included for Send
	Ending string        // Expect: "\r\n", "\n" or "" after the text
	Fields []Field       // Fields
	Time   time.Duration // Sleep
	On     bool          // Drain

	Count int    // Repeat
	Steps []Step // Repeat

	Why       string // Difference
	Reference []Step // Difference
	Haricot   []Step // Difference

	repeated bool // comes from a Repeat, so that it cannot be recorded
}

// Field is one key of a statistics reply with the value it must have.
type Field struct {
	Key   string
	Value text
	raw   string
}

// expects reports whether the step compares what a connection received.
func (s *Step) expects() bool {
	return s.Kind == Expect || s.Kind == Fields || s.Kind == Nothing || s.Kind == Closed
}

// Side is the server that a script is played against.
type Side int

// The two sides of a Difference.
const (
	Reference Side = iota
	Haricot
)

// String names the side as the scripts do.
func (s Side) String() string {
	if s == Reference {
		return "reference"
	}
	return "haricot"
}

// steps returns the steps that concern one side in the order they are played,
// with every repetition written out.
func (s *Script) steps(side Side) []Step { return flatten(s.Steps, side, 0) }

func flatten(steps []Step, side Side, turn int) []Step {
	var out []Step
	for _, st := range steps {
		switch st.Kind {
		case Repeat:
			for i := range st.Count {
				out = append(out, flatten(st.Steps, side, i+1)...)
			}
		case Difference:
			branch := st.Haricot
			if side == Reference {
				branch = st.Reference
			}
			out = append(out, flatten(branch, side, turn)...)
		default:
			if turn > 0 {
				st.Text = st.Text.turn(turn)
				st.repeated = true
			}
			out = append(out, st)
		}
	}
	return out
}

// Duration is the time that the script sleeps on one side.
func (s *Script) Duration(side Side) time.Duration {
	var d time.Duration
	for _, st := range s.steps(side) {
		d += st.Time
	}
	return d
}

// Sent returns every line that the script sends to haricot, without endings.
func (s *Script) Sent() []string {
	var b strings.Builder
	for _, st := range s.steps(Haricot) {
		if st.Kind != Send {
			continue
		}
		for _, c := range st.Text {
			for range min(c.count, 3) { // more of the same names no further verb
				b.Write(c.bytes)
			}
		}
	}
	return strings.Split(b.String(), "\r\n")
}

// Expected returns every reply line that the script expects of haricot, without
// endings; a pattern appears as nothing.
func (s *Script) Expected() []string {
	var out []string
	for _, st := range s.steps(Haricot) {
		switch st.Kind {
		case Expect:
			if st.Ending == "\r\n" {
				out = append(out, string(st.Text.all()))
			}
		case Fields:
			out = append(out, "OK")
		}
	}
	return out
}

// A faultError is a fault in a script with its place.
type faultError struct {
	name string
	line int
	what string
}

func (f *faultError) Error() string { return fmt.Sprintf("%s:%d: %s", f.name, f.line, f.what) }
