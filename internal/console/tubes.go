package console

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/haricotq/haricot/internal/operator"
)

// tubeColumns are the columns of the list of tubes. By default those that need
// somebody come first.
var tubeColumns = []column{
	{Key: "name", Name: "Tube"},
	{Key: "urgency", Name: "Status", Title: "What keeps jobs from being done", Falling: true},
	{Key: "ready", Name: "Ready", Number: true, Falling: true},
	{Key: "reserved", Name: "Reserved", Number: true, Falling: true},
	{Key: "delayed", Name: "Delayed", Number: true, Falling: true},
	{Key: "buried", Name: "Buried", Number: true, Falling: true},
	{Key: "oldest", Name: "Oldest", Title: "How long the oldest ready job waits, to an eighth", Number: true, Falling: true},
	{Key: "in", Name: "In/s", Title: "Jobs put in a second", Number: true, Wide: true, Falling: true},
	{Key: "out", Name: "Out/s", Title: "Jobs deleted in a second", Number: true, Wide: true, Falling: true},
	{Key: "watching", Name: "Watching", Title: "Connections that watch the tube", Number: true, Falling: true},
	{Key: "waiting", Name: "Waiting", Title: "Connections that wait for a job", Number: true, Falling: true},
	{Key: "using", Name: "Using", Title: "Connections that put into the tube", Number: true, Wide: true, Falling: true},
	{Key: "bytes", Name: "Size", Title: "Of all bodies", Number: true, Wide: true, Falling: true},
	{Key: "total", Name: "Ever", Title: "Jobs ever put into the tube", Number: true, Wide: true, Falling: true},
}

// tubeRow is a tube in the list.
type tubeRow struct {
	operator.Tube
	glance
	Flow flow
}

// tubeComparisons compare two tubes by a column, upwards.
var tubeComparisons = map[string]func(a, b *tubeRow) int{
	"urgency": func(a, b *tubeRow) int {
		return cmp.Or(cmp.Compare(a.urgency, b.urgency), cmp.Compare(a.OldestReady(), b.OldestReady()), cmp.Compare(a.Jobs.Buried, b.Jobs.Buried))
	},
	"name":     func(a, b *tubeRow) int { return strings.Compare(a.Name, b.Name) },
	"ready":    func(a, b *tubeRow) int { return cmp.Compare(a.Jobs.Ready, b.Jobs.Ready) },
	"reserved": func(a, b *tubeRow) int { return cmp.Compare(a.Jobs.Reserved, b.Jobs.Reserved) },
	"delayed":  func(a, b *tubeRow) int { return cmp.Compare(a.Jobs.Delayed, b.Jobs.Delayed) },
	"buried":   func(a, b *tubeRow) int { return cmp.Compare(a.Jobs.Buried, b.Jobs.Buried) },
	"oldest":   func(a, b *tubeRow) int { return cmp.Compare(a.OldestReady(), b.OldestReady()) },
	"in":       func(a, b *tubeRow) int { return cmp.Compare(a.Flow.In, b.Flow.In) },
	"out":      func(a, b *tubeRow) int { return cmp.Compare(a.Flow.Out, b.Flow.Out) },
	"watching": func(a, b *tubeRow) int { return cmp.Compare(a.Watching, b.Watching) },
	"waiting":  func(a, b *tubeRow) int { return cmp.Compare(a.Waiting, b.Waiting) },
	"using":    func(a, b *tubeRow) int { return cmp.Compare(a.Using, b.Using) },
	"bytes":    func(a, b *tubeRow) int { return cmp.Compare(a.Bytes, b.Bytes) },
	"total":    func(a, b *tubeRow) int { return cmp.Compare(a.TotalJobs, b.TotalJobs) },
}

// tubeOrder is the order in which a list is wanted. No two tubes are equal in it.
func tubeOrder(l *listing) func(a, b *tubeRow) int {
	compare, sign := tubeComparisons[l.Sort], 1
	if l.Down {
		sign = -1
	}
	return func(a, b *tubeRow) int { return cmp.Or(sign*compare(a, b), strings.Compare(a.Name, b.Name)) }
}

// tubeList is the page of all tubes.
type tubeList struct {
	listing
	Columns []column
	All     int // tubes of the server
	Rows    []*tubeRow
}

func (c *Console) tubes(w http.ResponseWriter, r *http.Request) error {
	l, err := readListing(r, tubeColumns, "urgency")
	if err != nil {
		return err
	}
	list := tubeList{listing: l, Columns: tubeColumns}
	first := firsts[tubeRow]{most: l.upTo(), compare: tubeOrder(&l)}
	byFlow := l.Sort == "in" || l.Sort == "out"
	var all []*tubeRow // if the order cannot be told during the visits
	filter, row := strings.ToLower(l.Filter), new(tubeRow)
	err = c.operator.Tubes(r.Context(), func(t *operator.Tube) {
		list.All++
		if filter != "" && !strings.Contains(strings.ToLower(t.Name), filter) {
			return
		}
		list.Matched++
		*row = tubeRow{Tube: *t, glance: look(t)}
		if byFlow {
			copied := *row
			all = append(all, &copied)
		} else {
			first.add(row)
		}
	})
	if err != nil {
		return err
	}
	for _, row := range all {
		row.Flow = c.flows.note(&row.Tube)
		first.add(row)
	}
	list.Rows = pageOf(&list.listing, first.sorted())
	if !byFlow {
		for _, row := range list.Rows {
			row.Flow = c.flows.note(&row.Tube)
		}
	}
	return c.show(w, r, "tubes.html", &list)
}
