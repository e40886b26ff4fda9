// Package queue is the queue itself: tubes, jobs, and the clients that put and
// reserve them. It is a machine without moving parts of its own: no goroutine,
// no lock, no socket, no clock. Each call is told the time, changes the state,
// and appends to the replies what clients are to be told.
//
// A job's life:
//
//	                  put with delay              release with delay
//	                 ───────────────► delayed ◄──────────────────────┐
//	                                     │ due, kick                  │
//	   put                               ▼            reserve         │
//	─────────────────────────────────► ready ─────────────────► reserved ──► (deleted)
//	                                     ▲  ▲   release, time up,  │
//	                                     │  └──────────────────────┤
//	                                     │ kick     connection gone │ bury
//	                                     └────────── buried ◄───────┘
//
// A job can be deleted in any state, while reserved only by the client that
// holds it; reserve-job takes a job out of ready, delayed or buried.
//
// A reserve that has to wait is nothing special: it gets no reply now, and
// whichever later call makes a job ready, or lets its time run out, appends
// the reply to that client.
//
// After every call no tube that is not paused has both a ready job and a
// waiting client. [Machine.Check] verifies this and the rest of what must hold.
package queue
