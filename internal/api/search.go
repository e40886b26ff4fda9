package api

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// searchPatience is how long a search takes before it tells where to go on.
const searchPatience = time.Second

// query reads which jobs are meant.
func (f *form) query() *operator.Query {
	q := &operator.Query{
		Job:         protocol.JobID(f.number("id", 0, 1, math.MaxUint64)),
		Tube:        f.tubeOf("tube"),
		States:      f.states("state"),
		OlderThan:   f.age("min_age"),
		YoungerThan: f.age("max_age"),
		MinTries:    uint32(f.number("min_tries", 0, 0, math.MaxUint32)),
		Contains:    f.text("q"),
		Field:       f.text("field"),
	}
	if most := uint32(f.number("max_tries", 0, 0, math.MaxUint32)); f.has("max_tries") {
		q.MaxTries = &most
	}
	if wanted, ok := f.one("value", "a text, number, true or false", textKind, numberKind, flagKind); ok {
		q.Value = &wanted
		if q.Field == "" {
			f.fault("value", wanted, "there only if field is, which says of what it is the value")
		}
	}
	return q
}

// search finds jobs.
func (a *api) search(c *call) (any, error) {
	r := operator.SearchRequest{Query: *c.query(), Patience: searchPatience}
	if text, ok := c.one("cursor", cursorRule, textKind); ok && text != "" {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			c.fault("cursor", text, cursorRule)
		}
		r.From = queue.Position(n)
	}
	r.Limit, r.BodyLimit = c.page()
	if err := c.check(); err != nil {
		return nil, err
	}
	found, err := a.operator.Search(c.r.Context(), &r)
	if err != nil {
		return nil, err
	}
	next := ""
	if found.Next != 0 {
		next = strconv.FormatUint(uint64(found.Next), 10)
	}
	return a.jobList(found.Jobs, next), nil
}

// bulkActions are what can be done to many jobs at once.
var bulkActions = []string{"delete", "kick", "bury", "release", "move", "change"}

// bulk does something to all jobs that a query finds, or counts them.
func (a *api) bulk(c *call) (any, error) {
	q := c.innerQuery()
	action := c.bulkAction()
	dryRun := c.flag("dry_run")
	expected := int(c.number("expect", 0, 0, math.MaxInt32))
	if err := c.check(); err != nil {
		return nil, err
	}
	if dryRun {
		n, err := a.operator.Count(c.r.Context(), q)
		return finish(&operator.Outcome{Matched: n}, err)
	}
	var out operator.Outcome
	var err error
	if hand := c.by(a); c.has("expect") {
		out, err = hand.BulkExpecting(c.r.Context(), q, action, expected)
	} else {
		out, err = hand.Bulk(c.r.Context(), q, action)
	}
	return finish(&out, err)
}

// innerQuery reads the object that says which jobs are meant. It has to name
// something, so that nobody means all jobs of the server by accident.
func (c *call) innerQuery() *operator.Query {
	inner, ok := c.object("query")
	if !ok || len(inner.values)+len(inner.objects) == 0 {
		c.fault("query", "", "an object with at least one of the parameters of a search; all jobs have one of the states "+
			strings.Join(stateNames, ", "))
		return nil
	}
	q := inner.query()
	c.take(inner)
	return q
}

// bulkAction reads what to do, and what there is to know for it.
func (c *call) bulkAction() (action operator.Action) {
	name := c.choice("action", "", bulkActions...)
	c.need("action", "one of "+strings.Join(bulkActions, ", "))
	switch name {
	case "delete":
		action = operator.Delete(c.hold())
	case "kick":
		action = operator.Kick()
	case "bury":
		action = operator.Bury(c.hold())
	case "release":
		action = operator.Release(c.seconds("delay", 0, 0))
	case "move":
		to := c.tubeOf("tube")
		c.need("tube", "the tube to which the jobs go")
		action = operator.Move(to, c.hold())
	case "change":
		action = operator.Alter(c.alteration())
	}
	return action
}
