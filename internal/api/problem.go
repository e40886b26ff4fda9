package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/queue"
)

// problem is why a request was refused, as RFC 9457 has it.
type problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail"`
	Instance string `json:"instance"`
	// Errors are the parameters that are at fault.
	Errors []fault `json:"errors,omitempty"`
	// Holder is who holds the job.
	Holder *holder `json:"holder,omitempty"`
	// Outcome is what was done nevertheless, or found.
	*outcome
}

// fault is what is wrong with a parameter.
type fault struct {
	Parameter string `json:"parameter"`
	Value     string `json:"value,omitempty"`
	Allowed   string `json:"allowed"`
}

// Error is the detail.
func (p *problem) Error() string { return p.Detail }

// write answers with the problem.
func (p *problem) write(w http.ResponseWriter, r *http.Request) {
	if p.Type == "" {
		p.Type = "about:blank"
	}
	p.Title = http.StatusText(p.Status)
	p.Instance = r.URL.EscapedPath()
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client may have gone
}

// problemOf says which status the queue's refusals have.
var problemOf = []struct {
	err    error
	status int
}{
	{queue.ErrNoJob, http.StatusNotFound},
	{queue.ErrNoTube, http.StatusNotFound},
	{queue.ErrBadTube, http.StatusBadRequest},
	{queue.ErrReserved, http.StatusConflict},
	{queue.ErrNotReserved, http.StatusConflict},
	{queue.ErrNotKickable, http.StatusConflict},
	{queue.ErrDraining, http.StatusServiceUnavailable},
	{queue.ErrTooBig, http.StatusRequestEntityTooLarge},
	{queue.ErrNoRoom, http.StatusInsufficientStorage},
	{operator.ErrUnexpected, http.StatusConflict},
}

// describe makes a problem of an error.
func describe(err error) *problem {
	var p *problem
	if errors.As(err, &p) {
		return p
	}
	for _, known := range problemOf {
		if errors.Is(err, known.err) {
			return &problem{Status: known.status, Detail: sentence(err.Error())}
		}
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return &problem{Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf(
			"The content of the request is larger than the %d bytes that this call takes.", tooLarge.Limit)}
	}
	if errors.Is(err, context.Canceled) {
		return &problem{Status: http.StatusServiceUnavailable, Detail: "The server is stopping."}
	}
	// All else comes from the way into the loop, which is closed.
	return &problem{Status: http.StatusServiceUnavailable, Detail: sentence(err.Error())}
}

// refuse answers with a problem.
func (c *call) refuse(a *api, err error) {
	p := describe(err)
	switch {
	case p.Status == http.StatusServiceUnavailable:
		c.w.Header().Set("Retry-After", retryAfter)
	case errors.Is(err, queue.ErrReserved):
		p = c.held(a, p)
	}
	p.write(c.w, c.r)
}

// retryAfter is after how many seconds it may be worth trying again.
const retryAfter = "5"

// held adds to a problem who holds the job, and what to do about it.
func (c *call) held(a *api, p *problem) *problem {
	j, err := a.operator.Job(c.r.Context(), c.id, 0)
	if err != nil || j.State != queue.Reserved {
		return p
	}
	p.Holder = newHolders(a).of(j)
	p.Detail = fmt.Sprintf("Job %d is held by connection %d, for %.0f s so far.", c.id, p.Holder.Connection, p.Holder.HeldFor) + c.hint
	return p
}

// sentence makes a sentence of an error's text.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	if text[0] >= 'a' && text[0] <= 'z' {
		text = string(text[0]-'a'+'A') + text[1:]
	}
	return text + "."
}
