package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/haricotq/haricot/internal/remote"
	"github.com/haricotq/haricot/internal/wire"
)

// serverFlags say which server a command is for, and how its answer is to look.
type serverFlags struct {
	Addr    string `env:"HARICOT_ADDR" default:"127.0.0.1:11300" placeholder:"ADDR" help:"The server: HOST, HOST:PORT or unix:PATH. Default: 127.0.0.1:11300."`
	Timeout span   `default:"10s" placeholder:"TIME" help:"How long the server may take to answer. Default: 10s."`
	JSON    bool   `name:"json" help:"Print lines of JSON."`
}

// with connects, does something and disconnects.
func (f *serverFlags) with(do func(s *remote.Server) error) error {
	conn, err := f.dial(context.Background())
	if err != nil {
		return err
	}
	s := remote.New(conn)
	err = do(s)
	return f.explain(errors.Join(err, s.Close()))
}

// dial connects to the server.
func (f *serverFlags) dial(ctx context.Context) (net.Conn, error) {
	network, target := destination(f.Addr)
	ctx, cancel := context.WithTimeout(ctx, time.Duration(f.Timeout))
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, network, target)
	if err == nil {
		return &patientConn{conn, time.Duration(f.Timeout)}, nil
	}
	code := exitInternal
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		code = exitTimeout
	}
	return nil, &failure{error: fmt.Errorf("no server can be reached at %q: %w; name one with --addr or HARICOT_ADDR", f.Addr, err), code: code}
}

// explain gives an error of a server its exit status, and says what was too much for a person's patience.
func (f *serverFlags) explain(err error) error {
	switch _, told := errors.AsType[*failure](err); {
	case err == nil || told:
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &failure{
			error: fmt.Errorf("the server at %q has not answered for %v; --timeout gives it more time", f.Addr, time.Duration(f.Timeout)), code: exitTimeout,
		}
	case errors.Is(err, remote.ErrNotFound):
		return nothing(err)
	}
	if _, ok := errors.AsType[*net.OpError](err); ok || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, wire.ErrReply) {
		return fmt.Errorf("the server at %q: %w", f.Addr, err)
	}
	return err
}

// destination takes an address apart as package net wants it.
func destination(address string) (network, target string) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return "unix", path
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return "tcp", net.JoinHostPort(strings.Trim(address, "[]"), defaultPort)
	}
	return "tcp", address
}

// patientConn is a connection on which each read and each write may take some time, and no longer.
type patientConn struct {
	net.Conn
	limit time.Duration
}

// Read reads.
func (c *patientConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.limit)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write writes.
func (c *patientConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.limit)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
