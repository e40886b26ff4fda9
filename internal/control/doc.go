// Package control is how haricot's tools talk to the server that has a store
// open: over a unix socket in the store's directory, which only the server's
// user, and root, may use.
//
// A client sends one word a line and gets one line back:
//
//	checkpoint     the server makes a checkpoint of its store and answers
//	               "ok NAME", a directory beside the socket, or "error TEXT"
//
// A checkpoint is the client's until its connection ends. Then the server
// removes it, whatever has become of the client.
package control
