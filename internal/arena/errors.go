package arena

import "errors"

// ErrNoMemory says that an allocation would pass the arena's limit, or that
// the system refused the memory. Nothing has changed, and the same call may
// succeed once something has been freed.
var ErrNoMemory = errors.New("arena: out of memory")
