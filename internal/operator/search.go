package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/tidwall/gjson"

	"github.com/haricotq/haricot/internal/engine"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// Query says which jobs are looked for; the zero value is all.
type Query struct {
	// Job is one job by its id; 0 is any.
	Job protocol.JobID
	// Tube is a tube by its name; empty is any.
	Tube   string
	States queue.States
	// OlderThan and YoungerThan bound how long ago a job was put; 0 is no bound.
	OlderThan, YoungerThan time.Duration
	// MinTries and MaxTries bound how often a job was reserved; nil is no bound.
	MinTries uint32
	MaxTries *uint32
	// Contains has to be a part of the body; empty is any.
	Contains string
	// Field names a value in a body that is JSON, in the syntax of gjson, such as
	// user.id; empty is any body. If Value is set the field has to be that.
	Field string
	Value *string
}

// selection is the part of the query that the queue can answer by itself.
func (q *Query) selection(now queue.Instant) queue.Selection {
	s := queue.Selection{Tube: q.Tube, States: q.States, MinTries: q.MinTries, MaxTries: q.MaxTries}
	if q.OlderThan > 0 {
		s.Newest = now - queue.Instant(q.OlderThan)
	}
	if q.YoungerThan > 0 {
		s.Oldest = now - queue.Instant(q.YoungerThan)
	}
	return s
}

func (q *Query) readsBodies() bool { return q.Contains != "" || q.Field != "" }

// matches tells whether a body is one that is looked for.
func (q *Query) matches(body []byte) bool {
	if q.Contains != "" && !bytes.Contains(body, []byte(q.Contains)) {
		return false
	}
	if q.Field == "" {
		return true
	}
	// Not gjson's own check: a body of millions of brackets ends the process in it.
	if !json.Valid(body) {
		return false
	}
	value := gjson.GetBytes(body, q.Field)
	return value.Exists() && (q.Value == nil || value.String() == *q.Value)
}

// SearchRequest says what is looked for and how much of it is wanted.
type SearchRequest struct {
	Query
	// From is where the search goes on, as the last one has told; 0 is the start.
	From queue.Position
	// Limit is how many jobs are wanted, BodyLimit how much of the body of each.
	Limit     int
	BodyLimit int
	// Patience is how long the search may take; it tells then where to go on.
	Patience time.Duration
}

// Found is what a search has found.
type Found struct {
	Jobs []*Job
	// Next is where to go on; 0 if everything has been looked at.
	Next queue.Position
}

// Search finds jobs, in no particular order.
func (o *Operator) Search(ctx context.Context, r *SearchRequest) (*Found, error) {
	f := &Found{}
	s := searcher{Operator: o, query: &r.Query, at: r.From, until: o.now().Add(r.Patience)}
	err := s.each(ctx, func(id protocol.JobID) (more bool, err error) {
		j, err := o.found(ctx, id, r.BodyLimit)
		if j != nil {
			f.Jobs = append(f.Jobs, j)
		}
		return len(f.Jobs) < r.Limit, err
	})
	f.Next = s.at
	return f, err
}

// Matching lists the ids of all jobs that are looked for, at most limit of
// them; more tells that there are others.
func (o *Operator) Matching(ctx context.Context, q *Query, limit int) (ids []protocol.JobID, more bool, err error) {
	s := searcher{Operator: o, query: q}
	err = s.each(ctx, func(id protocol.JobID) (bool, error) {
		ids = append(ids, id)
		return len(ids) <= limit, nil
	})
	if len(ids) > limit {
		return ids[:limit], true, err
	}
	return ids, false, err
}

// found is Job, and nil if the job has gone.
func (o *Operator) found(ctx context.Context, id protocol.JobID, limit int) (*Job, error) {
	j, err := o.Job(ctx, id, limit)
	if errors.Is(err, queue.ErrNoJob) {
		return nil, nil //nolint:nilnil // that it has gone is what was asked
	}
	return j, err
}

// searcher goes through all jobs. Bodies are copied in the loop and looked at
// outside of it.
type searcher struct {
	*Operator
	query *Query
	at    queue.Position // where to go on
	until time.Time      // when to stop; zero is never

	candidates []candidate
	bodies     []byte // of the candidates that have one
}

// candidate is a job that matches as far as the queue can tell.
type candidate struct {
	id   protocol.JobID
	at   queue.Position
	body int // where its body ends in bodies; -1 if it has to be fetched
}

// wholeBodies is up to how many bytes of bodies a step copies; a longer body is
// fetched by itself.
const wholeBodies = 64 << 10

// each calls visit with jobs that match until it wants no more. s.at is then
// behind the last one visited.
func (s *searcher) each(ctx context.Context, visit func(protocol.JobID) (more bool, err error)) error {
	if s.query.Job != 0 {
		return s.one(ctx, visit)
	}
	for {
		if err := s.step(ctx); err != nil {
			return err
		}
		next, from := s.at, 0
		for _, c := range s.candidates {
			body := s.bodies[from:max(from, c.body)]
			from = max(from, c.body)
			match, err := s.match(ctx, c, body)
			if err != nil {
				return err
			}
			more := true
			if match {
				more, err = visit(c.id)
			}
			// To fetch bodies one by one may take long.
			if err != nil || !more || c.body < 0 && s.late() {
				s.at = c.at + 1
				return err
			}
		}
		if s.at = next; next == 0 || s.late() {
			return nil
		}
	}
}

// late tells whether patience is at its end.
func (s *searcher) late() bool { return !s.until.IsZero() && s.now().After(s.until) }

// one looks at the one job that is asked for.
func (s *searcher) one(ctx context.Context, visit func(protocol.JobID) (more bool, err error)) error {
	s.at = 0
	selected := false
	err := s.door.Operate(func(t *engine.Turn) {
		selection := s.query.selection(t.Now)
		selected = t.Selects(s.query.Job, &selection)
	})
	if err != nil || !selected {
		return err
	}
	match, err := s.match(ctx, candidate{id: s.query.Job, body: -1}, nil)
	if match {
		_, err = visit(s.query.Job)
	}
	return err
}

// step collects candidates, until there is no room for the body of the next.
func (s *searcher) step(ctx context.Context) error {
	s.candidates, s.bodies = s.candidates[:0], s.bodies[:0]
	full := queue.Position(0) // the first job for which there is no room
	_, err := s.Operator.step(ctx, func(t *engine.Turn) (more bool) {
		selection := s.query.selection(t.Now)
		s.at = t.Walk(s.at, portion, &selection, func(at queue.Position, rank queue.Rank) {
			if full != 0 {
				return
			}
			if end, ok := s.copyBody(t, rank.ID); ok {
				s.candidates = append(s.candidates, candidate{rank.ID, at, end})
			} else {
				full = at
			}
		})
		if full != 0 {
			s.at = full
		}
		return full == 0 && s.at != 0
	})
	return err
}

// copyBody keeps a job's body, if it is wanted, and returns where it ends, or -1
// if it has to be fetched. It returns false if there is no room beside others.
func (s *searcher) copyBody(t *engine.Turn, id protocol.JobID) (end int, ok bool) {
	if !s.query.readsBodies() {
		return 0, true
	}
	v, _ := t.Job(id)
	from, size := len(s.bodies), int(v.Size)
	switch {
	case v.Away || size > wholeBodies:
		return -1, true
	case from+size > wholeBodies:
		return 0, false
	}
	s.bodies = append(s.bodies, make([]byte, size)...)
	t.Body(id, 0, s.bodies[from:])
	return len(s.bodies), true
}

// match tells whether a candidate's body matches.
func (s *searcher) match(ctx context.Context, c candidate, body []byte) (bool, error) {
	if !s.query.readsBodies() {
		return true, nil
	}
	if c.body < 0 {
		j, err := s.found(ctx, c.id, maxBody)
		if j == nil || err != nil {
			return false, err
		}
		body = j.Body
	}
	return s.query.matches(body), nil
}

// maxBody is no limit to how much of a body is read.
const maxBody = int(protocol.MaxJobSizeLimit)
