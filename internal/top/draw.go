package top

import (
	"fmt"
	"strings"
)

// Draw draws the model.
func (m *Model) Draw() Frame {
	frame := Frame{CursorY: -1}
	frame.Lines = m.header()
	switch m.page {
	case tablePage:
		frame.Lines = append(frame.Lines, m.table()...)
	default:
		content := m.content()
		from := min(m.offset, len(content))
		frame.Lines = append(frame.Lines, content[from:min(from+m.bodyHeight(), len(content))]...)
	}
	for len(frame.Lines) < m.height-m.footerHeight() {
		frame.Lines = append(frame.Lines, nil)
	}
	if m.footerHeight() > 0 {
		frame.Lines = append(frame.Lines, m.footer(&frame))
	}
	for i, line := range frame.Lines {
		frame.Lines[i] = line.within(m.width)
	}
	return frame
}

// The parts of the screen from top to bottom: the header, the body, and the footer, which is one line. The body of the table begins with the
// headings of its columns.

func (m *Model) headerHeight() int {
	switch {
	case m.height >= 10:
		return 4
	case m.height >= 7:
		return 2
	case m.height >= 4:
		return 1
	}
	return 0
}

func (m *Model) footerHeight() int { return min(m.height-1, 1) }

func (m *Model) bodyHeight() int { return m.height - m.headerHeight() - m.footerHeight() }

// tableHeight is how many rows of the table can be seen.
func (m *Model) tableHeight() int { return max(m.bodyHeight()-1, 0) }

// header is the server.
func (m *Model) header() []Line {
	switch m.headerHeight() {
	case 0:
		return nil
	case 1:
		if status := m.status(); len(status) > 0 {
			return []Line{status}
		}
		return []Line{m.jobs()}
	case 2:
		return []Line{m.jobs(), m.status()}
	}
	return []Line{m.server(), m.clients(), m.jobs(), m.status()}
}

// server says which server it is.
func (m *Model) server() Line {
	things := []Line{{{"haricot top", Strong}}, {{m.address, Plain}}}
	if s := m.shown; s != nil {
		things = append(things, named("version", clean(s.Version)), named("up", uptime(s.Uptime)), named("every", m.interval.String()),
			Line{{s.At.Format("15:04:05"), Plain}}, named("on", clean(s.Host)))
	}
	return inRow(m.width, things...)
}

// clients are the connections and the rates.
func (m *Model) clients() Line {
	s := m.shown
	if s == nil {
		return nil
	}
	return inRow(m.width,
		named("connections", count(s.Connections)), named("workers", count(s.Workers)), named("waiting", count(s.Waiting)),
		Line{{"a second:", Faint}}, named("put", s.puts.String()), named("reserve", s.reserves.String()), named("delete", s.deletes.String()),
		named("producers", count(s.Producers)))
}

// jobs are the totals.
func (m *Model) jobs() Line {
	s := m.shown
	if s == nil {
		return nil
	}
	things := []Line{
		named("ready", count(s.Ready)), named("urgent", count(s.Urgent)), named("reserved", count(s.Reserved)),
		named("delayed", count(s.Delayed)), named("buried", count(s.Buried)), named("tubes", count(uint64(len(s.Tubes)))),
	}
	if s.Draining {
		things = append([]Line{{{"DRAINING", Alert}}}, things...)
	}
	return inRow(m.width, things...)
}

// status is what there is to say.
func (m *Model) status() Line {
	var things []Line
	if m.lost != nil {
		things = append(things, Line{{"disconnected, trying again", Alert}})
	} else if m.shown == nil {
		things = append(things, Line{{"waiting for the server", Faint}})
	}
	if m.note.Text != "" {
		look := Strong
		if m.note.Bad {
			look = Alert
		}
		things = append(things, Line{{m.note.Text, look}})
	}
	if m.frozen {
		things = append(things, Line{{"display paused", Alert}})
	}
	if m.filter != "" && m.shown != nil && m.page == tablePage {
		things = append(things, Line{{"filter ", Faint}, {clean(m.filter), Strong}, {fmt.Sprintf(": %d of %d", len(m.rows), len(m.shown.rows)), Faint}})
	}
	line := inRow(m.width, things...)
	if m.lost != nil { // The reason has what room is left.
		line = append(line, Span{gap + clean(m.lost.Error()), Faint})
	}
	return line.within(m.width)
}

// table is the table of tubes.
func (m *Model) table() []Line {
	if m.bodyHeight() <= 0 {
		return nil
	}
	shown, name := m.order.fitting(m.width)
	lines := []Line{m.headings(shown, name)}
	for i := m.first; i < len(m.rows) && i < m.first+m.tableHeight(); i++ {
		look := Plain
		if i == m.at {
			look = Chosen
		}
		cells := make([]string, len(shown))
		for j, c := range shown {
			if c == byName {
				cells[j] = padded(clean(m.rows[i].Name), name)
			} else {
				cells[j] = aligned(columns[c].cell(m.rows[i]), columns[c].width)
			}
		}
		lines = append(lines, Line{{strings.Join(cells, " "), look}})
	}
	return lines
}

// headings are the names of the columns. The one that the table is sorted by has an arrow, up where the smallest is on top; it
// stands between the columns, so that it needs no room.
func (m *Model) headings(shown []int, name int) Line {
	var line Line
	for _, c := range shown {
		sorted, arrow, look := c == m.order.column, " ", Heading
		if sorted {
			arrow, look = m.arrow(), Chosen
		}
		if c == byName {
			line = append(line, Span{padded(columns[c].heading+arrow, name), look})
			continue
		}
		line = append(line, Span{aligned(arrow+columns[c].heading, columns[c].width+1), look})
	}
	return line
}

func (m *Model) arrow() string {
	if m.order.ascending() {
		return "^"
	}
	return "v"
}

// keys are what the last line says about keys.
var keys = map[page][][2]string{
	tablePage: {
		{"F1", "Help"},
		{"q", "Quit"},
		{"/", "Filter"},
		{"F6", "Sort"},
		{"< >", "Column"},
		{"I", "Invert"},
		{"Enter", "Open"},
		{"Space", "Pause display"},
		{"d", "Interval"},
	},
	tubePage:  {{"Esc", "Back"}, {"p", "Pause tube"}, {"k", "Kick"}, {"F1", "Help"}, {"q", "Quit"}, {"Space", "Pause display"}, {"d", "Interval"}},
	orderPage: {{"Enter", "Sort"}, {"Esc", "Back"}},
	helpPage:  {{"Esc", "Back"}, {"PgDn", "More"}},
}

// footer is the question that is asked, or the keys.
func (m *Model) footer(frame *Frame) Line {
	if p := m.prompt; p != nil {
		label := shorten(p.label, m.width/2)
		room := max(m.width-columnsOf(label)-1, 0)
		text := ending(p.text, room)
		frame.CursorX, frame.CursorY = columnsOf(label)+columnsOf(text), m.height-1
		return Line{{label, Strong}, {text, Plain}}
	}
	things := make([]Line, len(keys[m.page]))
	for i, k := range keys[m.page] {
		things[i] = Line{{k[0], Strong}, {" " + k[1], Plain}}
	}
	return inRow(m.width, things...)
}
