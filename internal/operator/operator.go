package operator

import (
	"context"
	"log/slog"
	"time"

	"github.com/haricotq/haricot/internal/engine"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// Door is the way into the loop of a server.
type Door interface {
	// Operate carries out a step in the loop and returns when what it changed
	// is safe.
	Operate(step func(*engine.Turn)) error
}

// Operator looks at a running server. It may be used by many goroutines.
type Operator struct {
	door   Door
	logger *slog.Logger
	now    func() time.Time
}

// New makes an operator. The logger gets a line for each change.
func New(door Door, logger *slog.Logger) *Operator {
	return &Operator{door, logger, time.Now}
}

const (
	// stepTime is how long a step holds the loop up: about what a client's
	// command costs, so that others hardly notice.
	stepTime = 50 * time.Microsecond
	// portion is how many records a step looks at between looks at the clock.
	portion = 64
)

// inSteps carries out work in the loop, a portion at a time, until there is no
// more.
func (o *Operator) inSteps(ctx context.Context, work func(t *engine.Turn) (more bool)) error {
	for more := true; more; {
		var err error
		if more, err = o.step(ctx, work); err != nil {
			return err
		}
	}
	return nil
}

// step carries out a step of such work.
func (o *Operator) step(ctx context.Context, work func(t *engine.Turn) (more bool)) (more bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	err = o.door.Operate(func(t *engine.Turn) {
		// One portion at least: the thread may just have been left waiting.
		for began := o.now(); ; {
			if more = work(t); !more || o.now().Sub(began) >= stepTime {
				return
			}
		}
	})
	return more, err
}

// Time is the wall-clock time of a moment, the zero time of 0.
func Time(i queue.Instant) time.Time {
	if i == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(i))
}

// Totals is the server in numbers.
type Totals struct {
	queue.Totals
	Process  protocol.ProcessStats
	Workload engine.Workload
	Now      queue.Instant
}

// OldestReady is how long the oldest ready job is ready, to an eighth; 0 if
// there is none.
func (t *Totals) OldestReady() time.Duration { return since(t.ReadySince, t.Now) }

func since(then, now queue.Instant) time.Duration {
	if then == 0 {
		return 0
	}
	return max(0, time.Duration(now-then))
}

// Totals looks at the server as a whole.
func (o *Operator) Totals() (t Totals, err error) {
	err = o.door.Operate(func(turn *engine.Turn) {
		t = Totals{turn.Machine.Totals(), turn.Process(), turn.Workload(), turn.Now}
	})
	return t, err
}

// Tube is a tube as it was at a moment.
type Tube struct {
	queue.TubeView
	Now queue.Instant
	// Waits and Runs are how long jobs waited to be reserved, and ran until they
	// were deleted. Only a tube that was asked for by name has them.
	Waits, Runs queue.Histogram
}

// OldestReady is how long the oldest ready job is ready, to an eighth; 0 if
// there is none.
func (t *Tube) OldestReady() time.Duration { return since(t.ReadySince, t.Now) }

// PauseLeft is how long the tube is still paused; 0 if it is not.
func (t *Tube) PauseLeft() time.Duration {
	if t.Pause == 0 {
		return 0
	}
	return max(0, time.Duration(t.Resume-t.Now))
}

// Tube looks at a tube. It returns queue.ErrNoTube if there is none of that name.
func (o *Operator) Tube(name string) (tube Tube, err error) {
	found := false
	err = o.door.Operate(func(t *engine.Turn) {
		if tube.TubeView, found = t.Tube(name); found {
			tube.Now, tube.Waits, tube.Runs = t.Now, tube.Wait(), tube.Run()
		}
	})
	if err == nil && !found {
		err = queue.ErrNoTube
	}
	return tube, err
}

// Tubes visits every tube, in the order in which they were made. What is visited
// holds until the visit is over, and copies of it longer.
func (o *Operator) Tubes(ctx context.Context, visit func(*Tube)) error {
	at, seen := queue.Position(0), make([]Tube, 0, portion)
	for more := true; more; {
		var err error
		seen = seen[:0]
		more, err = o.step(ctx, func(t *engine.Turn) bool {
			at = t.Tubes(at, portion, func(v *queue.TubeView) {
				seen = append(seen, Tube{TubeView: *v, Now: t.Now})
			})
			return at != 0
		})
		if err != nil {
			return err
		}
		for i := range seen {
			visit(&seen[i])
		}
	}
	return nil
}

// TubesInLoop is Tubes with the visits in the loop, so they must be short. Wait
// and Run may be called during a visit.
func (o *Operator) TubesInLoop(ctx context.Context, visit func(*Tube)) error {
	at := queue.Position(0)
	var tube Tube // one for all, so that a pass over very many leaves no garbage
	return o.inSteps(ctx, func(t *engine.Turn) bool {
		at = t.Tubes(at, portion, func(v *queue.TubeView) {
			tube = Tube{TubeView: *v, Now: t.Now}
			visit(&tube)
		})
		return at != 0
	})
}

// Connection is a client as it was at a moment.
type Connection struct {
	queue.ClientView
	engine.Peer
	Opened queue.Instant
	Now    queue.Instant
}

// listMost is how many tubes and jobs of a connection a list of connections
// shows; one connection by itself shows more.
const (
	listMost       = 20
	connectionMost = 1000
)

// Connections visits every connection, as Tubes does with tubes.
func (o *Operator) Connections(ctx context.Context, visit func(*Connection)) error {
	at := queue.Position(0)
	return o.inSteps(ctx, func(t *engine.Turn) bool {
		at = t.Clients(at, portion, listMost, func(v *queue.ClientView) {
			visit(connection(t, v))
		})
		return at != 0
	})
}

// Connection looks at one connection; ok is false if there is none of that
// number.
func (o *Operator) Connection(id queue.ClientID) (c *Connection, ok bool, err error) {
	err = o.door.Operate(func(t *engine.Turn) {
		var v queue.ClientView
		if v, ok = t.Client(id, connectionMost); ok {
			c = connection(t, &v)
		}
	})
	return c, ok, err
}

func connection(t *engine.Turn, v *queue.ClientView) *Connection {
	c := &Connection{ClientView: *v, Now: t.Now}
	c.Peer, c.Opened = t.Peer(v.ID)
	return c
}
