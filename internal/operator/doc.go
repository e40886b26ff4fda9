// Package operator is what people and their tools do with a running server, by
// whatever way they come: look at tubes, jobs and clients, search, and change
// what they find.
//
// Everything goes through the server's loop in steps so short that clients do
// not notice them. So nothing here is a snapshot: a list of jobs has each that
// was in its place from the first step to the last, once, and may have others.
//
// Looking is what an [Operator] does; changing takes a [Hand], which notes in
// the log who it was.
package operator
