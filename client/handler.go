package client

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// A Handler works on jobs. It is called by several goroutines at once.
//
// What it returns decides what becomes of the job: nil deletes it, an error has it
// tried again later, [Permanent] and the last of its attempts bury it. The job may
// also be ended by the handler itself, whose error is then only reported.
//
// The context ends when the job is not held any more, with the cause [ErrJobLost], and when
// a stopping worker waits no longer, with the cause [ErrStopping]. A job may be handled more
// than once, even after it was done: when the worker could not delete it any more.
type Handler interface {
	Handle(ctx context.Context, job *Job) error
}

// HandlerFunc is a function that is a Handler.
type HandlerFunc func(ctx context.Context, job *Job) error

// Handle calls the function.
func (f HandlerFunc) Handle(ctx context.Context, job *Job) error { return f(ctx, job) }

// Middleware puts something around a handler. The first one given to a worker
// is the outermost. Panics of the handler have not been caught yet there.
type Middleware func(next Handler) Handler

// Permanent marks an error that trying again would not mend: the job is buried at
// once. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

// RetryAfter marks an error with the time after which the job should be tried again,
// instead of the one that the worker's settings say. RetryAfter(nil, d) is nil.
func RetryAfter(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &retryError{err, max(d, 0)}
}

type retryError struct {
	error
	after time.Duration
}

func (e *retryError) Unwrap() error { return e.error }

// A PanicError is what a handler is taken to have returned when it panics. The
// job is tried again like after any other error.
type PanicError struct {
	Value any
	Stack []byte // of the goroutine, as text
}

// Error returns the value panicked with.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value panicked with, if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// errGoexit is what a handler is taken to have returned that ends its goroutine.
var errGoexit = errors.New("the handler called runtime.Goexit")

// call runs a handler and sends what it returns, whatever it does, to done.
func call(ctx context.Context, h Handler, job *Job, done chan<- error) {
	err := errGoexit
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{value, debug.Stack()}
		}
		done <- err
	}()
	err = h.Handle(ctx, job)
}

// Result says what became of a job that a worker had.
type Result int

// The results.
const (
	// Deleted: it is done.
	Deleted Result = iota
	// Retried: it was released and becomes ready again after a delay.
	Retried
	// Buried: it waits for somebody to kick it.
	Buried
	// Moved: it was put into the dead tube and deleted.
	Moved
	// GivenBack: the worker stopped before it was done; it is ready again.
	GivenBack
	// Lost: it was no longer held when the handler was through. If the handler
	// returned nil, it will be done again.
	Lost
	// Settled: the handler has deleted, released or buried it.
	Settled
)

var resultText = [...]string{"deleted", "retried", "buried", "moved", "given back", "lost", "settled"}

// String returns the result as a word or two.
func (r Result) String() string {
	if r < 0 || int(r) >= len(resultText) {
		return "unknown"
	}
	return resultText[r]
}

// An Outcome is the end of a job in a worker.
type Outcome struct {
	Result Result
	Err    error         // why it is not deleted; nil if it is, or was settled without
	Took   time.Duration // from the reservation on
	Delay  time.Duration // until it becomes ready again, if it was retried
}

// WorkerHooks are functions for metrics and traces. Each may be nil. They are
// called by several goroutines at once, and the job waits for them.
type WorkerHooks struct {
	// Start is called before a job is handled. The context it returns, if not
	// nil, is that of the handler and must be made of the one given.
	Start func(ctx context.Context, job *Job) context.Context
	// End is called when the job is settled, with the context that Start returned.
	End func(ctx context.Context, job *Job, outcome Outcome)
}
