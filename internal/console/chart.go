package console

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// chart is a drawing of how something went, ready for its template. Lines are
// drawn into a field chartWidth wide and chartHeight high, which is stretched to
// the room there is; all words and numbers stand beside it.
type chart struct {
	ID     string
	Title  string
	Desc   string // what there is to see, for those who cannot
	Top    string // what the upper edge stands for
	Middle string
	Start  string // what the left edge stands for; the right one is now
	Curves []curve
}

const (
	chartWidth  = 1000
	chartHeight = 100
)

// curve is a line of a chart.
type curve struct {
	Name  string
	Class string
	Now   string
	Most  string
	Line  string // the path of the line
	Area  string // the path of the area below it; empty if there is none
}

// plot is what a chart is made of.
type plot struct {
	id, title string
	span      time.Duration
	end       time.Time
	at        []time.Time // of the values of all rows
	rows      []row
	stacked   bool                  // each row stands on the one before
	top       func(float64) float64 // a round number that is not below the largest value
	write     func(float64) string
}

// row is the values of a curve.
type row struct {
	name, class string
	now         float64
	values      []float64
	filled      bool
}

// draw makes a chart.
func (p *plot) draw() *chart {
	c := &chart{ID: p.id, Title: p.title, Start: duration(p.span) + " ago"}
	highest := 0.0
	stack := make([]float64, len(p.at))
	for _, r := range p.rows {
		for i, v := range r.values {
			if p.stacked {
				stack[i] += v
				v = stack[i]
			}
			highest = max(highest, v)
		}
	}
	top := p.top(highest)
	c.Top, c.Middle = p.write(top), p.write(top/2)
	clear(stack)
	var words []string
	for _, r := range p.rows {
		below := make([]float64, len(stack))
		if p.stacked {
			copy(below, stack)
		}
		values := make([]float64, len(r.values))
		most := 0.0
		for i, v := range r.values {
			most = max(most, v)
			values[i] = v + below[i]
			stack[i] += v
		}
		k := curve{Name: r.name, Class: r.class, Now: p.write(r.now), Most: p.write(most)}
		if most > 0 || !p.stacked && len(p.rows) == 1 { // what never was would only lie on other lines
			k.Line = p.path(values, top)
		}
		if k.Line != "" && r.filled && len(values) > 1 {
			k.Area = k.Line + p.backwards(below, top) + "Z"
		}
		c.Curves = append(c.Curves, k)
		words = append(words, fmt.Sprintf("%s: %s now, %s at most", r.name, k.Now, k.Most))
	}
	c.Desc = "In the last " + duration(p.span) + ". " + strings.Join(words, "; ") + "."
	return c
}

// path is a line through values.
func (p *plot) path(values []float64, top float64) string {
	var b strings.Builder
	for i, v := range values {
		command := "L"
		if i == 0 {
			command = "M"
		}
		b.WriteString(command + p.point(i, v, top))
	}
	return b.String()
}

// backwards goes on with a line through values from the last to the first.
func (p *plot) backwards(values []float64, top float64) string {
	var b strings.Builder
	for i := len(values) - 1; i >= 0; i-- {
		b.WriteString("L" + p.point(i, values[i], top))
	}
	return b.String()
}

func (p *plot) point(i int, v, top float64) string {
	x := chartWidth * (1 - float64(p.end.Sub(p.at[i]))/float64(p.span))
	y := chartHeight * (1 - min(v/top, 1))
	return fmt.Sprintf("%.1f %.1f", min(max(x, 0), chartWidth), y)
}

// roundCount is the next of 4, 10, 20, 40, 100 and so on.
func roundCount(v float64) float64 {
	if v <= 4 {
		return 4
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, factor := range []float64{1, 2, 4} {
		if v <= factor*power {
			return factor * power
		}
	}
	return 10 * power
}

// roundTime is the next time, in seconds, that people call by one word.
func roundTime(v float64) float64 {
	for _, d := range []time.Duration{
		time.Second, 2 * time.Second, 4 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute, 2 * time.Minute,
		4 * time.Minute, 10 * time.Minute, 20 * time.Minute, 40 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour,
		8 * time.Hour, 12 * time.Hour, 24 * time.Hour,
	} {
		if v <= d.Seconds() {
			return d.Seconds()
		}
	}
	const day = 24 * 60 * 60
	return day * roundCount(v/day)
}

// roundShare is the whole.
func roundShare(float64) float64 { return 1 }
