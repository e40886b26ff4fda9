package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"
)

// A run is one attempt at a job, from the worker's side.
type run struct {
	slot  *slot
	job   *Job
	stats *JobStats
	tube  *handledTube
	lost  error // why the job is not held any more
}

// attend touches the job until its handler returns. If the worker stops and the
// handler does not return in time, returned is false.
func (r *run) attend(done <-chan error, cancel context.CancelCauseFunc) (err error, returned bool) { //nolint:revive // the error is the handler's
	every := max(r.stats.TTR/2, time.Second/2)
	touch := time.NewTimer(max(min(every, r.stats.TimeLeft/2), time.Second/4))
	defer touch.Stop()
	stopping := r.slot.handling.Done()
	var tooLate <-chan time.Time
	for {
		select {
		case err := <-done:
			return err, true
		case <-touch.C:
			if r.job.settled.Load() {
				continue // the handler has ended it
			}
			switch err := r.job.Touch(context.Background()); {
			case err == nil || !errors.Is(err, ErrJobLost):
				touch.Reset(every)
			default: // or the handler has ended it just now, which settle finds out
				r.lost = err
				cancel(ErrJobLost)
			}
		case <-stopping:
			stopping = nil
			grace := time.NewTimer(handlerGrace)
			defer grace.Stop()
			tooLate = grace.C
		case <-tooLate:
			return nil, false
		}
	}
}

// settle does with the job what its handler's error says.
func (r *run) settle(err error) Outcome {
	var permanent *permanentError
	switch {
	case r.job.ended.Load():
		return Outcome{Result: Settled, Err: err}
	case r.lost != nil:
		return Outcome{Result: Lost, Err: errors.Join(r.lost, err)}
	case r.job.settled.Load():
		return Outcome{Result: Lost, Err: errors.Join(ErrJobLost, err)}
	case err == nil:
		if err := r.job.Delete(context.Background()); err != nil {
			return r.failed(err)
		}
		return Outcome{Result: Deleted}
	case r.slot.handling.Err() != nil:
		r.job.giveBack()
		return Outcome{Result: GivenBack, Err: err}
	case errors.As(err, &permanent) || r.tube.settings.Retry.exhausted(r.stats.Reserves):
		return r.giveUp(err)
	}
	return r.retry(err)
}

// failed is the outcome when a command about the job fails. If the job may still be
// held, it is given back.
func (r *run) failed(err error) Outcome {
	r.job.giveBack()
	return Outcome{Result: Lost, Err: err}
}

// retry releases the job with a delay.
func (r *run) retry(cause error) Outcome {
	delay := r.tube.settings.Retry.Backoff.Delay(int(min(r.stats.Reserves, math.MaxInt32)))
	var asked *retryError
	if errors.As(cause, &asked) {
		delay = asked.after
	}
	delay = min((delay + time.Second - 1).Truncate(time.Second), math.MaxUint32*time.Second)
	if err := r.job.Release(context.Background(), WithPriority(r.stats.Priority), WithDelay(delay)); err != nil {
		return r.failed(errors.Join(err, cause))
	}
	return Outcome{Result: Retried, Err: cause, Delay: delay}
}

// giveUp buries the job, or moves it to the dead tube. If it cannot be moved, it
// is buried, so that nothing is lost.
func (r *run) giveUp(reason error) Outcome {
	ctx := context.Background()
	if suffix := r.slot.worker.config.DeadSuffix; suffix != "" {
		err := r.move(ctx, r.tube.name+suffix, reason)
		switch {
		case err == nil:
			return Outcome{Result: Moved, Err: reason}
		case r.job.settled.Load():
			return Outcome{Result: Lost, Err: errors.Join(err, reason)}
		}
		reason = errors.Join(reason, err)
	}
	if err := r.job.Bury(ctx, WithPriority(r.stats.Priority)); err != nil {
		return r.failed(errors.Join(err, reason))
	}
	return Outcome{Result: Buried, Err: reason}
}

// A Dead is the body, in JSON, of a job in a dead tube.
type Dead struct {
	Reason   string    `json:"reason"`
	Tube     string    `json:"tube"`
	Server   string    `json:"server"`
	ID       uint64    `json:"id"` // of the job that was given up
	Priority uint32    `json:"priority"`
	TTR      int64     `json:"ttr"` // seconds
	Attempts uint64    `json:"attempts"`
	Time     time.Time `json:"time"`
	Body     []byte    `json:"body"` // base64
}

// move puts what is left of the job into the dead tube and deletes it. If the worker
// dies in between, it is in both.
func (r *run) move(ctx context.Context, tube string, reason error) error {
	body, err := json.Marshal(Dead{
		Reason:   reason.Error(),
		Tube:     r.tube.name,
		Server:   r.job.Server(),
		ID:       r.job.ID,
		Priority: r.stats.Priority,
		TTR:      int64(r.stats.TTR / time.Second),
		Attempts: r.stats.Reserves,
		Time:     time.Now(),
		Body:     r.job.Body,
	})
	if err != nil {
		return fmt.Errorf("client: describing a dead job: %w", err)
	}
	if err := r.job.conn.Use(ctx, tube); err != nil {
		return err
	}
	if _, err := r.job.conn.Put(ctx, body, WithPriority(r.stats.Priority)); err != nil {
		return err
	}
	return r.job.Delete(ctx)
}

// Revive takes up to most jobs from a dead tube, at any server, and puts them back
// to where they were, at their server and with their priority and time to run. It returns
// how many. It stops at one that is no [Dead], buries that, and returns [ErrDecode].
func (p *Pool) Revive(ctx context.Context, deadTube string, most int) (int, error) {
	for n := range most {
		now, cancel := context.WithTimeout(ctx, time.Second/2)
		job, err := p.Reserve(now, deadTube)
		cancel()
		if errors.Is(err, ErrTimedOut) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		var dead Dead
		if err := json.Unmarshal(job.Body, &dead); err != nil || dead.Tube == "" {
			return n, errors.Join(ErrDecode, err, job.Bury(ctx))
		}
		if err := job.conn.Use(ctx, dead.Tube); err != nil {
			return n, errors.Join(err, job.conn.Close())
		}
		_, err = job.conn.Put(ctx, dead.Body, WithPriority(dead.Priority), WithTTR(time.Duration(dead.TTR)*time.Second))
		if err != nil {
			job.giveBack()
			return n, err
		}
		if err := job.Delete(ctx); err != nil {
			return n, err
		}
	}
	return most, nil
}

// log writes what an operator should know of the job.
func (r *run) log(o Outcome) {
	level := slog.LevelWarn
	text := "a job failed and will be tried again"
	switch o.Result {
	case Deleted:
		return
	case Settled:
		if o.Err == nil {
			return
		}
		text = "a handler failed after it had ended its job"
	case Retried:
	case Buried:
		level, text = slog.LevelError, "a job failed for good and is buried"
	case Moved:
		level, text = slog.LevelError, "a job failed for good and is in the dead tube"
	case GivenBack:
		text = "a job was not done when the worker stopped and is given back"
	case Lost:
		text = "a job was no longer held when its handler returned and may be done again"
	}
	attributes := []slog.Attr{
		slog.String("server", r.job.Server()), slog.String("tube", r.tube.name), slog.Uint64("job", r.job.ID),
		slog.Uint64("attempt", r.stats.Reserves), slog.Duration("took", o.Took), slog.Any("error", o.Err),
	}
	if o.Result == Retried {
		attributes = append(attributes, slog.Duration("delay", o.Delay))
	}
	var panicked *PanicError
	if errors.As(o.Err, &panicked) {
		attributes = append(attributes, slog.String("stack", string(panicked.Stack)))
	}
	r.slot.worker.config.Logger.LogAttrs(context.Background(), level, text, attributes...) //nolint:sloglint // one of six constants
}
