package apiclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Job is what commands show of a job in a table. Raw is all that the API says of it.
type Job struct {
	ID       uint64  `json:"id"`
	Tube     string  `json:"tube"`
	State    string  `json:"state"`
	Priority uint32  `json:"pri"`
	Age      float64 `json:"age"`       // seconds
	TimeLeft float64 `json:"time_left"` // seconds
	Reserves uint32  `json:"reserves"`
	Body     string  `json:"body"`
	Base64   []byte  `json:"body_base64"`

	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text.
func (j *Job) UnmarshalJSON(text []byte) error {
	type plain Job
	err := json.Unmarshal(text, (*plain)(j))
	j.Raw = append(json.RawMessage(nil), text...)
	return err
}

// jobPage is a page of a list of jobs.
type jobPage struct {
	Jobs []*Job `json:"jobs"`
	Next string `json:"next"`
}

// Jobs lists the jobs of a tube in a state, in their order, page by page. bodyLimit is how many bytes of each body are wanted.
func (c *Client) Jobs(ctx context.Context, tube, state string, bodyLimit int) iter.Seq2[*Job, error] {
	query := url.Values{"state": {state}, "body_limit": {strconv.Itoa(bodyLimit)}}
	return c.pages(ctx, "/tubes/"+url.PathEscape(tube)+"/jobs", query)
}

// Search lists the jobs that a query finds, in no particular order.
func (c *Client) Search(ctx context.Context, q *Query, bodyLimit int) iter.Seq2[*Job, error] {
	query := q.values()
	query.Set("body_limit", strconv.Itoa(bodyLimit))
	return c.pages(ctx, "/jobs", query)
}

func (c *Client) pages(ctx context.Context, path string, query url.Values) iter.Seq2[*Job, error] {
	return func(yield func(*Job, error) bool) {
		for {
			var page jobPage
			if err := c.get(ctx, path, query, &page); err != nil {
				yield(nil, err)
				return
			}
			for _, job := range page.Jobs {
				if !yield(job, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			query.Set("cursor", page.Next)
		}
	}
}

// Query says which jobs are meant. What is not set does not matter.
type Query struct {
	Tube           string
	States         []string
	Contains       string // a part of the body
	Field          string // of a body in JSON
	Value          *string
	MinAge, MaxAge time.Duration
	MinTries       int
	MaxTries       *int
}

func (q *Query) values() url.Values {
	v := url.Values{}
	set := func(name, text string, set bool) {
		if set {
			v.Set(name, text)
		}
	}
	set("tube", q.Tube, q.Tube != "")
	if len(q.States) > 0 {
		v["state"] = q.States
	}
	set("q", q.Contains, q.Contains != "")
	set("field", q.Field, q.Field != "")
	if q.Value != nil {
		v.Set("value", *q.Value)
	}
	seconds := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
	set("min_age", seconds(q.MinAge), q.MinAge > 0)
	set("max_age", seconds(q.MaxAge), q.MaxAge > 0)
	set("min_tries", strconv.Itoa(q.MinTries), q.MinTries > 0)
	if q.MaxTries != nil {
		v.Set("max_tries", strconv.Itoa(*q.MaxTries))
	}
	return v
}

// members are the same in JSON, where numbers are numbers.
func (q *Query) members() map[string]any {
	members := map[string]any{}
	for name, texts := range q.values() {
		switch name {
		case "state":
			members[name] = texts
		case "min_age", "max_age", "min_tries", "max_tries":
			members[name] = json.Number(texts[0])
		default:
			members[name] = texts[0]
		}
	}
	return members
}

// Outcome counts what has come of a change to many jobs.
type Outcome struct {
	Matched int `json:"matched"`
	Done    int `json:"done"`
	Skipped int `json:"skipped"`
}

// Parameters are those of an action, by their names in the API. A delay and a ttr are in seconds.
type Parameters map[string]any

// Count tells how many jobs a query finds.
func (c *Client) Count(ctx context.Context, q *Query) (int, error) {
	var o Outcome
	err := c.change(ctx, http.MethodPost, "/jobs/bulk", Parameters{"query": q.members(), "action": "delete", "dry_run": true}, &o)
	return o.Matched, err
}

// Bulk does something to all jobs that a query finds, if they are as many as expected: delete, kick, bury, release, move or change.
func (c *Client) Bulk(ctx context.Context, q *Query, action string, p Parameters, expected int) (o Outcome, err error) {
	all := Parameters{"query": q.members(), "action": action, "expect": expected}
	for name, value := range p {
		all[name] = value
	}
	err = c.change(ctx, http.MethodPost, "/jobs/bulk", all, &o)
	if p, ok := errors.AsType[*ProblemError](err); ok {
		o = p.Outcome
	}
	return o, err
}

// Do does something to a job: kick, bury, release or move, with parameters, or delete.
func (c *Client) Do(ctx context.Context, id uint64, action string, p Parameters) error {
	path := "/jobs/" + strconv.FormatUint(id, 10)
	if action == "delete" {
		if p["force"] == true {
			path += "?force=true"
		}
		return c.call(ctx, http.MethodDelete, path, nil, nil)
	}
	return c.change(ctx, http.MethodPost, path+"/"+action, p, nil)
}

// Clear deletes all jobs of a tube that are in some states.
func (c *Client) Clear(ctx context.Context, tube string, states []string, force bool) (o Outcome, err error) {
	p := Parameters{"state": states}
	if force {
		p["force"] = true
	}
	err = c.change(ctx, http.MethodPost, "/tubes/"+url.PathEscape(tube)+"/clear", p, &o)
	return o, err
}

// Connection is what commands show of a connection in a table. Raw is all that the API says of it.
type Connection struct {
	ID          uint64   `json:"id"`
	Address     string   `json:"address"`
	PID         int      `json:"pid"`
	Age         float64  `json:"age"` // seconds
	Producer    bool     `json:"producer"`
	Worker      bool     `json:"worker"`
	Waiting     bool     `json:"waiting"`
	Uses        string   `json:"uses"`
	Watches     []string `json:"watches"`
	HoldCount   int      `json:"hold_count"`
	LongestHeld float64  `json:"longest_held"` // seconds

	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text.
func (n *Connection) UnmarshalJSON(text []byte) error {
	type plain Connection
	err := json.Unmarshal(text, (*plain)(n))
	n.Raw = append(json.RawMessage(nil), text...)
	return err
}

// Connections lists the connections.
func (c *Client) Connections(ctx context.Context) ([]*Connection, error) {
	var list struct {
		Connections []*Connection `json:"connections"`
	}
	err := c.get(ctx, "/connections", nil, &list)
	return list.Connections, err
}

// TubeCounts are how many jobs a tube has in which state.
type TubeCounts struct {
	Ready    int `json:"ready"`
	Reserved int `json:"reserved"`
	Delayed  int `json:"delayed"`
	Buried   int `json:"buried"`
}

// Tube asks for the counts of a tube.
func (c *Client) Tube(ctx context.Context, tube string) (counts TubeCounts, err error) {
	err = c.get(ctx, "/tubes/"+url.PathEscape(tube), nil, &counts)
	return counts, err
}

// In is the count of a state.
func (t *TubeCounts) In(state string) (int, error) {
	switch state {
	case "ready":
		return t.Ready, nil
	case "reserved":
		return t.Reserved, nil
	case "delayed":
		return t.Delayed, nil
	case "buried":
		return t.Buried, nil
	}
	return 0, fmt.Errorf("apiclient: there is no state %q", state)
}
