// Package load puts load on a server of the beanstalk protocol and measures what it gets through and what that costs it.
//
// One goroutine drives all connections by epoll, past Go's scheduler and without garbage, so that it takes little of the machine
// beside the server. The layers, from the wire up: a scanner of replies, clients with their sockets, a driver that turns what
// arrives into the commands that follow, roles that say which those are, and workloads that put roles together and say what counts.
// It works on Linux only.
package load
