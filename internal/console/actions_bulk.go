package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/queue"
)

// bulkPage asks whether something is to be done to all jobs that a query finds.
type bulkPage struct {
	*jobQuery
	Deed    *deed
	Detail  string // how it would be done
	Count   int    // how many jobs the query finds
	Held    int    // how many of them clients hold
	Take    bool   // those too
	Sample  []jobRow
	Carried []carried
	Back    string
}

// carried is a field that is handed on from a page to the next.
type carried struct{ Name, Value string }

// deedFields are the fields of a form that say how something is done.
var deedFields = []string{"to", "pri", "delay", "ttr"}

// sampled is how many of the jobs the question shows.
const sampled = 5

// bulk counts what a query finds and asks: nothing is changed.
func (c *Console) bulk(w http.ResponseWriter, r *http.Request) error {
	if c.config.ReadOnly {
		return errReadOnly
	}
	p, _, err := readBulk(r, r.URL.Query())
	if err != nil {
		return err
	}
	if p.Back == "" {
		p.Back = p.URL()
	}
	if p.Count, err = c.operator.Count(r.Context(), &p.Query); err != nil {
		return err
	}
	if p.Deed.Takes && p.Query.States.Has(queue.Reserved) {
		held := p.Query
		held.States = queue.StatesOf(queue.Reserved)
		if p.Held, err = c.operator.Count(r.Context(), &held); err != nil {
			return err
		}
	}
	found, err := c.operator.Search(r.Context(), &operator.SearchRequest{
		Query: p.Query, Limit: sampled, BodyLimit: previewBytes, Patience: searchPatience,
	})
	if err != nil {
		return err
	}
	if p.Sample, err = c.jobRows(found.Jobs); err != nil {
		return err
	}
	return c.show(w, r, "bulk.html", p)
}

// readBulk reads what is to be done to which jobs.
func readBulk(r *http.Request, fields url.Values) (p *bulkPage, action operator.Action, err error) {
	p = &bulkPage{jobQuery: readQuery(fields), Take: fields.Get("hold") == "take", Back: back(r, "")}
	for _, why := range p.Faults {
		return nil, action, badRequest(why + ".")
	}
	if p.Deed, err = deedOf(fields.Get("do")); err != nil {
		return nil, action, badRequest("Say what is to be done to the jobs.")
	}
	if action, err = p.Deed.action(fields, queue.Hold(p.Take)); err != nil {
		return nil, action, err
	}
	p.Detail = p.Deed.detail(fields)
	p.Carried = append(p.Hidden(), carried{"do", p.Deed.Name})
	for _, name := range deedFields {
		if value := fields.Get(name); value != "" {
			p.Carried = append(p.Carried, carried{name, value})
		}
	}
	return p, action, nil
}

// doInBulk does what the question was about.
func (c *Console) doInBulk(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return badRequest("The form cannot be read.")
	}
	p, action, err := readBulk(r, r.PostForm)
	if err != nil {
		return err
	}
	out, err := c.hand(r).Bulk(r.Context(), &p.Query, action)
	if err != nil {
		return err
	}
	to := p.Back
	if to == "" {
		to = p.URL()
	}
	c.done(w, r, c.stillThere(to), outcomeText(p.Deed.past, &out))
	return nil
}

// outcomeText says what has come of something that was done to many jobs.
func outcomeText(past string, out *operator.Outcome) string {
	if out.Matched == 0 {
		return "No job was found, so nothing is changed."
	}
	text := fmt.Sprintf("%s %s.", past, plural(out.Done, "job", "jobs"))
	if out.Skipped == 0 {
		return text
	}
	return strings.TrimSuffix(text, ".") + fmt.Sprintf(" of %s that were found; %s left as %s: gone, changed or reserved in the meantime, or not to be had this way.",
		number(out.Matched), plural(out.Skipped, "is", "are"), map[bool]string{true: "it was", false: "they were"}[out.Skipped == 1])
}
