package console

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// jobQuery is what jobs are looked for, as it is written in a form and in
// addresses.
type jobQuery struct {
	Text               string // in the body
	Tube               string
	States             []string
	Field, Value       string // of a body that is JSON
	Older, Younger     string
	MinTries, MaxTries string
	Faults             map[string]string // by field
	operator.Query                       // what it means
}

// readQuery reads a query; what cannot be read is in its Faults.
func readQuery(fields url.Values) *jobQuery {
	get := func(name string) string { return strings.TrimSpace(fields.Get(name)) }
	q := &jobQuery{
		Text: fields.Get("q"), Tube: get("tube"), Field: get("field"), Value: fields.Get("value"),
		Older: get("older"), Younger: get("younger"), MinTries: get("min_tries"), MaxTries: get("max_tries"),
		Faults: make(map[string]string),
	}
	q.Query = operator.Query{Tube: q.Tube, Contains: q.Text, Field: q.Field}
	if q.Tube != "" && !protocol.ValidTube([]byte(q.Tube)) {
		q.Faults["tube"] = tubeNameFault(q.Tube)
	}
	var states []queue.State
	for _, name := range fields["state"] {
		if s, ok := stateOf(name); ok {
			states, q.States = append(states, s), append(q.States, name)
		}
	}
	q.Query.States = queue.StatesOf(states...)
	if q.Value != "" {
		q.Query.Value = &q.Value
		if q.Field == "" {
			q.Faults["field"] = "Name the field that has this value"
		}
	}
	q.OlderThan = q.readAge("older", q.Older)
	q.YoungerThan = q.readAge("younger", q.Younger)
	if n := q.readTries("min_tries", q.MinTries); n != nil {
		q.Query.MinTries = *n
	}
	q.Query.MaxTries = q.readTries("max_tries", q.MaxTries)
	return q
}

func (q *jobQuery) readAge(field, text string) time.Duration {
	if text == "" {
		return 0
	}
	d, err := readTime(text)
	if err != nil {
		q.Faults[field] = err.Error()
	}
	return d
}

func (q *jobQuery) readTries(field, text string) *uint32 {
	if text == "" {
		return nil
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		q.Faults[field] = "“" + shortened(text) + "” is no number of tries"
		return nil
	}
	tries := uint32(n)
	return &tries
}

// Has tells whether a state is asked for.
func (q *jobQuery) Has(state string) bool {
	for _, s := range q.States {
		if s == state {
			return true
		}
	}
	return false
}

// Empty tells whether nothing is asked for, which would find every job.
func (q *jobQuery) Empty() bool { return len(q.Fields()) == 0 }

// Hidden are the fields of the query for a form that hands it on.
func (q *jobQuery) Hidden() (list []carried) {
	for name, values := range q.Fields() {
		for _, value := range values {
			list = append(list, carried{name, value})
		}
	}
	return list
}

// Advanced tells whether more is asked for than text in a tube.
func (q *jobQuery) Advanced() bool {
	return q.Field+q.Value+q.Older+q.Younger+q.MinTries+q.MaxTries != ""
}

// Fields is the query as an address has it.
func (q *jobQuery) Fields() url.Values {
	fields := make(url.Values)
	for name, value := range map[string]string{
		"q": q.Text, "tube": q.Tube, "field": q.Field, "value": q.Value, "older": q.Older, "younger": q.Younger,
		"min_tries": q.MinTries, "max_tries": q.MaxTries,
	} {
		if value != "" {
			fields.Set(name, value)
		}
	}
	if len(q.States) > 0 {
		fields["state"] = q.States
	}
	return fields
}

// URL leads to what the query finds.
func (q *jobQuery) URL() string { return "/search?" + q.Fields().Encode() }

// Words says what is looked for.
func (q *jobQuery) Words() string {
	words := "jobs"
	if len(q.States) > 0 {
		words = strings.Join(q.States, " or ") + " jobs"
	}
	if q.Tube != "" {
		words += " of tube " + q.Tube
	}
	var terms []string
	if q.Text != "" {
		terms = append(terms, "whose body has “"+shortened(q.Text)+"” in it")
	}
	switch {
	case q.Value != "":
		terms = append(terms, "whose "+shortened(q.Field)+" is “"+shortened(q.Value)+"”")
	case q.Field != "":
		terms = append(terms, "which have a "+shortened(q.Field))
	}
	if q.Older != "" {
		terms = append(terms, "put more than "+q.Older+" ago")
	}
	if q.Younger != "" {
		terms = append(terms, "put less than "+q.Younger+" ago")
	}
	if q.MinTries != "" {
		terms = append(terms, "reserved "+q.MinTries+" times or more")
	}
	if q.MaxTries != "" {
		terms = append(terms, "reserved "+q.MaxTries+" times at most")
	}
	if len(terms) > 0 {
		words += " " + strings.Join(terms, ", ")
	}
	return words
}

// searchPatience is how long a page of results may be looked for, so that it
// appears soon even if hardly a job is found.
const searchPatience = 600 * time.Millisecond

// searchPage is the page of a search.
type searchPage struct {
	*jobQuery
	Asked  bool // there is something to be looked for
	Known  *operator.Job
	Rows   []jobRow
	First  string // addresses of other pages of results; empty if there is none
	Next   string
	Here   string
	States []queue.State
}

func (c *Console) search(w http.ResponseWriter, r *http.Request) error {
	fields := r.URL.Query()
	p := &searchPage{jobQuery: readQuery(fields), Here: here(r), States: jobStates}
	p.Asked = len(fields) > 0 && len(p.Faults) == 0
	if id, err := strconv.ParseUint(strings.TrimSpace(p.Text), 10, 64); err == nil && id > 0 {
		if p.Known, err = c.operator.Job(r.Context(), protocol.JobID(id), 0); err != nil {
			p.Known = nil // there may be such a number in a body
		}
	}
	if p.Asked {
		if err := c.find(r, p, fields.Get("from")); err != nil {
			return err
		}
	}
	return c.show(w, r, "search.html", p)
}

// find fills in a page of results.
func (c *Console) find(r *http.Request, p *searchPage, from string) error {
	position := uint64(0)
	if from != "" {
		var err error
		if position, err = strconv.ParseUint(from, 10, 32); err != nil {
			return badRequest("There is no such place in the results.")
		}
		p.First = p.URL()
	}
	found, err := c.operator.Search(r.Context(), &operator.SearchRequest{
		Query: p.Query, From: queue.Position(position), Limit: jobsPerPage, BodyLimit: previewBytes, Patience: searchPatience,
	})
	if err != nil {
		return err
	}
	if found.Next != 0 {
		p.Next = withQuery(p.URL(), "from", strconv.FormatUint(uint64(found.Next), 10))
	}
	p.Rows, err = c.jobRows(found.Jobs)
	return err
}
