package store

import "errors"

// What can be wrong with a directory. Errors that Open returns wrap one of
// these and name the directory or file.
var (
	// ErrMissing: the directory does not exist.
	ErrMissing = errors.New("the directory does not exist")
	// ErrNoStore: the directory is empty, where there must be a store.
	ErrNoStore = errors.New("there is no store in the directory")
	// ErrOccupied: the directory is not empty, where it must be.
	ErrOccupied = errors.New("the directory is not empty")
	// ErrForeign: the directory has something in it that is not a store.
	ErrForeign = errors.New("the directory is not empty and holds no haricot store")
	// ErrBeanstalkd: the directory has the log of a beanstalkd in it.
	ErrBeanstalkd = errors.New("the directory holds the log of a beanstalkd")
	// ErrNewer: a later version of haricot has written the store.
	ErrNewer = errors.New("the store was written by a newer version of haricot")
	// ErrLocked: another process has the store open.
	ErrLocked = errors.New("another process is using the store")
	// ErrDamaged: something in the store is not as it was written.
	ErrDamaged = errors.New("the store is damaged")
)
