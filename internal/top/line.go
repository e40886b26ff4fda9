package top

import (
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/haricotq/haricot/internal/terminal"
)

// Look is how text is drawn.
type Look int

// The looks.
const (
	Plain   Look = iota
	Strong       // what names other text
	Faint        // what matters less
	Alert        // what is not as it should be
	Heading      // the names of columns
	Chosen       // the row that keys act on
)

// Span is text of one look. It is printable.
type Span struct {
	Text string
	Look Look
}

// Line is a line of the screen.
type Line []Span

// String is its text.
func (l Line) String() string {
	var text strings.Builder
	for _, s := range l {
		text.WriteString(s.Text)
	}
	return text.String()
}

// Frame is what a screen shows.
type Frame struct {
	Lines []Line // as many as the screen has, none wider than it
	// CursorX and CursorY say where the cursor is. CursorY is -1 where none is to be seen.
	CursorX, CursorY int
}

// columnsOf is how many columns of a screen a text takes.
func columnsOf(text string) int { return displaywidth.String(text) }

// clean makes text of a server fit to be drawn.
func clean(text string) string { return terminal.Clean(text) }

// cut divides a text behind as many columns as fit a width.
func cut(text string, width int) (fits, rest string) {
	end, used := 0, 0
	clusters := displaywidth.StringGraphemes(text)
	for clusters.Next() {
		if used += clusters.Width(); used > width {
			break
		}
		end += len(clusters.Value())
	}
	return text[:end], text[end:]
}

// ending is as much of the end of a text as fits a width.
func ending(text string, width int) string {
	clusters := displaywidth.StringGraphemes(text)
	for excess := columnsOf(text) - width; excess > 0 && clusters.Next(); {
		excess -= clusters.Width()
		text = text[len(clusters.Value()):]
	}
	return text
}

// shorten cuts a text to a width. What was cut shows as a tilde.
func shorten(text string, width int) string {
	if columnsOf(text) <= width {
		return text
	}
	if width < 1 {
		return ""
	}
	fits, _ := cut(text, width-1)
	return fits + "~"
}

// padded fills a text up with spaces behind it, or shortens it.
func padded(text string, width int) string {
	text = shorten(text, width)
	return text + strings.Repeat(" ", max(width-columnsOf(text), 0))
}

// aligned fills a text up with spaces before it, or shortens it.
func aligned(text string, width int) string {
	text = shorten(text, width)
	return strings.Repeat(" ", max(width-columnsOf(text), 0)) + text
}

// within cuts a line to a width.
func (l Line) within(width int) Line {
	for i, s := range l {
		n := columnsOf(s.Text)
		if n > width {
			return append(l[:i:i], Span{shorten(s.Text, width), s.Look})
		}
		width -= n
	}
	return l
}

// gap is what stands between things in a line.
const gap = "  "

// inRow puts things into a line, as many as fit. The first is cut if it has to be; others are there whole or not at all.
func inRow(width int, things ...Line) Line {
	var line Line
	for _, thing := range things {
		switch text := thing.String(); {
		case text == "":
		case line == nil:
			line = thing.within(width)
			width -= columnsOf(line.String())
		case columnsOf(text)+len(gap) <= width:
			line = append(append(line, Span{Text: gap}), thing...)
			width -= columnsOf(text) + len(gap)
		}
	}
	return line
}

// inRows puts things into as many lines as they need.
func inRows(width int, things ...Line) []Line {
	var lines []Line
	left := 0
	for _, thing := range things {
		n := columnsOf(thing.String())
		if lines == nil || n+len(gap) > left {
			thing = thing.within(width)
			lines, left = append(lines, thing), width-columnsOf(thing.String())
			continue
		}
		last := &lines[len(lines)-1]
		*last = append(append(*last, Span{Text: gap}), thing...)
		left -= n + len(gap)
	}
	return lines
}

// named is a figure with its name.
func named(name, figure string) Line { return Line{{name + " ", Faint}, {figure, Plain}} }

// wrapped divides a text into lines of a width.
func wrapped(text string, width int) []Line {
	var lines []Line
	for text != "" {
		fits, rest := cut(text, width)
		if fits == "" { // A character is wider than the screen.
			return append(lines, Line{{"~", Faint}})
		}
		lines, text = append(lines, Line{{fits, Plain}}), rest
	}
	return lines
}
