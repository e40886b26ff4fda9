// Package client talks to haricot, beanstalkd and every other server of the beanstalk
// protocol. It has been tested against beanstalkd 1.12, knows what 1.10 to 1.13 do
// differently, and depends on the standard library only.
//
// # The pieces
//
//   - [Conn] is one connection with every command of the protocol.
//   - [Pool] is connections to one or more servers, made and made again as needed. This
//     is what most programs want for putting jobs.
//   - [Worker] reserves jobs through a pool and hands them to a [Handler] for each tube.
//   - [Tube] is a tube whose jobs are values of a Go type, for a pool and a worker.
//   - [Scheduler], or [WorkerConfig.Periodic], puts jobs again and again.
//   - Package clienttest is a server for tests; package client/otel, a module of its own,
//     reports to OpenTelemetry.
//
// The first example below is a whole worker; for a first job,
//
//	pool, err := client.NewPool(client.Config{Servers: []string{"localhost"}})
//	...
//	ref, err := pool.Put(ctx, "emails", []byte("hello"))
//
// # What is promised about jobs
//
// Delivery is at least once, and in detail:
//
//   - A put that has returned nil is in the tube.
//   - A put that has returned an error is not, with two exceptions: [ErrBuried], and
//     [ErrUncertain], after which nobody knows. Putting it again may make two of it, and
//     [Config.RepeatUncertainPuts] does so.
//   - A reserved job is its connection's until it is deleted, released or buried. When the
//     connection ends in any way, or the job's time to run does, the server gives the job to
//     somebody else. No job is lost by a context that ends, at whatever moment.
//   - A [Worker] deletes a job after its handler has returned nil, and never before. The
//     job is handled again if the worker could not delete it any more: [Lost].
//   - Without faults each job is handled once.
//
// What the server itself loses, as one without a log does with everything when it
// stops, is beyond a client.
//
// # Units and limits
//
// Durations are [time.Duration] and go over the wire in whole seconds, rounded up.
// Priorities are from 0, the most urgent, to 2³²-1. Bodies are bytes, any of them, up to the
// server's limit: 65535 unless it was told otherwise. Tubes are named as [ErrTubeName]
// says. Ids begin at 1 and are one server's own; [Ref] names a job among several.
//
// # Compatibility
//
// Within a major version of the module, what is exported here stays: see docs/client.md
// for what that includes. The file api.txt lists all of it, and a test compares.
package client
