package main

import (
	"errors"
	"strings"
	"time"

	"github.com/haricotq/haricot/internal/apiclient"
)

// queryFlags say which jobs of all are meant.
type queryFlags struct {
	State    []string `enum:"ready,reserved,delayed,buried" placeholder:"STATE" help:"Jobs in this state: ready, reserved, delayed or buried, or several of these with commas between."`
	Match    string   `placeholder:"TEXT" help:"Jobs whose body contains this text."`
	Field    string   `placeholder:"NAME[=VALUE]" help:"Jobs whose body is JSON that has this member, with this value: user.id=17, for instance."`
	MinAge   span     `default:"0" placeholder:"TIME" help:"Jobs that were put so long ago or longer."`
	MaxAge   span     `default:"0" placeholder:"TIME" help:"Jobs that were put so long ago or less."`
	MinTries int      `default:"0" placeholder:"N" help:"Jobs that were reserved so often or more."`
	MaxTries *int     `placeholder:"N" help:"Jobs that were reserved so often or less."`
}

// searches tells whether it takes a search, or lists will do.
func (f *queryFlags) searches() bool {
	return f.Match != "" || f.Field != "" || f.MinAge > 0 || f.MaxAge > 0 || f.MinTries > 0 || f.MaxTries != nil
}

// query makes a query of them.
func (f *queryFlags) query(tube tubeName) (*apiclient.Query, error) {
	if f.MinTries < 0 || f.MaxTries != nil && *f.MaxTries < 0 {
		return nil, usage(errors.New("--min-tries and --max-tries cannot be negative"))
	}
	q := &apiclient.Query{
		Tube: string(tube), States: f.State, Contains: f.Match,
		MinAge: time.Duration(f.MinAge), MaxAge: time.Duration(f.MaxAge), MinTries: f.MinTries, MaxTries: f.MaxTries,
	}
	name, value, valued := strings.Cut(f.Field, "=")
	q.Field = name
	if valued {
		q.Value = &value
	}
	return q, nil
}
