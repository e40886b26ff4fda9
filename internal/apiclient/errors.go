package apiclient

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Why a call failed.
var (
	// ErrNeeded: no address was given.
	ErrNeeded = errors.New("this needs haricot's API: start the server with --http ADDR, and give --api ADDR or HARICOT_API here; beanstalkd has none")
	// ErrAddress: the address is none.
	ErrAddress = errors.New("not the address of an API")
	// ErrNoAPI: something answers at the address, and it is not the API.
	ErrNoAPI = errors.New("what answers there is not haricot's API; it is where 'haricot serve --http' says")
	// ErrNotFound: there is no such tube or job.
	ErrNotFound = errors.New("not found")
	// ErrConflict: a client holds the job, it is in the wrong state, or there are other jobs than expected.
	ErrConflict = errors.New("conflict")
)

// ProblemError is a refusal of the API.
type ProblemError struct {
	Status int     `json:"status"`
	Title  string  `json:"title"`
	Detail string  `json:"detail"`
	Errors []Fault `json:"errors"`
	Outcome
}

// Fault is what is wrong with a parameter.
type Fault struct {
	Parameter string `json:"parameter"`
	Value     string `json:"value"`
	Allowed   string `json:"allowed"`
}

// Error is what the server says.
func (p *ProblemError) Error() string {
	text := strings.TrimSuffix(p.Detail, ".")
	if text == "" {
		text = p.Title
	}
	for _, f := range p.Errors {
		text += fmt.Sprintf("; %s %q: %s", f.Parameter, f.Value, f.Allowed)
	}
	return text
}

// Is tells whether it is [ErrNotFound] or [ErrConflict].
func (p *ProblemError) Is(target error) bool {
	return p.Status == http.StatusNotFound && target == ErrNotFound || p.Status == http.StatusConflict && target == ErrConflict
}
