package top

import (
	"slices"
	"time"

	"github.com/haricotq/haricot/internal/remote"
)

// page is what stands below the header.
type page int

const (
	tablePage page = iota // the tubes
	tubePage              // one of them
	orderPage             // what to sort by
	helpPage
)

// Model is all that is known and chosen.
type Model struct {
	address       string
	interval      time.Duration
	width, height int

	newest *view // newest is nil until the first sample.
	shown  *view // shown is older than newest while the display is paused.
	frozen bool
	lost   error // lost says why there is no connection.
	note   Answered

	order    order
	filter   string
	rows     []*row // rows are those of shown that match, sorted.
	selected string // selected is the name of the tube that keys act on.
	at       int    // at is where it is in rows.
	first    int    // first is the row at the top of the screen.

	page   page
	back   page // back is the page that help was called from.
	tube   string
	next   map[remote.State]*remote.Job // next is nil until it is known.
	offset int                          // offset is how many lines of the page are above the screen.
	choice int                          // choice is a column on orderPage.
	prompt *prompt
}

// NewModel makes a model. The address is what the server is called.
func NewModel(address string, interval time.Duration) *Model {
	return &Model{address: clean(address), interval: interval, width: 80, height: 24, order: order{column: byReady}}
}

// Update tells the model of an event, and returns what is to be done about it.
func (m *Model) Update(e Event) []Request {
	switch e := e.(type) {
	case Resized:
		m.width, m.height = max(e.Width, 1), max(e.Height, 1)
		m.scroll()
	case Pressed:
		return m.press(e.Key)
	case Sampled:
		m.take(e.Sample)
	case Peeked:
		if e.Tube == m.tube && (!m.frozen || m.next == nil) {
			m.next = e.Next
		}
	case Lost:
		m.lost = e.Err
	case Answered:
		m.note = e
	}
	return nil
}

// take takes a new sample.
func (m *Model) take(s *Sample) {
	m.lost = nil
	var before *Sample
	if m.newest != nil {
		before = m.newest.Sample
	}
	m.newest = compare(before, s)
	if !m.frozen || m.shown == nil {
		m.show()
	}
}

// show shows the newest sample.
func (m *Model) show() {
	m.shown = m.newest
	m.arrange()
}

// arrange filters and sorts the rows. The selection stays on its tube; if that is gone, it stays where it is.
func (m *Model) arrange() {
	if m.shown == nil {
		return
	}
	m.rows = matching(m.shown.rows, m.filter)
	m.order.sort(m.rows)
	if i := slices.IndexFunc(m.rows, func(r *row) bool { return r.Name == m.selected }); i >= 0 {
		m.at = i
	}
	m.choose(m.at)
}

// choose selects a row, or the nearest there is.
func (m *Model) choose(i int) {
	m.at = max(min(i, len(m.rows)-1), 0)
	if len(m.rows) > 0 {
		m.selected = m.rows[m.at].Name
	}
	m.scroll()
}

// scroll brings what must be seen into the screen, and no emptiness that can be avoided.
func (m *Model) scroll() {
	page := m.tableHeight()
	m.first = min(m.first, m.at)
	m.first = max(m.first, m.at-page+1)
	m.first = max(min(m.first, len(m.rows)-page), 0)
	m.offset = max(min(m.offset, len(m.content())-m.bodyHeight()), 0)
}

// open shows another page from its beginning.
func (m *Model) open(p page) {
	m.page, m.offset = p, 0
}

// sortBy sorts the table by a column, in that column's usual direction if it is another one than before.
func (m *Model) sortBy(column int) {
	if column != m.order.column {
		m.order = order{column: column}
	}
	m.arrange()
}

// current is the newest that is known of the tube that is looked into; nil if it is not there.
func (m *Model) current() *Tube {
	if m.newest == nil {
		return nil
	}
	return m.newest.tube(m.tube)
}
