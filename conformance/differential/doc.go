// Package differential drives haricot and the reference server, beanstalkd 1.12, in lockstep: the same random session goes to both,
// and after every step all replies on all connections, and the whole of stats, must be equal.
//
// The package holds tests only. A session (session_test.go) is a list of steps on a handful of connections; a step opens, closes or
// half-closes a connection, or sends it commands, good and bad ones (vocabulary_test.go). The lockstep (lockstep_test.go) plays a step
// on both servers, waits until both have nothing more to say, and compares. What may differ, and why, is the tables of
// leeway_test.go; everything else is a failure, which is then shrunk to a short trace (shrink_test.go).
//
//	go test ./conformance/differential                          # a few thousand steps
//	go test ./conformance/differential -steps 200000 -seed 7    # a long run
//	go test ./conformance/differential -timed 40 -run Timers    # more of the sessions about times (timed_test.go)
//	go test ./conformance/differential -server ./haricot        # a program instead of the package in this process
//	go test ./conformance/differential -network unix            # over unix sockets
//	go test ./conformance/differential -seed 7 -episode 12      # one episode again, as a failure report names it
package differential
