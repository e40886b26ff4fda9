package top

import (
	"time"

	"github.com/haricotq/haricot/internal/remote"
)

// Event is something that a model is told of.
type Event interface{ event() }

// Resized says how large the screen is.
type Resized struct{ Width, Height int }

// Pressed says that a key was pressed.
type Pressed struct{ Key Key }

// Sampled brings a new sample. There is a connection, then.
type Sampled struct{ Sample *Sample }

// Peeked brings what is next in a tube that was asked for; a state without jobs has nil.
type Peeked struct {
	Tube string
	Next map[remote.State]*remote.Job
}

// Lost says that there is no connection, and why.
type Lost struct{ Err error }

// Answered says what has become of a request.
type Answered struct {
	Text string
	Bad  bool // It was refused.
}

func (Resized) event()  {}
func (Pressed) event()  {}
func (Sampled) event()  {}
func (Peeked) event()   {}
func (Lost) event()     {}
func (Answered) event() {}

// Key is a key: the character that it types, or one of the names below.
type Key string

// The keys that type no character.
const (
	KeyUp        Key = "up"
	KeyDown      Key = "down"
	KeyPageUp    Key = "page up"
	KeyPageDown  Key = "page down"
	KeyHome      Key = "home"
	KeyEnd       Key = "end"
	KeyEnter     Key = "enter"
	KeyEscape    Key = "escape"
	KeyBackspace Key = "backspace"
	KeyF1        Key = "f1"
	KeyF4        Key = "f4"
	KeyF6        Key = "f6"
	KeyF10       Key = "f10"
	KeyControlC  Key = "control c"
	KeyControlL  Key = "control l"
	KeyControlU  Key = "control u"
)

// Request is something that a model wants to have done.
type Request interface{ request() }

// Quit asks for the end.
type Quit struct{}

// Redraw asks for the whole screen to be drawn anew, in case somebody else has written to it.
type Redraw struct{}

// Follow asks for what is next in a tube, from now on with every sample; in none, if the tube is "".
type Follow struct{ Tube string }

// Every asks for samples at an interval.
type Every struct{ Interval time.Duration }

// Pause asks for a tube to be paused; for it to go on, if the length is 0.
type Pause struct {
	Tube   string
	Length time.Duration // whole seconds
}

// Kick asks for jobs of a tube to be made ready.
type Kick struct {
	Tube  string
	State remote.State // buried or delayed
	Most  int
}

func (Quit) request()   {}
func (Redraw) request() {}
func (Follow) request() {}
func (Every) request()  {}
func (Pause) request()  {}
func (Kick) request()   {}
