// Package protocol is the wire language of the queue: what a client may say,
// what the server answers, and the bytes of both.
//
// It knows no socket and no queue. [Decoder] takes bytes in whatever pieces
// they arrive and yields one [Command] after another; the Append functions
// turn answers into bytes. The grammar is one table, [Verb] by verb, in
// grammar.go: to add a command is to add a row there.
//
// docs/protocol.md is the same language described for people.
package protocol
