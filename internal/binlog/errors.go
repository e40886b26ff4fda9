package binlog

import "errors"

// What can be wrong with a directory as a whole. Errors that Open returns wrap
// one of these, or one of the file system's, and name the directory.
var (
	// ErrNoLog: there is no file named binlog.N.
	ErrNoLog = errors.New("there is no beanstalkd log in it")
	// ErrRunning: a process, most likely beanstalkd, holds the lock.
	ErrRunning = errors.New("a running beanstalkd holds its lock")
)
