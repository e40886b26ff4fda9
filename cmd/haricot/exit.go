package main

import (
	"errors"

	"github.com/haricotq/haricot/internal/service"
)

// Exit statuses. From 5 on they are beanstalkd's, since init scripts and packages look at them. A second stop signal adds 128 plus
// its number.
const (
	exitOK         = 0
	exitInternal   = 1   // the server failed while it ran, or a command did
	exitUsage      = 2   // the command line is wrong
	exitNothing    = 3   // what was asked for is not there
	exitTimeout    = 4   // it did not happen in time
	exitFlags      = 5   // the command line of serve is wrong
	exitStore      = 10  // the directory of -b cannot be used
	exitUserLookup = 32  // the user database cannot be read
	exitNoUser     = 33  // the user of -u does not exist
	exitSwitchUser = 34  // the system does not let the process become the user of -u
	exitSocket     = 111 // a socket cannot be had
	exitSignal     = 128
)

// errAnswered ends a command line whose question has been answered while it was read: -h or -v.
var errAnswered = errors.New("answered")

// failure is the end of a command that did not succeed.
type failure struct {
	error
	code int
	told bool // told says that the person knows already, through the log.
}

func (f *failure) Unwrap() error { return f.error }

// nothing marks an error as one that says that something is not there.
func nothing(err error) *failure { return &failure{error: err, code: exitNothing} }

// usage marks an error as a fault of the command line.
func usage(err error) *failure { return &failure{error: err, code: exitUsage} }

// failed finds the failure in the outcome of a command, nil if there is none.
func failed(err error) *failure {
	if err == nil || errors.Is(err, errAnswered) {
		return nil
	}
	if f, ok := errors.AsType[*failure](err); ok {
		return &failure{error: err, code: f.code, told: f.told} // what is around it is to be told too
	}
	return &failure{error: err, code: exitInternal}
}

// userStatus is the exit status for an error of package service about users.
func userStatus(err error) int {
	switch {
	case errors.Is(err, service.ErrNoSuchUser):
		return exitNoUser
	case errors.Is(err, service.ErrUserLookup):
		return exitUserLookup
	default:
		return exitSwitchUser
	}
}
