package remote

import (
	"errors"
	"fmt"

	"github.com/haricotq/haricot/internal/wire"
)

// What a server refuses.
var (
	// ErrNotFound: there is no such job or tube, or the job is in a state that the command does not take.
	ErrNotFound = errors.New("not found")
	// ErrUnknown: the server does not know the command; it is older than the command.
	ErrUnknown = errors.New("the server does not know the command")
	// ErrDraining: the server takes no new jobs.
	ErrDraining = errors.New("the server is draining and takes no new jobs")
	// ErrTooBig: the body is larger than the server allows.
	ErrTooBig = errors.New("the body is larger than the server allows")
	// ErrNoRoom: the server has no room for the job, in memory, on its disk or within the limits of the tube.
	ErrNoRoom = errors.New("the server has no room for it")
	// ErrBuried: the server took the job and had to bury it.
	ErrBuried = errors.New("the server was short of memory and buried the job")
	// ErrRefused: the server answers something else.
	ErrRefused = errors.New("the server refuses")
)

var refusals = map[string]error{
	"NOT_FOUND":       ErrNotFound,
	"UNKNOWN_COMMAND": ErrUnknown,
	"DRAINING":        ErrDraining,
	"JOB_TOO_BIG":     ErrTooBig,
	"OUT_OF_MEMORY":   ErrNoRoom,
	"BURIED":          ErrBuried,
}

// refusal makes an error of a reply that is not the one wished for.
func refusal(r *wire.Reply) error {
	if err := refusals[r.Word]; err != nil {
		return err
	}
	return fmt.Errorf("%w: %.80q", ErrRefused, r.String())
}
