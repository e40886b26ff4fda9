package remote

import (
	"context"
	"errors"

	"github.com/haricotq/haricot/internal/protocol"
)

// Progress is told how many jobs are done.
type Progress func(done int)

// kickAtOnce is how many jobs one command kicks, so that no other client waits long for it.
const kickAtOnce = 1000

// Kick makes up to most jobs of a tube ready: buried ones, the longest buried first, or delayed ones, the soonest due first. It
// returns how many. A job that is buried again meanwhile may be kicked twice.
func (s *Server) Kick(ctx context.Context, tube string, state State, most int, progress Progress) (done int, err error) {
	if state == Delayed {
		return s.each(ctx, tube, state, most, progress, s.KickJob)
	}
	if err := s.use(tube); err != nil {
		return 0, err
	}
	for done < most && ctx.Err() == nil {
		// Where nothing is buried, the command would kick delayed jobs.
		if _, err := s.ask("FOUND", "peek-buried"); err != nil {
			return done, absent(err)
		}
		n := min(most-done, kickAtOnce)
		r, err := s.ask("KICKED", "kick %d", n)
		if err != nil {
			return done, err
		}
		if len(r.Numbers) == 0 || r.Numbers[0] == 0 {
			return done, nil
		}
		done += int(r.Numbers[0])
		progress(done)
	}
	return done, ctx.Err()
}

// BuryNext buries up to most jobs of a tube that are next in a state.
func (s *Server) BuryNext(ctx context.Context, tube string, state State, most int, change Change, progress Progress) (int, error) {
	return s.each(ctx, tube, state, most, progress, func(id protocol.JobID) error { return s.Bury(id, change) })
}

// ReleaseNext releases up to most jobs of a tube that are next in a state.
func (s *Server) ReleaseNext(ctx context.Context, tube string, state State, most int, change Change, progress Progress) (int, error) {
	return s.each(ctx, tube, state, most, progress, func(id protocol.JobID) error { return s.Release(id, change) })
}

// DeleteNext deletes up to most jobs of a tube that are next in a state.
func (s *Server) DeleteNext(ctx context.Context, tube string, state State, most int, progress Progress) (int, error) {
	if state != Ready {
		return s.each(ctx, tube, state, most, progress, s.Delete)
	}
	return s.deleteReady(ctx, tube, most, progress)
}

// each does something to a tube's next job in a state, which must bring it out of that state or to its end, up to most times.
func (s *Server) each(ctx context.Context, tube string, state State, most int, progress Progress, act func(protocol.JobID) error) (done int, err error) {
	if err := s.use(tube); err != nil {
		return 0, err
	}
	for done < most && ctx.Err() == nil {
		r, err := s.ask("FOUND", "peek-%s", state)
		if err != nil {
			return done, absent(err)
		}
		switch err := act(r.ID()); {
		case err == nil:
			done++
			progress(done)
		case !errors.Is(err, ErrNotFound): // Somebody else was faster, and another one is next.
			return done, err
		}
	}
	return done, ctx.Err()
}

// deleteAtOnce is how many ready jobs are taken in one write. They are this connection's for that moment; if it ends, they are
// ready again.
const deleteAtOnce = 100

// deleteReady takes jobs and deletes them, many in one write. What a pause keeps from being taken it deletes one by one.
func (s *Server) deleteReady(ctx context.Context, tube string, most int, progress Progress) (done int, err error) {
	if err := s.watchOnly(tube); err != nil {
		return 0, err
	}
	for done < most && ctx.Err() == nil {
		n := min(most-done, deleteAtOnce)
		ids, err := s.reserveReady(n)
		if err != nil {
			return done, err
		}
		for _, id := range ids {
			s.wire.Send("delete %d", id)
		}
		for range ids {
			if _, err := s.expect("DELETED"); err != nil {
				return done, err
			}
			done++
		}
		progress(done)
		if len(ids) < n {
			before := done
			more, err := s.each(ctx, tube, Ready, most-done, func(n int) { progress(before + n) }, s.Delete)
			return done + more, err
		}
	}
	return done, ctx.Err()
}

// reserveReady takes up to n jobs that are ready.
func (s *Server) reserveReady(n int) (ids []protocol.JobID, err error) {
	for range n {
		s.wire.Send("reserve-with-timeout 0")
	}
	for range n {
		r, err := s.wire.Receive()
		switch {
		case err != nil:
			return nil, err
		case r.Word == "RESERVED":
			ids = append(ids, r.ID())
		case r.Word != "TIMED_OUT" && r.Word != "DEADLINE_SOON":
			return nil, refusal(&r)
		}
	}
	return ids, nil
}

// watchOnly makes a tube the only one to reserve from.
func (s *Server) watchOnly(tube string) error {
	if _, err := s.ask("WATCHING", "watch %s", tube); err != nil {
		return err
	}
	if tube == protocol.DefaultTube {
		return nil
	}
	_, err := s.ask("WATCHING", "ignore %s", protocol.DefaultTube)
	return err
}

// absent makes nothing of the error that says that there is no further job.
func absent(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
