package client

import (
	"context"
	"errors"
	"time"
)

// partialWait is for how many seconds a slot waits that leaves out a tube because
// of its limit. Then it looks whether there is room again.
const partialWait = 1

// handlerGrace is how long a handler may take to return after its context ended
// because the worker stops.
const handlerGrace = time.Second

// A slot handles one job after the other, over a connection of its own.
type slot struct {
	worker   *Worker
	backend  *backend
	gate     *gate
	handling context.Context // of the handlers
	conn     *Conn           // nil if there is none at the moment
}

// run works until the context ends or the pool is closed. It returns the tube of
// a handler that it had to leave running, or nothing.
func (s *slot) run(reserving context.Context) (stuck string) {
	defer func() {
		if s.conn != nil {
			s.backend.putBack(s.conn)
		}
	}()
	bound, cancel := s.worker.pool.bind(reserving)
	defer cancel()
	for bound.Err() == nil {
		in, all := s.gate.enter(bound)
		if len(in) == 0 {
			break
		}
		job, stats := s.next(bound, in, all)
		if job == nil {
			s.gate.leave(in, nil)
			continue
		}
		t := s.worker.byTube[job.Tube]
		s.gate.leave(in, t)
		left := s.handle(job, stats, t)
		s.gate.leave([]*handledTube{t}, nil)
		if left {
			return t.name
		}
	}
	return ""
}

// next reserves a job and asks what it is. Without one, the caller tries again.
func (s *slot) next(ctx context.Context, in []*handledTube, all bool) (*Job, *JobStats) {
	if s.conn == nil || s.conn.Err() != nil {
		if s.conn != nil {
			s.backend.forget(s.conn)
			s.conn = nil
		}
		c, err := s.backend.acquire(ctx)
		if err != nil {
			return nil, nil
		}
		s.conn = c
	}
	names := make([]string, len(in))
	for i, t := range in {
		names[i] = t.name
	}
	wait := int64(partialWait)
	if all {
		wait = waitStep
	}
	job, err := s.conn.reserve(ctx, names, wait)
	if err != nil {
		if s.conn.Err() == nil && !errors.Is(err, ErrTimedOut) {
			s.worker.config.Logger.Warn("cannot reserve a job", "server", s.backend.address, "error", err)
			_ = sleep(ctx, s.worker.pool.config.Reconnect.Max)
		}
		return nil, nil
	}
	stats, err := job.Stats(context.WithoutCancel(ctx))
	if err != nil || s.worker.byTube[stats.Tube] == nil {
		s.worker.config.Logger.Warn("cannot learn what a job is, giving it back", "server", s.backend.address, "job", job.ID, "error", err)
		job.giveBack()
		return nil, nil
	}
	job.Tube, job.Attempt = stats.Tube, int(stats.Reserves)
	return job, stats
}

// handle has a job handled and settles it. It tells whether the handler still runs.
func (s *slot) handle(job *Job, stats *JobStats, t *handledTube) (left bool) {
	began := time.Now()
	ctx, cancel := context.WithCancelCause(s.handling)
	defer cancel(nil)
	if f := s.worker.config.Hooks.Start; f != nil {
		if hooked := f(ctx, job); hooked != nil {
			ctx = hooked
		}
	}
	r := &run{slot: s, job: job, stats: stats, tube: t}
	var outcome Outcome
	if retry := t.settings.Retry; stats.Kicks == 0 && stats.Reserves > 1 && retry.exhausted(stats.Reserves-1) {
		outcome = r.giveUp(errExhausted)
	} else {
		done := make(chan error, 1)
		go call(ctx, t.handler, job, done)
		err, returned := r.attend(done, cancel)
		if left = !returned; left {
			job.giveBack()
			outcome = Outcome{Result: GivenBack, Err: ErrHandlerRunning}
		} else {
			outcome = r.settle(err)
		}
	}
	outcome.Took = time.Since(began)
	r.log(outcome)
	if f := s.worker.config.Hooks.End; f != nil {
		f(context.WithoutCancel(ctx), job, outcome)
	}
	return left
}
