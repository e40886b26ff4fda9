package engine

import (
	"fmt"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// Store keeps what must survive. Its methods are called in the loop.
type Store interface {
	// Recover brings back what the store has, once, before anything else.
	Recover(into *queue.Restoration) (jobs int, err error)
	// Commit makes changes safe, if they are urgent and its policy says so
	// before it returns. After an error nobody knows what is safe: the engine
	// stops, and the store must not be used again.
	Commit(c *queue.Changes) error
	// Load reads a job's body, as it is now, and calls done with it, from
	// another goroutine.
	Load(id protocol.JobID, size uint32, done func(body []byte, err error))
	// Full tells whether there is no room for further jobs.
	Full() bool
}

// commit makes the turn's changes safe, before any reply leaves.
func (e *Engine) commit() error {
	if e.config.Store == nil {
		return nil
	}
	if changes := e.machine.Changes(); !changes.Empty() {
		began := e.stopwatch()
		if err := e.config.Store.Commit(changes); err != nil {
			return fmt.Errorf("engine: %w", err)
		}
		if e.config.Observed {
			e.committing = time.Since(began)
			e.workload.note(changes, e.committing)
		}
	}
	e.machine.Committed()
	return nil
}

// load fetches the body that a reply lacks. Until it is there the session is
// held up.
func (s *Session) load(r queue.Reply) {
	s.loading, s.waiting = true, false
	e := s.engine
	e.config.Store.Load(protocol.JobID(r.Number), r.Size, func(body []byte, err error) {
		e.config.Post(func() { s.loaded(r, body, err) })
	})
}

// loaded is called in the loop when a body has been read.
func (s *Session) loaded(r queue.Reply, body []byte, err error) {
	if s.closed || !s.loading {
		return
	}
	s.loading = false
	reply := r.Reply
	reply.Data = body
	if err != nil {
		s.engine.config.Unreadable(protocol.JobID(r.Number), err)
		if s.client != 0 && r.Word == protocol.Reserved {
			s.engine.machine.Shelve(s.client, protocol.JobID(r.Number))
		}
		reply = protocol.Reply{Word: protocol.InternalError}
	}
	s.reply(&reply)
	s.enqueueResume()
}
