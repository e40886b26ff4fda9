// Package sim has tests of the whole: of the engine with everything around it
// played, and of real processes on real disks that are killed, filled up and
// kept busy for long. It has no code of its own.
//
// Tests that can go on for hours take how long from flags, see
// `go test ./sim -args -h`; by default they are short.
package sim
