// Package worker runs a command for every job of some tubes.
//
// Each of a number of places has a connection of its own, takes a job, runs the
// command, and ends the job as the command's exit status says, before it takes
// another one:
//
//	exit status 0                      the job is deleted
//	any other, a signal, a time limit  it is released with a delay that grows, or buried after the last try
//	the worker stops                   the command's process group is told to end, and the job is given back at once
//
// While the command runs its job is touched. A job that is no longer ours, because
// the connection or its time to run is over, is another worker's now: its command
// is stopped. So a command runs more than once for a job only after such a loss,
// or when the worker itself is killed.
package worker
