package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// TokenPrefix begins the names of the tubes in which schedulers keep their tokens.
const TokenPrefix = "periodic."

// tickSlack is how much earlier than a tick a scheduler may be woken and still take
// it for that tick.
const tickSlack = 500 * time.Millisecond

// putTimeout is how long putting a periodic job may take.
const putTimeout = 5 * time.Second

// tokenCheck is for how many seconds a scheduler waits before it looks whether a token
// has disappeared.
const tokenCheck = 30

// A Schedule says when something is due. Those of cron libraries fit.
type Schedule interface {
	// Next returns the first moment after t, which schedulers of the same name
	// must agree on. The zero time means never.
	Next(t time.Time) time.Time
}

// Every is due at all multiples of d since the beginning of 1970, so that all
// schedulers agree. Less than a second is taken for one.
func Every(d time.Duration) Schedule { return every(max(d, time.Second)) }

type every time.Duration

// Next returns the next multiple.
func (e every) Next(t time.Time) time.Time {
	d := time.Duration(e)
	return time.Unix(0, 0).Add(t.Sub(time.Unix(0, 0)).Truncate(d) + d)
}

// A Periodic is a job that is put again and again.
type Periodic struct {
	// Name tells it from others. [TokenPrefix] and the name must make the name of
	// a tube.
	Name     string
	Schedule Schedule
	Tube     string // where the jobs go
	// Body makes the body of a job; now is when it is put. nil makes empty ones.
	// After an error that tick is left out.
	Body    func(now time.Time) ([]byte, error)
	Options []Option
}

// A Scheduler puts periodic jobs.
//
// # Several schedulers
//
// Any number of schedulers, in any number of processes, may run with the same periodic
// jobs: each tick is put once, by one of them. For that each periodic job has a token, which is a
// job at the first server of the pool, in a tube of its own, delayed until the next tick.
// The scheduler that the server gives it to puts the job, and releases the token with the delay
// until the tick after. If a scheduler dies, the server gives its token to another.
//
// The limits of that: a tick is put twice if the scheduler dies between the two
// steps, and may be when schedulers start at the same moment with no token there yet. Ticks
// that nobody was there for are made up for by one. A tick comes up to a second late, as
// servers count in whole seconds, and of ticks less than two seconds apart some may be left out. All schedulers must have the same first server, and
// while that is down nothing is put.
type Scheduler struct {
	pool   *Pool
	logger *slog.Logger
	jobs   map[string]*Periodic // by the token's tube
	tokens []string             // the tubes
}

// NewScheduler makes a scheduler, which does nothing before Run. A nil logger
// discards. It returns an error if a name is not valid or given twice, or something
// is missing.
func NewScheduler(p *Pool, logger *slog.Logger, jobs ...Periodic) (*Scheduler, error) {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	s := &Scheduler{pool: p, logger: logger, jobs: make(map[string]*Periodic)}
	for _, job := range jobs {
		token := TokenPrefix + job.Name
		if err := checkTubes([]string{token, job.Tube}); err != nil {
			return nil, fmt.Errorf("client: periodic job %q: %w", job.Name, err)
		}
		if job.Schedule == nil || s.jobs[token] != nil {
			return nil, fmt.Errorf("client: periodic job %q has no schedule, or is given twice", job.Name)
		}
		if _, err := apply(job.Options); err != nil {
			return nil, fmt.Errorf("client: periodic job %q: %w", job.Name, err)
		}
		s.jobs[token] = &job
		s.tokens = append(s.tokens, token)
	}
	return s, nil
}

// Run puts jobs until the context ends, and then returns nil, or [ErrClosed] if
// the pool is closed before.
func (s *Scheduler) Run(ctx context.Context) error {
	if len(s.jobs) == 0 {
		<-ctx.Done()
		return nil
	}
	bound, cancel := s.pool.bind(ctx)
	defer cancel()
	b := s.pool.backends[0]
	for bound.Err() == nil {
		c, err := b.acquire(bound)
		if err != nil {
			break
		}
		for err == nil {
			err = s.turn(bound, c)
		}
		if bound.Err() == nil {
			s.logger.Warn("a scheduler has trouble, trying again", "server", b.address, "error", err)
			_ = sleep(bound, s.pool.config.Reconnect.Delay(1))
		}
		b.putBack(c) // which gives back a token, if it has one
	}
	if ctx.Err() == nil {
		return ErrClosed
	}
	return nil
}

// turn sees to it that there are tokens, and waits for one.
func (s *Scheduler) turn(ctx context.Context, c *Conn) error {
	for _, token := range s.tokens {
		if err := s.plant(ctx, c, token); err != nil {
			return err
		}
	}
	job, err := c.reserve(ctx, s.tokens, tokenCheck)
	if errors.Is(err, ErrTimedOut) {
		return nil
	}
	if err != nil {
		return err
	}
	token := string(job.Body)
	due, known := s.jobs[token]
	if !known {
		s.logger.Error("burying a job that is no token of a periodic job", "job", job.Ref().String())
		return job.Bury(ctx)
	}
	return s.fire(ctx, c, job, token, due)
}

// count says how many tokens there are.
func count(ctx context.Context, c *Conn, token string) (uint64, error) {
	stats, err := c.StatsTube(ctx, token)
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n := stats.Jobs
	return n.Ready + n.Reserved + n.Delayed + n.Buried, nil
}

// plant puts a token if there is none. If somebody else does so at the same time,
// the one that is due later is taken away again.
func (s *Scheduler) plant(ctx context.Context, c *Conn, token string) error {
	n, err := count(ctx, c, token)
	if err != nil || n > 0 {
		return err
	}
	delay, ever := s.delay(s.jobs[token], time.Now())
	if !ever {
		return nil
	}
	if err := c.Use(ctx, token); err != nil {
		return err
	}
	id, err := c.Put(ctx, []byte(token), WithDelay(delay))
	if err != nil {
		return err
	}
	first, err := c.PeekDelayed(ctx)
	if err == nil && first.ID != id {
		err = c.Delete(ctx, id)
	}
	if errors.Is(err, ErrNotFound) {
		return nil // it was due already
	}
	return err
}

// delay is the time from now to the next tick.
func (s *Scheduler) delay(p *Periodic, now time.Time) (d time.Duration, ever bool) {
	next := p.Schedule.Next(now.Add(tickSlack))
	return max(0, next.Sub(now)), !next.IsZero()
}

// put puts a periodic job, in less time than the token may be held.
func (s *Scheduler) put(ctx context.Context, p *Periodic, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	if _, err := s.pool.Put(ctx, p.Tube, body, p.Options...); err != nil {
		return fmt.Errorf("client: putting periodic job %s: %w", p.Name, err)
	}
	return nil
}

// fire puts the job that is due and passes the token on.
func (s *Scheduler) fire(ctx context.Context, c *Conn, job *Job, token string, p *Periodic) error {
	now := time.Now()
	var body []byte
	var err error
	if p.Body != nil {
		body, err = p.Body(now)
	}
	if err != nil {
		s.logger.Error("a periodic job has no body, leaving out a tick", "name", p.Name, "error", err)
	}
	// A stop in here must not leave it open whether the job was put.
	ctx = context.WithoutCancel(ctx)
	if err == nil {
		if err := s.put(ctx, p, body); err != nil {
			return err
		}
	}
	n, err := count(ctx, c, token)
	if err != nil {
		return err
	}
	delay, ever := s.delay(p, time.Now())
	if n > 1 || !ever {
		return job.Delete(ctx) // one token too many; if all do so, one is planted again
	}
	return job.Release(ctx, WithPriority(DefaultPriority), WithDelay(delay))
}
