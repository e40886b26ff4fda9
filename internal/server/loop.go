package server

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/haricotq/haricot/internal/engine"
)

// poller is what the loop waits with. Its methods belong to the loop, except
// wake.
type poller interface {
	// wait blocks until something has arrived, wake is called, or the time is
	// over; a negative time is for ever.
	wait(timeout time.Duration) error
	// dispatch hands what has arrived to the sessions.
	dispatch(l *loop)
	// listen takes over a listener if it can.
	listen(ln net.Listener) (taken bool, err error)
	// stop ends listening, and sees to it that each session is stopped when
	// all that its client has sent is read.
	stop(l *loop)
	// drop cuts every connection.
	drop()
	close() error
	// wake makes wait return, now or when it is called next.
	wake()
}

// loop owns the engine: all sessions are used in its goroutine only. Other
// goroutines post functions to it.
type loop struct {
	engine *engine.Engine
	clock  engine.Clock
	poller poller
	logger *slog.Logger

	// streams are the connections served by goroutines; wg counts those and
	// the goroutines that accept.
	streams   map[*stream]struct{}
	accepting []net.Listener
	accepted  chan struct{} // closed when nothing is accepted any more
	wg        sync.WaitGroup

	stopping bool
	grace    time.Duration // how long stopping may take
	deadline time.Time     // of stopping

	ended chan struct{} // closed at the end
	over  bool          // nothing is done any more

	inboxMutex sync.Mutex
	inbox      []func()
	spare      []func()
	closed     bool
	waking     sync.WaitGroup // those that wake the poller, which stays open for them
}

// post has the loop call f in its next turn. It returns false, and f is not
// called, if the loop has ended.
func (l *loop) post(f func()) bool {
	first, ok := l.append(f)
	if first {
		// Not under the lock: the loop that this wakes may take the processor from
		// this thread, and would then wait for it.
		l.poller.wake()
		l.waking.Done()
	}
	return ok
}

// append adds to the inbox. Whoever is first has to wake the poller.
func (l *loop) append(f func()) (first, ok bool) {
	l.inboxMutex.Lock()
	defer l.inboxMutex.Unlock()
	if l.closed {
		return false, false
	}
	l.inbox = append(l.inbox, f)
	if first = len(l.inbox) == 1; first {
		l.waking.Add(1)
	}
	return first, true
}

func (l *loop) runInbox() {
	l.inboxMutex.Lock()
	posted := l.inbox
	l.inbox = l.spare[:0]
	l.inboxMutex.Unlock()
	for i, f := range posted {
		posted[i] = nil
		f()
	}
	l.spare = posted
}

// listen starts to accept connections.
func (l *loop) listen(ln net.Listener) error {
	taken, err := l.poller.listen(ln)
	if err != nil || taken {
		return err
	}
	l.accepting = append(l.accepting, ln)
	l.wg.Go(func() { l.accept(ln) })
	return nil
}

// run works in turns until it is stopped and everything has ended.
func (l *loop) run() error {
	var failure error
	for !l.done() {
		if failure = l.poller.wait(l.patience()); failure != nil {
			break
		}
		l.engine.Begin(l.clock.Now())
		l.poller.dispatch(l)
		l.runInbox()
		if failure = l.engine.Finish(); failure != nil {
			break
		}
	}
	return errors.Join(failure, l.abandon())
}

// patience is how long the loop may wait.
func (l *loop) patience() time.Duration {
	d, ok := l.engine.Wait(l.clock.Now())
	if !ok {
		d = -1
	}
	if l.stopping {
		left := max(0, time.Until(l.deadline))
		if !ok || left < d {
			d = left
		}
	}
	return d
}

// stop begins to end the loop.
func (l *loop) stop() {
	if l.stopping {
		return
	}
	l.stopping, l.deadline = true, time.Now().Add(l.grace)
	l.stopAccepting()
	l.poller.stop(l)
	for s := range l.streams {
		s.stop()
	}
}

func (l *loop) stopAccepting() {
	for _, ln := range l.accepting {
		_ = ln.Close() // the goroutine that accepts ends with it
	}
	l.accepting = nil
	select {
	case <-l.accepted:
	default:
		close(l.accepted)
	}
}

func (l *loop) done() bool {
	return l.stopping && (l.engine.Sessions() == 0 || !time.Now().Before(l.deadline))
}

// abandon cuts what is left and waits for every goroutine.
func (l *loop) abandon() error {
	if n := l.engine.Sessions(); n > 0 {
		l.logger.Warn("connections cut off", "connections", n)
	}
	l.stopping, l.over = true, true
	defer close(l.ended)
	l.stopAccepting()
	l.inboxMutex.Lock()
	l.closed = true
	l.inboxMutex.Unlock()
	l.runInbox() // connections that were accepted and not opened are closed
	l.poller.drop()
	for s := range l.streams {
		s.session.Drop()
	}
	l.wg.Wait()
	l.waking.Wait() // nobody begins to: the inbox is closed
	return errors.Join(l.poller.close(), l.engine.Release())
}
