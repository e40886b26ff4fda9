// Package migration moves the jobs of a running server to another one, over the
// wire. It works with every server of the protocol on either side, and with
// workers and producers that go on.
//
// No job is ever at neither server: it is put at the destination first and then
// deleted at the source. An interruption between the two leaves it at both; a
// Map remembers which those are, so that the next run only deletes them.
package migration
