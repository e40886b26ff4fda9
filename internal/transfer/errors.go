package transfer

import "fmt"

// UnusableError says that a directory cannot take an import as it is. Nothing in
// it was changed.
type UnusableError struct {
	Err error
}

// Error is what is wrong.
func (e *UnusableError) Error() string { return e.Err.Error() }

// Unwrap is what is wrong.
func (e *UnusableError) Unwrap() error { return e.Err }

// UnreachableError says that a server has a store open, and that it cannot be
// had to make a checkpoint of it.
type UnreachableError struct {
	Locked  error // from opening the store
	Refused error // from asking the server
}

// Error is both.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("%v; it does not help either: %v", e.Locked, e.Refused)
}

// Unwrap is both.
func (e *UnreachableError) Unwrap() []error { return []error{e.Locked, e.Refused} }
