package server

import (
	"errors"

	"github.com/haricotq/haricot/internal/engine"
)

// ErrStopped says that the server has stopped.
var ErrStopped = errors.New("the server has stopped")

// Operate has the loop carry out a step in its next turn, and returns when what
// the step changed is safe. It may be called by any goroutine once Run is. Everybody
// waits for a step, so it must be short; what takes longer goes in several. If
// it returns an error, which is ErrStopped, the step may have been carried out.
func (s *Server) Operate(step func(*engine.Turn)) error {
	l, done := s.loop, make(chan struct{})
	posted := l.post(func() {
		if !l.over {
			l.engine.Operate(step, func() { close(done) })
		}
	})
	if !posted {
		return ErrStopped
	}
	select {
	case <-done:
		return nil
	case <-l.ended:
	}
	select {
	case <-done: // just before the end
		return nil
	default:
		return ErrStopped
	}
}
