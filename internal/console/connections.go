package console

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/queue"
)

// errNoConnection says that no connection has the number that was asked for.
var errNoConnection = errors.New("there is no such connection")

// connectionColumns are the columns of the list of connections. By default the
// one that has held a job the longest comes first.
var connectionColumns = []column{
	{Key: "peer", Name: "Client"},
	{Key: "role", Name: "Role"},
	{Key: "holds", Name: "Holds", Title: "Jobs that it has reserved", Number: true, Falling: true},
	{Key: "held", Name: "Holds for", Title: "How long it has held the first of its jobs", Number: true, Falling: true},
	{Key: "since", Name: "Connected", Title: "How long it is connected", Number: true},
	{Key: "uses", Name: "Uses", Title: "The tube into which it puts", Wide: true},
	{Key: "watches", Name: "Watches", Title: "The tubes from which it takes", Wide: true},
}

// connectionRow is a connection in the list.
type connectionRow struct {
	operator.Connection
	Process string // the name of the process, if it is known
}

func rowOf(c *operator.Connection, processes map[int]string) connectionRow {
	slices.Sort(c.Watches)
	return connectionRow{*c, processName(processes, c.PID)}
}

// Client names who is at the other end.
func (c *connectionRow) Client() string {
	switch {
	case c.Address != "":
		return c.Address
	case c.Process != "":
		return fmt.Sprintf("%s (process %d)", c.Process, c.PID)
	case c.PID != 0:
		return fmt.Sprintf("process %d", c.PID)
	default:
		return "unix socket"
	}
}

// Roles are what the connection does, as it has been seen to.
func (c *connectionRow) Roles() (list []string) {
	if c.Producer {
		list = append(list, "producer")
	}
	if c.Worker || c.Waiting || c.HoldCount > 0 {
		list = append(list, "worker")
	}
	if c.Waiting {
		list = append(list, "waiting")
	}
	return list
}

// MoreWatches is how many tubes it watches beyond those that are listed.
func (c *connectionRow) MoreWatches() int { return c.WatchCount - len(c.Watches) }

// MoreHolds is how many jobs it holds beyond those that are listed.
func (c *connectionRow) MoreHolds() int { return c.HoldCount - len(c.Holds) }

// held is how long it has held the first of its jobs.
func (c *connectionRow) held() time.Duration {
	if c.OldestSince == 0 {
		return 0
	}
	return time.Duration(c.Now - c.OldestSince)
}

// connectionComparisons compare two connections by a column, upwards.
var connectionComparisons = map[string]func(a, b *connectionRow) int{
	"held": func(a, b *connectionRow) int { return cmp.Compare(a.held(), b.held()) },
	"peer": func(a, b *connectionRow) int { return strings.Compare(a.Client(), b.Client()) },
	"role": func(a, b *connectionRow) int {
		return strings.Compare(strings.Join(a.Roles(), " "), strings.Join(b.Roles(), " "))
	},
	"holds": func(a, b *connectionRow) int { return cmp.Compare(a.HoldCount, b.HoldCount) },
	"since": func(a, b *connectionRow) int { return cmp.Compare(b.Opened, a.Opened) },
	"uses":  func(a, b *connectionRow) int { return strings.Compare(a.Uses, b.Uses) },
	"watches": func(a, b *connectionRow) int {
		return strings.Compare(strings.Join(a.Watches, " "), strings.Join(b.Watches, " "))
	},
}

func connectionOrder(l *listing) func(a, b *connectionRow) int {
	compare, sign := connectionComparisons[l.Sort], 1
	if l.Down {
		sign = -1
	}
	return func(a, b *connectionRow) int { return cmp.Or(sign*compare(a, b), cmp.Compare(a.ID, b.ID)) }
}

// matches tells whether any word of the row has the filter in it.
func (c *connectionRow) matches(filter string) bool {
	if filter == "" {
		return true
	}
	for _, text := range [][]string{{c.Client(), c.Uses}, c.Watches, c.Roles()} {
		for _, word := range text {
			if strings.Contains(strings.ToLower(word), filter) {
				return true
			}
		}
	}
	for _, h := range c.Holds {
		if strings.Contains(strings.ToLower(h.Tube), filter) {
			return true
		}
	}
	return false
}

// connectionList is the page of all connections.
type connectionList struct {
	listing
	Columns []column
	All     int
	Rows    []*connectionRow
}

func (c *Console) connections(w http.ResponseWriter, r *http.Request) error {
	l, err := readListing(r, connectionColumns, "held")
	if err != nil {
		return err
	}
	var all []*operator.Connection
	if err := c.operator.Connections(r.Context(), func(v *operator.Connection) { all = append(all, v) }); err != nil {
		return err
	}
	list := connectionList{listing: l, Columns: connectionColumns, All: len(all)}
	first := firsts[connectionRow]{most: l.upTo(), compare: connectionOrder(&l)}
	filter := strings.ToLower(l.Filter)
	processes := make(map[int]string)
	for _, v := range all {
		row := rowOf(v, processes)
		if row.matches(filter) {
			list.Matched++
			first.add(&row)
		}
	}
	list.Rows = pageOf(&list.listing, first.sorted())
	return c.show(w, r, "connections.html", &list)
}

func (c *Console) connection(w http.ResponseWriter, r *http.Request) error {
	id, err := strconv.ParseUint(r.PathValue("id"), 10, 32)
	if err != nil {
		return errNoConnection
	}
	v, ok, err := c.operator.Connection(queue.ClientID(id))
	if err != nil {
		return err
	}
	if !ok {
		return errNoConnection
	}
	row := rowOf(v, make(map[int]string))
	return c.show(w, r, "connection.html", &row)
}

// processName is operator.ProcessName for many connections, of which most are of
// few processes.
func processName(known map[int]string, pid int) string {
	name, ok := known[pid]
	if !ok {
		name = operator.ProcessName(pid)
		known[pid] = name
	}
	return name
}
