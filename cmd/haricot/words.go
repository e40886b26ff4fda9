package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/terminal"
)

// tubeName is the name of a tube on the command line.
type tubeName string

// UnmarshalText refuses what cannot be a name.
func (n *tubeName) UnmarshalText(text []byte) error {
	if !protocol.ValidTube(text) {
		return fmt.Errorf("no tube can be named %q: a name has up to 200 letters, digits and -+/;.$_(), and does not begin with a hyphen", text)
	}
	*n = tubeName(text)
	return nil
}

// jobID is the id of a job on the command line.
type jobID protocol.JobID

// UnmarshalText reads a whole number.
func (id *jobID) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil || n == 0 {
		return fmt.Errorf("%q is not the id of a job; ids are whole numbers from 1; jobs of a tube are chosen with --tube", text)
	}
	*id = jobID(n)
	return nil
}

// span is a time in whole seconds, as people write it: 90s, 5m, 1h30m, 2d, or a plain number of seconds.
type span time.Duration

// forEver is the longest time that the protocol can say, 136 years.
const forEver = span(math.MaxUint32 * time.Second)

// UnmarshalText reads a span.
func (s *span) UnmarshalText(text []byte) error {
	d, err := parseSpan(string(text))
	if err != nil || d < 0 || d > time.Duration(forEver) {
		return fmt.Errorf("%q is not a time; write it like 90s, 5m, 1h30m or 2d, or as a number of seconds, up to %d", text, uint32(math.MaxUint32))
	}
	*s = span((d + time.Second - 1).Truncate(time.Second)) // The protocol has whole seconds.
	return nil
}

func parseSpan(text string) (time.Duration, error) {
	if n, err := strconv.ParseUint(text, 10, 32); err == nil {
		return time.Duration(n) * time.Second, nil
	}
	days, rest, found := strings.Cut(text, "d")
	if !found {
		return time.ParseDuration(text)
	}
	n, err := strconv.ParseUint(days, 10, 16)
	if err != nil || rest == "" {
		return time.Duration(n) * 24 * time.Hour, err
	}
	d, err := time.ParseDuration(rest)
	return time.Duration(n)*24*time.Hour + d, err
}

// String writes it like 1h30m0s.
func (s span) String() string { return time.Duration(s).String() }

// properties are what a job gets when it is put.
type properties struct {
	Priority uint32 `name:"pri" default:"1024" placeholder:"N" help:"Priority, from 0, the most urgent, to 4294967295. Below 1024 is urgent. Default: 1024."`
	Delay    span   `default:"0" placeholder:"TIME" help:"How long the job stays delayed before it is ready: 90s, 5m, 1h30m, 2d, or a number of seconds. Default: 0."`
	TTR      span   `name:"ttr" default:"60s" placeholder:"TIME" help:"Time to run: how long a worker may hold the job without touching it. Default: 60s."`
}

// clean makes a name or a body fit to be shown in a message.
func clean[T ~string | ~[]byte](text T) string { return terminal.Clean(string(text)) }
