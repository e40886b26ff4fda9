// Package engine carries out what clients say, in turns.
//
// A turn takes all input that is there, applies it to the queue, and sends all
// replies that came of it, one write for each connection:
//
//	Begin(now) ─► what is due ─► Session.Receive, End, … ─► Finish ─► Conn.Send
//
// No reply leaves before Finish. So a store that commits the turn's changes
// once, at the start of Finish, makes every reply durable before it is sent.
//
// The engine starts no goroutine and knows no socket. It belongs to one owner,
// the loop of package server, and so do its sessions.
package engine
