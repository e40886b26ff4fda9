package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// DefaultPort is the port of a server whose address names none.
const DefaultPort = "11300"

// Defaults of a [Dialer].
const (
	DefaultDialTimeout    = 5 * time.Second
	DefaultCommandTimeout = 30 * time.Second
)

// A Dialer connects to servers. The zero value is ready to use.
//
// An address is one of
//
//	host, host:port        TCP, port 11300 if none is given
//	tcp:host:port          the same
//	tls:host:port          TLS over TCP
//	unix:/path, /path      a unix socket
type Dialer struct {
	// Timeout is how long connecting may take, TLS included. 0 means
	// [DefaultDialTimeout]; a context that ends earlier counts.
	Timeout time.Duration
	// CommandTimeout is how long a server may take to answer a command, beyond
	// the time that a reserve was told to wait. A server that takes longer is
	// given up and the connection closed. 0 means [DefaultCommandTimeout]. It is
	// kept to within a quarter.
	CommandTimeout time.Duration
	// TLS is used for tls: addresses; nil means Go's defaults. Where it has no
	// ServerName, the address's host is the name.
	TLS *tls.Config
	// Dial, if not nil, makes the connection instead of package net, for
	// proxies and networks of tests. TLS is put on top of it.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Dial connects to a server with a zero [Dialer].
func Dial(ctx context.Context, address string) (*Conn, error) {
	return new(Dialer).DialContext(ctx, address)
}

// DialContext connects to a server. The context is for the connecting only.
// beanstalkd sends no greeting, so that a server which accepts connections and
// does nothing else is found out only by the first command.
func (d *Dialer) DialContext(ctx context.Context, address string) (*Conn, error) {
	conn, err := d.dial(ctx, address)
	if err != nil {
		return nil, &Error{"dial", address, err}
	}
	c := NewConn(conn, address)
	if d.CommandTimeout != 0 {
		c.timeout = d.CommandTimeout
	}
	return c, nil
}

func (d *Dialer) dial(ctx context.Context, address string) (net.Conn, error) {
	to, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	timeout := d.Timeout
	if timeout == 0 {
		timeout = DefaultDialTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	dial := d.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	conn, err := dial(ctx, to.network, to.address)
	if err != nil || !to.tls {
		return conn, err
	}
	config := &tls.Config{}
	if d.TLS != nil {
		config = d.TLS.Clone()
	}
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(to.address)
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return secure, nil
}

// destination is an address taken apart.
type destination struct {
	network, address string
	tls              bool
}

func parseAddress(text string) (destination, error) {
	scheme, rest, found := strings.Cut(text, ":")
	rest = strings.TrimPrefix(rest, "//")
	switch {
	case strings.HasPrefix(text, "/"):
		return destination{"unix", text, false}, nil
	case found && scheme == "unix" && rest != "":
		return destination{"unix", rest, false}, nil
	case found && scheme == "tls":
		address, err := withPort(rest)
		return destination{"tcp", address, true}, err
	case found && scheme == "tcp":
		address, err := withPort(rest)
		return destination{"tcp", address, false}, err
	}
	address, err := withPort(text)
	return destination{"tcp", address, false}, err
}

// withPort adds the default port where there is none.
func withPort(text string) (string, error) {
	host, port, err := net.SplitHostPort(text)
	if err == nil && host != "" && port != "" {
		return text, nil
	}
	bare := strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	if bare == "" || strings.Contains(bare, ":") && net.ParseIP(bare) == nil {
		return "", fmt.Errorf("%q is not the address of a server", text)
	}
	return net.JoinHostPort(bare, DefaultPort), nil
}
