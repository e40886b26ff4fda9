package main

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/haricotq/haricot/internal/apiclient"
)

// apiFlag says where haricot's JSON API is, for what the protocol cannot do.
type apiFlag struct {
	API string `name:"api" env:"HARICOT_API" placeholder:"ADDR" help:"The server's JSON API: http://HOST:PORT, HOST:PORT or unix:PATH, as 'haricot serve --http' has it."`
}

// apiFlags are those of a command that needs the API and nothing else.
type apiFlags struct {
	apiFlag
	Timeout span `default:"10s" placeholder:"TIME" help:"How long the server may take to answer. Default: 10s."`
	JSON    bool `name:"json" help:"Print lines of JSON."`
}

// changePatience is how long a change to many jobs may take.
const changePatience = time.Hour

// with does something with the API.
func (f *apiFlag) with(patience time.Duration, do func(ctx context.Context, c *apiclient.Client) error) error {
	c, err := apiclient.New(f.API, patience)
	if err != nil {
		return usage(err)
	}
	defer c.Close()
	ctx, stop := untilSignal()
	defer stop()
	return explainAPI(do(ctx, c))
}

// explainAPI gives an error of the API its exit status.
func explainAPI(err error) error {
	if _, told := errors.AsType[*failure](err); err == nil || told {
		return err
	}
	if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
		return &failure{error: err, code: exitTimeout}
	}
	if errors.Is(err, apiclient.ErrNotFound) {
		return nothing(err)
	}
	return interrupted(err)
}
