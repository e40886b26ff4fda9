// Package transfer brings jobs out of a store and into one: as lines of JSON,
// and from the log of a beanstalkd.
//
// What is read stands still while it is read (Source). What is written is there
// as a whole or not at all: a new store is made within its directory and moved
// to its place when it is complete, and what was added to an old one is taken
// back after an error.
package transfer
