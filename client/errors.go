package client

import (
	"errors"
	"fmt"

	"github.com/haricotq/haricot/internal/protocol"
)

// What a server refuses. Each stands for the reply word of the same name, and
// the connection goes on after it.
var (
	// ErrNotFound: there is no such job or tube, or the job is not in a state
	// that the command takes, such as one that somebody else holds.
	ErrNotFound = errors.New("not found")
	// ErrTimedOut: no job became ready in the time given.
	ErrTimedOut = errors.New("timed out, no job became ready")
	// ErrDeadlineSoon: the connection holds a job whose time to run ends within
	// a second, and no other job is ready. Finish or touch it, then go on.
	ErrDeadlineSoon = errors.New("a job held by this connection runs out of time within a second")
	// ErrDraining: the server takes no new jobs.
	ErrDraining = errors.New("the server is draining and takes no new jobs")
	// ErrJobTooBig: the body is larger than the server allows.
	ErrJobTooBig = errors.New("the body is larger than the server allows")
	// ErrBuried: the server took the job but had to bury it, because it was
	// short of memory.
	ErrBuried = errors.New("the server was short of memory and buried the job")
	// ErrNotIgnored: the only tube of a watch list cannot be ignored.
	ErrNotIgnored = errors.New("the only tube watched cannot be ignored")
	// ErrOutOfMemory: the server has no room, in memory or in its log.
	ErrOutOfMemory = errors.New("the server is out of memory")
	// ErrInternal: the server reports a fault of its own.
	ErrInternal = errors.New("the server reports an internal error")
	// ErrUnknownCommand: the server is too old for the command.
	ErrUnknownCommand = errors.New("the server does not know the command")
	// ErrBadFormat: the server could not read the command.
	ErrBadFormat = errors.New("the server could not read the command")
)

// What the client finds before it sends anything.
var (
	// ErrTubeName: a tube's name has 1 to 200 bytes out of letters, digits and
	// -+/;.$_(), and does not begin with a hyphen.
	ErrTubeName = errors.New("not the name of a tube")
	// ErrRange: a number or duration is negative or above what the protocol can
	// carry, which is 2³²-1, for a wait 2³¹-1, seconds.
	ErrRange = errors.New("out of the protocol's range")
)

// What can become of a connection.
var (
	// ErrClosed: the connection, pool or worker is closed. An error that is
	// ErrClosed also wraps what closed a connection, if that was a fault.
	ErrClosed = errors.New("closed")
	// ErrUncertain: the connection failed after a command went out and before
	// its reply came. Nobody can tell whether the server carried it out.
	ErrUncertain = errors.New("the connection failed before the reply came")
	// ErrProtocol: the server sent what is no reply to the command. The
	// connection is closed.
	ErrProtocol = errors.New("not a reply of the beanstalk protocol")
	// ErrJobLost: the job is no longer held: its time to run is over or its
	// connection failed, and the server has given it back.
	ErrJobLost = errors.New("the job is no longer held")
)

// errNotSent marks failures from which the server has seen nothing.
var errNotSent = errors.New("nothing was sent")

// An Error says which command failed at which server. Use [errors.Is] with the
// errors of this package to learn why.
type Error struct {
	Op     string // the word of the command, or "dial"
	Server string // the address as it was given
	Err    error
}

// Error returns the text.
func (e *Error) Error() string {
	return "beanstalk " + e.Op + " at " + e.Server + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// A BatchError says which items of a batch failed. [errors.Is] looks at all.
type BatchError struct {
	// Errs has an entry for each item of the batch, nil for one that succeeded.
	Errs []error
}

// Error returns how many failed, and why the first one did.
func (e *BatchError) Error() string {
	failed := e.Unwrap()
	return fmt.Sprintf("%d of %d failed, the first: %v", len(failed), len(e.Errs), failed[0])
}

// Unwrap returns the errors of the items that failed.
func (e *BatchError) Unwrap() []error {
	var failed []error
	for _, err := range e.Errs {
		if err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}

// batchError returns nil if no item failed.
func batchError(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return &BatchError{errs}
		}
	}
	return nil
}

// refusals are the words by which a server says no.
var refusals = map[protocol.Word]error{
	protocol.OutOfMemory:    ErrOutOfMemory,
	protocol.InternalError:  ErrInternal,
	protocol.BadFormat:      ErrBadFormat,
	protocol.UnknownCommand: ErrUnknownCommand,
	protocol.ExpectedCRLF:   ErrProtocol,
	protocol.JobTooBig:      ErrJobTooBig,
	protocol.Draining:       ErrDraining,
	protocol.DeadlineSoon:   ErrDeadlineSoon,
	protocol.TimedOut:       ErrTimedOut,
	protocol.NotFound:       ErrNotFound,
	protocol.NotIgnored:     ErrNotIgnored,
	protocol.Buried:         ErrBuried,
}
