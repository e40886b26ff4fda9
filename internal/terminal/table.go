package terminal

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Table has rows for a person or for a program. A person gets aligned columns
// under headings, with the last column cut to the window. A program gets no
// headings, the cells in full, and a tab between them.
type Table struct {
	width   int // of the window; 0 for a program
	columns []Column
	rows    [][]string
}

// Column is a column of a table.
type Column struct {
	Heading string
	Number  bool // Number has it aligned at the right.
}

// Columns makes columns of headings; one that begins with a # has numbers.
func Columns(headings ...string) []Column {
	columns := make([]Column, len(headings))
	for i, heading := range headings {
		columns[i].Heading, columns[i].Number = strings.CutPrefix(heading, "#")
	}
	return columns
}

// NewTable makes a table for w, which decides by being a terminal or not.
func NewTable(w io.Writer, columns []Column) *Table {
	return &Table{width: Width(w), columns: columns}
}

// Row adds a row, which has a cell for each column. Cells are made printable.
func (t *Table) Row(cells ...any) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = Clean(fmt.Sprint(cell))
	}
	t.rows = append(t.rows, row)
}

// Write writes the table.
func (t *Table) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	if t.width == 0 {
		for _, row := range t.rows {
			out.WriteString(strings.Join(row, "\t") + "\n") //nolint:errcheck // Flush tells.
		}
		return out.Flush()
	}
	headings := make([]string, len(t.columns))
	for i, c := range t.columns {
		headings[i] = strings.ToUpper(c.Heading)
	}
	widths := t.widths(headings)
	t.line(out, headings, widths)
	for _, row := range t.rows {
		t.line(out, row, widths)
	}
	return out.Flush()
}

// widths are the widths of the columns.
func (t *Table) widths(headings []string) []int {
	widths := make([]int, len(t.columns))
	for _, row := range append(t.rows, headings) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// line writes a row for a person.
func (t *Table) line(out *bufio.Writer, row []string, widths []int) {
	var line strings.Builder
	used := 0
	for i, cell := range row {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		switch last := i == len(row)-1; {
		case t.columns[i].Number:
			cell = pad + cell
		case last:
			cell = Cut(cell, max(t.width-used, 10))
		default:
			cell += pad
		}
		line.WriteString(cell)
		if i < len(row)-1 {
			line.WriteString("  ")
		}
		used += widths[i] + 2
	}
	out.WriteString(strings.TrimRight(line.String(), " ") + "\n") //nolint:errcheck // Flush tells.
}
