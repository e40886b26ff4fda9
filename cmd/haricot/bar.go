package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/haricotq/haricot/internal/terminal"
)

const (
	barDelay = 300 * time.Millisecond // what takes less needs no bar
	barEvery = 100 * time.Millisecond
	barWidth = 30
)

// bar shows on a terminal how far something is, in one line that is gone in the end. Elsewhere it shows nothing.
type bar struct {
	w     io.Writer // nil if there is no terminal
	unit  unit
	delay time.Duration
	began time.Time
	last  time.Time
	drawn bool
}

// unit writes a number of what a bar counts.
type unit func(n int64) string

// newBar makes a bar for standard error.
func newBar(p *process, u unit) *bar {
	b := &bar{unit: u, delay: barDelay, began: time.Now()}
	if isTerminal(p.stderr) {
		b.w = p.stderr
	}
	return b
}

// isTerminal tells whether a person may be looking.
func isTerminal(w io.Writer) bool { return terminal.Is(w) }

// set says how much is done, and of how much; a total of 0 is not known.
func (b *bar) set(what string, done, total int64) {
	now := time.Now()
	if b.w == nil || now.Sub(b.began) < b.delay || now.Sub(b.last) < barEvery {
		return
	}
	b.last, b.drawn = now, true
	if total <= 0 {
		fmt.Fprintf(b.w, "\r\x1b[K%s: %s", what, b.unit(done))
		return
	}
	part := min(float64(done)/float64(total), 1)
	full := int(part * barWidth)
	fmt.Fprintf(b.w, "\r\x1b[K%s: [%s%s] %3.0f%% of %s", what, strings.Repeat("#", full), strings.Repeat(".", barWidth-full), 100*part, b.unit(total))
}

// end takes the bar away.
func (b *bar) end() {
	if b.drawn {
		fmt.Fprint(b.w, "\r\x1b[K")
		b.drawn = false
	}
}

// inJobs and inBytes are units.
func inJobs(n int64) string { return plural(n, "job") }

func inBytes(n int64) string {
	const prefixes = "KMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%d bytes", n)
	}
	size, i := float64(n)/1024, 0
	for ; size >= 1024; i++ {
		size /= 1024
	}
	return fmt.Sprintf("%.1f %ciB", size, prefixes[i])
}

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
