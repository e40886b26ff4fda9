package top

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// column is a column of the table of tubes.
type column struct {
	heading string
	meaning string
	key     Key // key sorts by it.
	width   int // width is 0 for the name, which has what the others leave.
	rank    int // Where there is no room for all, those of the highest rank go first.
	value   func(r *row) float64
	cell    func(r *row) string
}

// counted makes a column of a number of a tube.
func counted(heading string, key Key, rank int, meaning string, n func(r *row) uint64) column {
	return column{
		heading: heading, meaning: meaning, key: key, width: max(len(heading), 6), rank: rank,
		value: func(r *row) float64 { return float64(n(r)) },
		cell:  func(r *row) string { return count(n(r)) },
	}
}

// rated makes a column of a rate of a tube.
func rated(heading string, key Key, rank int, meaning string, f func(r *row) rate) column {
	return column{
		heading: heading, meaning: meaning, key: key, width: 6, rank: rank,
		value: func(r *row) float64 { return float64(f(r)) },
		cell:  func(r *row) string { return f(r).String() },
	}
}

// The columns, in the order in which they are shown. byName is the first, byReady the second.
const (
	byName  = 0
	byReady = 1
)

var columns = []column{
	{heading: "NAME", meaning: "the tube", key: "N"},
	counted("READY", "R", 1, "jobs that workers can get", func(r *row) uint64 { return r.Ready }),
	counted("URGENT", "U", 9, "ready jobs with a priority below 1024", func(r *row) uint64 { return r.Urgent }),
	counted("RESERVED", "E", 2, "jobs that workers have", func(r *row) uint64 { return r.Reserved }),
	counted("DELAYED", "D", 4, "jobs that are not due yet", func(r *row) uint64 { return r.Delayed }),
	counted("BURIED", "B", 3, "jobs set aside until they are kicked", func(r *row) uint64 { return r.Buried }),
	counted("WAITING", "W", 8, "workers that wait for a job", func(r *row) uint64 { return r.Waiting }),
	counted("WATCHING", "A", 10, "connections that watch the tube", func(r *row) uint64 { return r.Watching }),
	counted("USING", "S", 11, "connections that put into it, or have looked into it as this one does", func(r *row) uint64 { return r.Using }),
	rated("PUT/S", "P", 5, "jobs put in a second", func(r *row) rate { return r.puts }),
	rated("DEL/S", "X", 6, "jobs deleted in a second", func(r *row) rate { return r.deletes }),
	{
		heading: "PAUSED", meaning: "how long the tube stays paused", key: "T", width: 7, rank: 7,
		value: func(r *row) float64 { return r.PauseLeft.Round(time.Second).Seconds() },
		cell:  func(r *row) string { return left(r.PauseLeft) },
	},
}

// columnOf finds the column that a key sorts by.
func columnOf(key Key) (int, bool) {
	i := slices.IndexFunc(columns, func(c column) bool { return c.key == key })
	return i, i >= 0
}

// order is how the table is sorted.
type order struct {
	column   int
	inverted bool // Names go up and numbers down, unless they are inverted.
}

// sort sorts rows. Those that are equal are in the order of their names.
func (o order) sort(rows []*row) {
	value, sign := columns[o.column].value, 1
	if o.inverted {
		sign = -1
	}
	slices.SortFunc(rows, func(a, b *row) int {
		if value == nil {
			return sign * cmp.Compare(a.Name, b.Name)
		}
		return cmp.Or(sign*cmp.Compare(value(b), value(a)), cmp.Compare(a.Name, b.Name))
	})
}

// ascending tells which way the column is sorted.
func (o order) ascending() bool { return (columns[o.column].value == nil) != o.inverted }

// matching are the rows whose name has a text in it, whatever the case.
func matching(rows []row, filter string) []*row {
	filter = strings.ToLower(filter)
	hits := make([]*row, 0, len(rows))
	for i := range rows {
		if filter == "" || strings.Contains(strings.ToLower(rows[i].Name), filter) {
			hits = append(hits, &rows[i])
		}
	}
	return hits
}

// minName is how wide the name is at least where other columns stand beside it.
const minName = 12

// fitting are the columns that fit a width, and how wide the name is then. The name always is there, and what the table is sorted by before the others.
func (o order) fitting(width int) (shown []int, name int) {
	candidates := make([]int, 0, len(columns))
	for i := range columns {
		if i != byName {
			candidates = append(candidates, i)
		}
	}
	slices.SortFunc(candidates, func(a, b int) int {
		if (a == o.column) != (b == o.column) {
			if a == o.column {
				return -1
			}
			return 1
		}
		return columns[a].rank - columns[b].rank
	})
	name = width
	shown = []int{byName}
	for _, i := range candidates {
		if name-columns[i].width-1 < minName {
			break
		}
		name -= columns[i].width + 1
		shown = append(shown, i)
	}
	slices.Sort(shown)
	return shown, name
}
