package engine

import (
	"fmt"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// Config says how an engine works.
type Config struct {
	Limits Limits
	// Store keeps what must survive; nil keeps nothing.
	Store Store
	// Post has the loop call a function in its next turn. It is needed with a
	// store only, and may be called by any goroutine.
	Post func(func())
	// Unreadable is told of a job whose body the store cannot read.
	Unreadable func(id protocol.JobID, err error)
	// Process reports the part of stats that the queue does not know.
	Process func() protocol.ProcessStats
	// Observed has the queue and the engine note what only operators ask for:
	// how long jobs wait and run, and how long commits take.
	Observed bool
}

// Limits say what the queue may hold.
type Limits = queue.Limits

// dueBudget is how many due jobs, pauses and waits a turn attends to at most,
// so that clients are served while a storm of delayed jobs falls due. It takes
// well under a millisecond.
const dueBudget = 1000

// Engine owns the queue and the sessions that act on it.
type Engine struct {
	config  Config
	machine *queue.Machine
	now     queue.Instant // of the running turn

	sessions []*Session // by ClientID; nil where there is none
	open     int
	// resumed are sessions that can go on with input they had to keep, dirty
	// those with something to send or to close.
	resumed []*Session
	dirty   []*Session
	sending []*Session // those of the last turn, emptied
	moreDue bool

	told     []func() // to be called once what has changed is safe
	workload Workload
	// committing is how long the commit of the running turn took.
	committing time.Duration

	buffers  [][]byte // for output, empty and ready for use
	spare    int      // their capacity in bytes
	document []byte
}

// New makes an engine with an empty queue.
func New(config Config) *Engine {
	return &Engine{config: config, machine: queue.New(queue.Config{
		Limits: config.Limits, Durable: config.Store != nil, Observed: config.Observed,
	})}
}

// Release gives back the memory of all jobs. The engine is of no use after it.
func (e *Engine) Release() error { return e.machine.Release() }

// SetDraining makes the server refuse puts, or take them again.
func (e *Engine) SetDraining(on bool) { e.machine.SetDraining(on) }

// Open makes a session for a connection.
func (e *Engine) Open(conn Conn) *Session {
	s := &Session{engine: e, conn: conn, client: e.machine.Open(), opened: e.now}
	for int(s.client) >= len(e.sessions) {
		e.sessions = append(e.sessions, nil)
	}
	e.sessions[s.client] = s
	e.open++
	return s
}

// Sessions returns how many sessions are open or have output left to send.
func (e *Engine) Sessions() int { return e.open }

// Begin starts a turn at a moment and does what is due.
func (e *Engine) Begin(now queue.Instant) {
	e.now = now
	if e.config.Store != nil {
		e.machine.SetFull(e.config.Store.Full())
	}
	e.moreDue = e.machine.Advance(now, dueBudget)
	e.route()
}

// Recover brings back the jobs that the store has kept and returns how many.
// It must be called before the first turn.
func (e *Engine) Recover(now queue.Instant) (jobs int, err error) {
	if e.config.Store == nil {
		return 0, nil
	}
	if jobs, err = e.config.Store.Recover(e.machine.Restore(now)); err != nil {
		return jobs, fmt.Errorf("engine: %w", err)
	}
	return jobs, nil
}

// Finish ends the turn: sessions that were held up go on with the input that
// they kept, then everything is made safe, and then sent. After an error
// nothing has been sent and the engine must not be used again.
func (e *Engine) Finish() error {
	for len(e.resumed) > 0 {
		s := e.resumed[len(e.resumed)-1]
		e.resumed = e.resumed[:len(e.resumed)-1]
		s.resume()
	}
	if err := e.commit(); err != nil {
		return err
	}
	for i, tell := range e.told {
		e.told[i] = nil
		tell()
	}
	e.told = e.told[:0]
	// Sending may find a connection broken, whose jobs then go to others: those
	// are sent in the next turn.
	e.dirty, e.sending = e.sending[:0], e.dirty
	for i, s := range e.sending {
		e.sending[i] = nil
		s.dirty = false
		s.flush()
	}
	return nil
}

// Wait returns how long the next turn can wait if nothing arrives; ok is false
// if for ever. It is called once after each turn, and ends what the turn is
// taken to have lasted.
func (e *Engine) Wait(now queue.Instant) (d time.Duration, ok bool) {
	if e.now != 0 {
		e.workload.Turns++
		e.workload.Busy += time.Duration(now-e.now) - e.committing
		e.committing = 0
	}
	if e.moreDue || len(e.resumed) > 0 || len(e.dirty) > 0 {
		return 0, true
	}
	at, ok := e.machine.Next()
	return max(0, time.Duration(at-now)), ok
}

// route brings the machine's replies to their sessions.
func (e *Engine) route() {
	replies := e.machine.Replies()
	for i := range replies {
		r := &replies[i]
		if r.Form == protocol.ServerDocument {
			stats, process := e.machine.Stats(), e.config.Process()
			e.document = protocol.AppendStats(e.document[:0], &stats, &process)
			r.Form, r.Data = protocol.Document, e.document
		}
		if s := e.sessions[r.To]; r.Away {
			s.load(*r)
		} else {
			s.reply(&r.Reply)
		}
	}
	e.machine.Clear()
}

// Output buffers go from session to session, so that an idle connection has
// none. Very large ones, and what is more than enough of them, are left to the
// garbage collector.
const (
	smallBuffer = 4 << 10
	largeBuffer = 1 << 20
	spareLimit  = 8 << 20
)

func (e *Engine) takeBuffer() []byte {
	if n := len(e.buffers); n > 0 {
		b := e.buffers[n-1]
		e.buffers[n-1] = nil
		e.buffers = e.buffers[:n-1]
		e.spare -= cap(b)
		return b
	}
	return make([]byte, 0, smallBuffer)
}

func (e *Engine) giveBuffer(b []byte) {
	if size := cap(b); size > 0 && size <= largeBuffer && e.spare+size <= spareLimit {
		e.buffers = append(e.buffers, b[:0])
		e.spare += size
	}
}
