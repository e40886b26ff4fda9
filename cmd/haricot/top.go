package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/haricotq/haricot/internal/terminal"
	"github.com/haricotq/haricot/internal/top"
)

// topCommand shows the tubes on a full screen. It has the flags of serverFlags, but for --json: programs have other commands.
type topCommand struct {
	Addr     string   `env:"HARICOT_ADDR" default:"127.0.0.1:11300" placeholder:"ADDR" help:"The server: HOST, HOST:PORT or unix:PATH. Default: 127.0.0.1:11300."`
	Timeout  span     `default:"10s" placeholder:"TIME" help:"How long the server may take to answer. Default: 10s."`
	Interval interval `default:"2s" placeholder:"TIME" help:"How often to look at the server: 2s, 500ms, or a number of seconds. Default: 2s."`
}

// Help is the second part of the help page.
func (*topCommand) Help() string {
	return "A table of the tubes that can be sorted by each column, filtered and scrolled with the keys of top and htop; the last line names the " +
		"most needed, and F1, h or ? explains all. Enter shows a tube with the jobs that are next in it, where p pauses it and k kicks jobs. " +
		"When the server goes away, it is tried again each second. NO_COLOR in the environment, if not empty, keeps colours away."
}

// interval is the time between two looks.
type interval time.Duration

// UnmarshalText reads an interval.
func (i *interval) UnmarshalText(text []byte) error {
	d, err := top.ParseInterval(string(text))
	*i = interval(d)
	return err
}

// Run shows them.
func (c *topCommand) Run(p *process) error {
	stdin, _ := p.stdin.(io.Writer) // It is a terminal only if it is a file.
	if !terminal.Is(p.stdout) || !terminal.Is(stdin) {
		return usage(errors.New("top needs a terminal; use haricot stats or tubes"))
	}
	ctx, stop := untilSignal()
	defer stop()
	server := serverFlags{Addr: c.Addr, Timeout: c.Timeout}
	conn, err := server.dial(ctx)
	if err != nil {
		return err
	}
	err = top.Run(ctx, top.Config{
		Address: c.Addr, Conn: conn, Interval: time.Duration(c.Interval),
		Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
			conn, err := server.dial(ctx)
			if cause, ok := errors.AsType[*net.OpError](err); ok {
				err = cause // The address is on the screen, and advice about flags is of no use there.
			}
			return conn, err
		},
	})
	if errors.Is(err, top.ErrTerminal) {
		return usage(fmt.Errorf("%w; use haricot stats or tubes", err))
	}
	return err
}
