package service

import "errors"

var (
	// ErrNoSuchUser says that the system's user database has no user of that name.
	ErrNoSuchUser = errors.New("there is no such user")

	// ErrUserLookup says that the user database could not be asked.
	ErrUserLookup = errors.New("the user database cannot be read")

	// ErrSwitchUser says that the system refused to change the user or the groups of this process.
	ErrSwitchUser = errors.New("the process may not become that user")

	// ErrSocketLive says that a server answers on the unix socket that was asked for, or that it cannot be ruled out.
	ErrSocketLive = errors.New("another server answers there")

	// ErrNotSocket says that the path of a unix socket is taken by a file that is no socket, which is never deleted.
	ErrNotSocket = errors.New("a file that is not a socket is in the way")
)
