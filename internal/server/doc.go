// Package server listens, and brings bytes between sockets and the engine.
//
// One goroutine, the loop, owns the engine and works in turns. What it waits
// for differs:
//
//   - On Linux the loop waits in epoll and reads and writes the sockets itself
//     (epoll_linux.go, socket_linux.go). A goroutine for each connection would
//     cost a wake-up for each command.
//   - Elsewhere, and for listeners that are no sockets of the system, each
//     connection has a goroutine that reads and one that writes (stream.go).
//     They hand what they have to the loop through its inbox.
//
// Both kinds of connection can be served by the same loop at the same time, and
// all that they do with what they read is in package engine.
package server
