package docs_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// commandsOfTable gives the line that each row of the tables of "Who may do what" stands for; %d is the job's id.
var commandsOfTable = map[string]string{
	"`delete`":                 "delete %d",
	"`release`, delay 0":       "release %d 0 0",
	"`release` with delay":     "release %d 0 1000",
	"`bury`":                   "bury %d 0",
	"`touch`":                  "touch %d",
	"`reserve-job`":            "reserve-job %d",
	"`kick-job`":               "kick-job %d",
	"`peek`":                   "peek %d",
	"`stats-job`":              "stats-job %d",
	"`reserve-with-timeout 0`": "reserve-with-timeout 0",
	"`kick 1`":                 "kick 1",
	"`peek-ready`":             "peek-ready",
	"`peek-delayed`":           "peek-delayed",
	"`peek-buried`":            "peek-buried",
}

// columns are the states in the order of the tables' columns.
var columns = []string{"ready", "delayed", "buried", "yours", "another's", "gone"}

var cellForm = regexp.MustCompile("^`([A-Z_]+(?: [0-9]+)?)`(?: → ([a-z]+))?$")

// TestWhoMayDoWhat runs every cell of the two tables: a job is brought into the column's state, the row's command is sent, and the reply
// and the job's new state are compared with what the cell says.
func TestWhoMayDoWhat(t *testing.T) {
	const section = "Who may do what"
	p := readPage(t, "protocol.md")
	rows := append(p.table(t, section, 0), p.table(t, section, 1)...)
	if len(rows) != len(commandsOfTable) {
		t.Fatalf("the tables have %d rows, this test knows %d", len(rows), len(commandsOfTable))
	}
	for _, m := range makers() {
		t.Run(m.name, func(t *testing.T) {
			m.require(t)
			srv := m.start(t, 0)
			for _, row := range rows {
				command, ok := commandsOfTable[row[0]]
				if !ok || len(row) != len(columns)+1 {
					t.Fatalf("row %q is not known", row)
				}
				for i, before := range columns {
					runCell(t, srv, command, before, row[i+1])
				}
			}
		})
	}
}

func runCell(t *testing.T, srv instance, command, before, cell string) {
	t.Helper()
	m := cellForm.FindStringSubmatch(cell)
	if m == nil {
		t.Fatalf("cell %q of %q has no form this test knows", cell, command)
	}
	want, after := m[1], m[2]
	if after == "" {
		after = before
	}
	c := newCell(t, srv)
	defer c.close()
	id := c.bring(before)
	if strings.Contains(command, "%d") {
		command = fmt.Sprintf(command, id)
	}
	// A reply that the table writes without arguments may have some.
	if got := c.ask(c.you, command); got != want && !strings.HasPrefix(got, want+" ") {
		t.Errorf("%q of a job that is %s: got %q, the table says %q", command, before, got, want)
	}
	if got := c.state(id); got != after {
		t.Errorf("%q of a job that is %s: the job is %s afterwards, the table says %s", command, before, got, after)
	}
}

// A cell has three connections: you and another, both using and watching one tube that nobody else knows, and an onlooker.
type cell struct {
	t                      *testing.T
	you, another, onlooker *wire
}

func newCell(t *testing.T, srv instance) *cell {
	t.Helper()
	c := &cell{t: t, you: dialWire(t, srv), another: dialWire(t, srv), onlooker: dialWire(t, srv)}
	for _, w := range []*wire{c.you, c.another} {
		c.ask(w, "use cell")
		c.ask(w, "watch cell")
		c.ask(w, "ignore default")
	}
	return c
}

// close deletes what the cell has left and waits until the server has forgotten the connections, so that the next cell finds an
// empty tube.
func (c *cell) close() {
	c.t.Helper()
	for _, w := range []*wire{c.you, c.another} {
		if err := w.halfClose(); err != nil {
			c.t.Fatal(err)
		}
		if err := w.expectClosed(); err != nil {
			c.t.Fatal(err)
		}
	}
	c.ask(c.onlooker, "use cell")
	for _, peek := range []string{"peek-ready", "peek-delayed", "peek-buried"} {
		var id uint64
		if _, err := fmt.Sscanf(c.ask(c.onlooker, peek), "FOUND %d", &id); err == nil {
			c.ask(c.onlooker, fmt.Sprintf("delete %d", id))
		}
	}
	_ = c.onlooker.Close() // nothing is left that its end could change
}

// bring makes a job and brings it into a state.
func (c *cell) bring(state string) (id uint64) {
	c.t.Helper()
	delay := 0
	if state == "delayed" {
		delay = 1000
	}
	reply := c.ask(c.another, fmt.Sprintf("put 0 %d 1000 1\r\nx", delay))
	if _, err := fmt.Sscanf(reply, "INSERTED %d", &id); err != nil {
		c.t.Fatalf("put: %q", reply)
	}
	reserve := fmt.Sprintf("reserve-job %d", id)
	switch state {
	case "yours":
		c.ask(c.you, reserve)
	case "another's":
		c.ask(c.another, reserve)
	case "buried":
		c.ask(c.another, reserve)
		c.ask(c.another, fmt.Sprintf("bury %d 0", id))
	case "gone":
		c.ask(c.another, fmt.Sprintf("delete %d", id))
	}
	if got := c.state(id); got != state {
		c.t.Fatalf("the job is %s, it should have become %s", got, state)
	}
	return id
}

// state says what has become of a job, in the words of columns.
func (c *cell) state(id uint64) string {
	c.t.Helper()
	state := "gone"
	if c.ask(c.onlooker, fmt.Sprintf("peek %d", id)) == "NOT_FOUND" {
		return state
	}
	fields, err := c.onlooker.stats(fmt.Sprintf("stats-job %d", id))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, f := range fields {
		if f.key == "state" {
			state = f.value
		}
	}
	touch := fmt.Sprintf("touch %d", id)
	switch {
	case state != "reserved":
		return state
	case c.ask(c.you, touch) == "TOUCHED":
		return "yours"
	case c.ask(c.another, touch) == "TOUCHED":
		return "another's"
	}
	return "reserved by nobody"
}

// ask returns the first line of a reply.
func (c *cell) ask(w *wire, command string) string {
	c.t.Helper()
	lines, err := w.ask(command)
	if err != nil {
		c.t.Fatalf("%s: %v", command, err)
	}
	return lines[0]
}
