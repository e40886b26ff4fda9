package service

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// maxSocketPath is the longest path of a unix socket in bytes: sun_path holds 108 on Linux, its final zero included.
const maxSocketPath = 107

// Address is one place to listen at. Its zero value is every address of the machine, at a port that the system chooses.
type Address struct {
	Host string // Host is a name or an IP address without brackets; empty means every address, IPv4 and IPv6.
	Port int    // Port is from 0 to 65535; 0 lets the system choose.
	Path string // Path is that of a unix socket; if it is set, Host and Port mean nothing.
}

// ParseAddress reads an address as it is given to -l: unix:PATH, a host name, or an IP address (IPv6 with or without brackets).
// It resolves no name. The port is the same for all addresses of a server, so it comes apart from them.
func ParseAddress(s string, port int) (Address, error) {
	if path, ok := strings.CutPrefix(s, "unix:"); ok {
		switch {
		case path == "":
			return Address{}, fmt.Errorf("%q names no path; write unix:PATH", s)
		case len(path) > maxSocketPath:
			return Address{}, fmt.Errorf("the socket path %s is too long: it has %d bytes and may have %d; choose a shorter one",
				path, len(path), maxSocketPath)
		}
		return Address{Path: path}, nil
	}
	if s == "" {
		return Address{}, fmt.Errorf("the address is empty; leave -l out to listen on all addresses")
	}
	host := s
	if inner, ok := strings.CutPrefix(s, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		ip, err := netip.ParseAddr(inner)
		if !ok || err != nil || !ip.Is6() {
			return Address{}, fmt.Errorf("%q is no IPv6 address in brackets; the port goes to -p", s)
		}
		host = inner
	}
	return Address{Host: host, Port: port}, nil
}

// ParsePort reads a port as it is given to -p: a number from 0 to 65535 or the name of a TCP service.
func ParsePort(ctx context.Context, s string) (int, error) {
	const remedy = "give a number from 0 to 65535 or a service name"
	if s == "" {
		return 0, fmt.Errorf("the port is empty; %s", remedy)
	}
	port, err := net.DefaultResolver.LookupPort(ctx, "tcp", s)
	if err != nil {
		return 0, fmt.Errorf("%q is no port; %s", s, remedy)
	}
	return port, nil
}

// String writes the address as it appears in logs: host:port, [host]:port or unix:PATH.
func (a Address) String() string {
	if a.Path != "" {
		return "unix:" + a.Path
	}
	return net.JoinHostPort(a.Host, strconv.Itoa(a.Port))
}

// network is the name that package net wants. Go takes 0.0.0.0 with "tcp" as every address of both families; somebody who
// writes an IPv4 address wants IPv4 only.
func (a Address) network() string {
	if ip, err := netip.ParseAddr(a.Host); err == nil && ip.Is4() {
		return "tcp4"
	}
	return "tcp"
}
