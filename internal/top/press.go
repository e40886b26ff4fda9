package top

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/haricotq/haricot/internal/remote"
)

// pauseLength is the longest pause that the protocol can say: until the tube is resumed.
const pauseLength = math.MaxUint32 * time.Second

// press does what a key is for.
func (m *Model) press(key Key) []Request {
	m.note = Answered{}
	switch key {
	case KeyControlC, KeyF10:
		return []Request{Quit{}}
	case KeyControlL:
		return []Request{Redraw{}}
	}
	if m.prompt != nil {
		return m.answer(key)
	}
	switch m.page {
	case helpPage:
		if !m.scrolls(key) {
			m.open(m.back)
		}
		return nil
	case orderPage:
		m.pressOrder(key)
		return nil
	}
	switch key {
	case "q":
		return []Request{Quit{}}
	case "h", "?", KeyF1:
		m.back = m.page
		m.open(helpPage)
	case " ":
		if m.frozen = !m.frozen; !m.frozen && m.newest != nil {
			m.show()
		}
	case "d", "s":
		m.askInterval()
	default:
		if m.page == tubePage {
			return m.pressTube(key)
		}
		return m.pressTable(key)
	}
	return nil
}

// pressTable does what a key is for at the table.
func (m *Model) pressTable(key Key) []Request {
	if m.moves(key) {
		return nil
	}
	if column, ok := columnOf(key); ok {
		m.sortBy(column)
		return nil
	}
	switch key {
	case "<", ",":
		m.sortBy((m.order.column + len(columns) - 1) % len(columns))
	case ">", ".":
		m.sortBy((m.order.column + 1) % len(columns))
	case "I":
		m.order.inverted = !m.order.inverted
		m.arrange()
	case KeyF6:
		m.choice = m.order.column
		m.open(orderPage)
		m.reveal()
	case "/", KeyF4:
		m.askFilter()
	case KeyEscape:
		m.filter = ""
		m.arrange()
	case KeyEnter:
		if len(m.rows) > 0 {
			m.tube, m.next = m.selected, nil
			m.open(tubePage)
			return []Request{Follow{m.tube}}
		}
	}
	return nil
}

// moves moves the selection, if the key does that.
func (m *Model) moves(key Key) bool {
	page := max(m.tableHeight(), 1)
	switch key {
	case KeyUp, "k":
		m.choose(m.at - 1)
	case KeyDown, "j":
		m.choose(m.at + 1)
	case KeyPageUp:
		m.choose(m.at - page)
	case KeyPageDown:
		m.choose(m.at + page)
	case KeyHome:
		m.choose(0)
	case KeyEnd:
		m.choose(len(m.rows) - 1)
	default:
		return false
	}
	return true
}

// scrolls moves a page of text, if the key does that.
func (m *Model) scrolls(key Key) bool {
	switch key {
	case KeyUp:
		m.offset--
	case KeyDown, "j":
		m.offset++
	case KeyPageUp:
		m.offset -= m.bodyHeight()
	case KeyPageDown:
		m.offset += m.bodyHeight()
	case KeyHome:
		m.offset = 0
	case KeyEnd:
		m.offset = math.MaxInt32
	default:
		return false
	}
	m.scroll()
	return true
}

// pressOrder does what a key is for where one chooses what to sort by.
func (m *Model) pressOrder(key Key) {
	column, named := columnOf(key)
	switch {
	case named:
		m.sortBy(column)
	case key == KeyEnter:
		m.sortBy(m.choice)
	case key == KeyUp || key == "k":
		m.choice = max(m.choice-1, 0)
		m.reveal()
		return
	case key == KeyDown || key == "j":
		m.choice = min(m.choice+1, len(columns)-1)
		m.reveal()
		return
	case key != KeyEscape && key != "q" && key != KeyF6:
		return
	}
	m.open(tablePage)
}

// reveal scrolls to the choice.
func (m *Model) reveal() {
	m.offset = max(min(m.offset, m.choice), m.choice-m.bodyHeight()+1)
	m.scroll()
}

// pressTube does what a key is for where a tube is looked into.
func (m *Model) pressTube(key Key) []Request {
	switch key {
	case KeyEscape, KeyBackspace:
		m.open(tablePage)
		m.tube, m.next = "", nil
		return []Request{Follow{}}
	case "p":
		switch tube := m.current(); {
		case tube == nil:
			m.note = Answered{"the tube is not there", true}
		case tube.PauseLeft > 0:
			return []Request{Pause{m.tube, 0}}
		default:
			return []Request{Pause{m.tube, pauseLength}}
		}
	case "k":
		m.askKick()
	default:
		m.scrolls(key)
	}
	return nil
}

// askFilter asks for a filter, which works while it is typed.
func (m *Model) askFilter() {
	set := func(text string) {
		m.filter = text
		m.arrange()
	}
	m.prompt = &prompt{
		label: "Filter: ", text: m.filter, typed: set, other: func(key Key) { m.moves(key) },
		accept: func(text string) []Request { set(text); return nil },
		cancel: func() { set("") },
	}
}

// askInterval asks for another interval.
func (m *Model) askInterval() {
	m.prompt = &prompt{
		label: fmt.Sprintf("Interval (now %v): ", m.interval),
		accept: func(text string) []Request {
			if text == "" {
				return nil
			}
			d, err := ParseInterval(text)
			if err != nil {
				m.note = Answered{clean(err.Error()), true}
				return nil
			}
			m.interval = d
			return []Request{Every{d}}
		},
	}
}

// askKick asks how many jobs to kick. As the protocol has it, these are buried ones, and delayed ones where none is buried.
func (m *Model) askKick() {
	tube := m.current()
	if tube == nil || tube.Buried+tube.Delayed == 0 {
		m.note = Answered{"no job is buried or delayed", true}
		return
	}
	state, most := remote.Buried, tube.Buried
	if most == 0 {
		state, most = remote.Delayed, tube.Delayed
	}
	m.prompt = &prompt{
		label: fmt.Sprintf("Kick how many %s jobs? ", state), text: strconv.FormatUint(most, 10),
		accept: func(text string) []Request {
			n, err := strconv.ParseUint(text, 10, 31)
			if err != nil || n == 0 {
				m.note = Answered{"nothing kicked: that is no number of jobs", true}
				return nil
			}
			return []Request{Kick{tube.Name, state, int(n)}}
		},
	}
}
