package operator

import "time"

// SetClock has the operator take the time from somewhere else, for what it does
// by the length of its steps.
func (o *Operator) SetClock(now func() time.Time) { o.now = now }

// StepTime is how long a step may take, Portion how many records it looks at
// between looks at the clock.
const (
	StepTime   = stepTime
	Portion    = portion
	ActPortion = actPortion
	BodyStep   = bodyStep
)
