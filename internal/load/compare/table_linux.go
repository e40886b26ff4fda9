package main

import (
	"fmt"
	"io"
	"time"

	"github.com/haricotq/haricot/internal/load"
)

// table prints rows as lines of Markdown, padded so that they can be read as they are.
type table struct {
	out   io.Writer
	marks map[string]int
}

const line = "| %-29s | %-15s | %8s | %10s | %7s | %6s | %5s | %-5s |\n"

func (t *table) head() {
	t.marks = make(map[string]int)
	fmt.Fprintf(t.out, line, "row", "figure", "haricot", "beanstalkd", "ratio", "floor", "aim", "mark")
	fmt.Fprintln(t.out, "|---|---|--:|--:|--:|--:|--:|---|")
}

// row prints a line for each goal of a row.
func (t *table) row(r row, results [2][]load.Result) {
	name := r.name
	for _, g := range r.goals {
		ours, theirs := g.metric.Median(results[0]), g.metric.Median(results[1])
		judged, ratio := g.metric.Ratio(results[0], results[1]), "-"
		if g.absolute {
			judged = ours
		} else {
			ratio = load.Figure(judged)
		}
		mark := g.mark(judged)
		t.marks[mark]++
		fmt.Fprintf(t.out, line, name, g.metric.Name, load.Figure(ours), load.Figure(theirs), ratio, target(g.floor, g), target(g.aim, g), mark)
		name = ""
	}
}

// target writes a floor or an aim; "=" tells that it is a figure, not a ratio.
func target(v float64, g goal) string {
	switch {
	case v == 0:
		return ""
	case g.absolute:
		return "=" + load.Figure(v)
	default:
		return load.Figure(v)
	}
}

// foot sums the marks up.
func (t *table) foot(took time.Duration) {
	fmt.Fprintf(t.out, "\n%d figures reach their aim, %d their floor; %d are BELOW it; %d have no floor and fall short of their aim. Took %s.\n",
		t.marks["aim"], t.marks["floor"], t.marks["BELOW"], t.marks["short"], took.Round(time.Second))
}
