package queue

import "errors"

// Why an operator's call is refused. Nothing has changed then.
var (
	// ErrNoJob says that there is no job of that id.
	ErrNoJob = errors.New("there is no such job")
	// ErrNoTube says that there is no tube of that name.
	ErrNoTube = errors.New("there is no such tube")
	// ErrBadTube says that no tube can have that name.
	ErrBadTube = errors.New("a tube cannot have that name")
	// ErrReserved says that a client holds the job, and that it was not to be
	// taken from it.
	ErrReserved = errors.New("the job is reserved")
	// ErrNotReserved says that nobody holds the job.
	ErrNotReserved = errors.New("the job is not reserved")
	// ErrNotKickable says that a job is neither buried nor delayed.
	ErrNotKickable = errors.New("the job is neither buried nor delayed")
	// ErrDraining says that the server takes no jobs.
	ErrDraining = errors.New("the server is draining and takes no jobs")
	// ErrTooBig says that a body is larger than the server takes.
	ErrTooBig = errors.New("the body is larger than a job may be")
	// ErrNoRoom says that memory, the disk or a limit of the tube has no room.
	ErrNoRoom = errors.New("there is no room for the job")
)
