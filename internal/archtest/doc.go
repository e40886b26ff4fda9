// Package archtest holds tests only: they keep the program to ARCHITECTURE.md and to the house rules that a compiler
// does not know. Each failure names the file, the rule and what to do about it.
//
// The tests read the sources themselves rather than ask the go command, so that every operating system's files are
// seen at once, and so that `go test` knows on which files a cached result rests.
package archtest
