package top

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/remote"
)

// again is how long it takes until a server that cannot be reached is tried anew.
const again = time.Second

// Dial connects to the server.
type Dial func(ctx context.Context) (io.ReadWriteCloser, error)

// watcher has the connection. It runs in a goroutine of its own, sends events, and is asked for things.
type watcher struct {
	dial     Dial
	events   chan Event // events has no buffer, so that samples never queue up.
	interval time.Duration
	follow   string  // follow is the tube that is looked into.
	sample   *Sample // sample is the newest.

	mu       sync.Mutex
	requests []Request     // guarded by mu
	asked    chan struct{} // asked says that there may be requests.
}

func newWatcher(dial Dial, interval time.Duration) *watcher {
	return &watcher{dial: dial, interval: interval, events: make(chan Event), asked: make(chan struct{}, 1)}
}

// ask asks for something. It never waits.
func (w *watcher) ask(r Request) {
	w.mu.Lock()
	w.requests = append(w.requests, r)
	w.mu.Unlock()
	select {
	case w.asked <- struct{}{}:
	default:
	}
}

// taken takes the requests that have come.
func (w *watcher) taken() []Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.requests
	w.requests = nil
	return taken
}

// tell sends an event, unless nobody listens any more.
func (w *watcher) tell(ctx context.Context, e Event) {
	select {
	case w.events <- e:
	case <-ctx.Done():
	}
}

// run watches the server until the context ends. It begins with a connection that is open already.
func (w *watcher) run(ctx context.Context, conn io.ReadWriteCloser) {
	for ctx.Err() == nil {
		err := w.watch(ctx, conn)
		for ctx.Err() == nil && err != nil {
			w.tell(ctx, Lost{err})
			w.rest(ctx)
			conn, err = w.dial(ctx)
		}
	}
	if conn != nil {
		conn.Close()
	}
}

// rest waits until it is time to connect again. What is asked for meanwhile is not done, but for what is to be done later.
func (w *watcher) rest(ctx context.Context) {
	timer := time.NewTimer(again)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case <-w.asked:
			for _, r := range w.taken() {
				if !w.note(r) {
					w.tell(ctx, Answered{"nothing done: there is no connection", true})
				}
			}
		}
	}
}

// note notes requests that are about what to look at and when; others it leaves.
func (w *watcher) note(r Request) bool {
	switch r := r.(type) {
	case Follow:
		w.follow = r.Tube
	case Every:
		w.interval = r.Interval
	default:
		return false
	}
	return true
}

// watch looks at the server again and again, and does what it is asked for, until the connection fails.
func (w *watcher) watch(ctx context.Context, conn io.ReadWriteCloser) error {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer conn.Close()
	s := remote.New(conn)
	for {
		began := time.Now()
		sample, err := look(s)
		if err != nil {
			return err
		}
		w.sample = sample
		w.tell(ctx, Sampled{sample})
		if err := w.peek(ctx, s); err != nil {
			return err
		}
		if err := w.serve(ctx, s, began, time.Since(began)); err != nil {
			return err
		}
	}
}

// serve does what it is asked for until it is time to look again. A look that takes long is followed by a pause as long, so that the
// server has half its time for others at least.
func (w *watcher) serve(ctx context.Context, s *remote.Server, began time.Time, took time.Duration) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(max(w.interval-time.Since(began), took))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return nil
		case <-w.asked:
		}
		changed := false
		for _, r := range w.taken() {
			if err := w.carryOut(ctx, s, r); err != nil {
				return err
			}
			_, follows := r.(Follow)
			changed = changed || !follows
		}
		if changed {
			return nil
		}
	}
}

// carryOut does what it is asked for. It returns an error if the connection has failed.
func (w *watcher) carryOut(ctx context.Context, s *remote.Server, r Request) error {
	var done string
	var err error
	switch r := r.(type) {
	case Follow:
		if w.follow = r.Tube; r.Tube == "" {
			// Another tube is used now, so that the one before can go when its last job does.
			_, err := next(s, protocol.DefaultTube, remote.Ready)
			return err
		}
		return w.peek(ctx, s)
	case Every:
		w.interval = r.Interval
		return nil
	case Pause:
		err = s.Pause(r.Tube, r.Length)
		done = "paused until it is resumed"
		if r.Length == 0 {
			done = "resumed"
		}
	case Kick:
		var n int
		n, err = s.Kick(ctx, r.Tube, r.State, r.Most, func(int) {})
		done = fmt.Sprintf("%d %s jobs kicked", n, r.State)
	}
	switch {
	case refused(err):
		w.tell(ctx, Answered{clean(err.Error()), true})
	case err != nil:
		return err
	default:
		w.tell(ctx, Answered{Text: done})
	}
	return nil
}

// refused tells an error that the server has answered from one of the connection.
func refused(err error) bool {
	for _, refusal := range []error{remote.ErrNotFound, remote.ErrUnknown, remote.ErrNoRoom, remote.ErrRefused} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}

// peek looks at what is next in the tube that is followed, if there is one. Looking uses the tube, which would bring one into being that is not there.
func (w *watcher) peek(ctx context.Context, s *remote.Server) error {
	if w.follow == "" {
		return nil
	}
	peeked := Peeked{w.follow, map[remote.State]*remote.Job{}}
	if w.sample.tube(w.follow) != nil {
		for _, state := range states {
			job, err := next(s, w.follow, state)
			if err != nil {
				return err
			}
			peeked.Next[state] = job
		}
	}
	w.tell(ctx, peeked)
	return nil
}

// next looks at the next job in a state; nil if there is none.
func next(s *remote.Server, tube string, state remote.State) (*remote.Job, error) {
	job, err := s.Peek(tube, state)
	if errors.Is(err, remote.ErrNotFound) {
		return nil, nil //nolint:nilnil // no job is no fault
	}
	return job, err
}
