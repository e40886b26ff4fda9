package sim

import (
	"errors"
	"testing"

	"github.com/haricotq/haricot/internal/engine"
	"github.com/haricotq/haricot/internal/queue"
)

// operates has an operator carry out a step, and returns whether he was told
// that it is done.
func (s *stage) operates(step func(*engine.Turn) error) (done bool) {
	s.t.Helper()
	s.turn(func() {
		s.engine.Operate(func(t *engine.Turn) {
			if err := step(t); err != nil {
				s.t.Error(err)
			}
		}, func() { done = true })
	})
	return done
}

// TestTakenWhileLoading takes a job from a client that has not got its body yet,
// in every way. The client is told the job, as if it had been taken right after,
// and goes on; another may have it.
func TestTakenWhileLoading(t *testing.T) {
	tests := []struct {
		name  string
		take  func(t *engine.Turn) error
		state queue.State // Incoming: it has gone
	}{
		{"deleted", func(t *engine.Turn) error { return t.Remove(1, queue.Take) }, queue.Incoming},
		{"buried", func(t *engine.Turn) error { return t.Bury(1, queue.Take) }, queue.Buried},
		{"released", func(t *engine.Turn) error { return t.GiveBack(t.Now, 1, 0) }, queue.Ready},
		{"moved", func(t *engine.Turn) error { return t.Move(t.Now, 1, "elsewhere", queue.Take) }, queue.Ready},
	}
	for _, test := range tests {
		for _, fault := range []error{nil, errors.New("unreadable")} {
			t.Run(test.name, func(t *testing.T) {
				s := newStage(t, 1)
				p := s.person()
				p.says("reserve", "touch 1", "list-tube-used")
				if !s.operates(test.take) {
					t.Error("the operator is not told that it is done")
				}
				p.hears("while its body is read")
				s.finish(1, fault)
				said := []string{"RESERVED 1 6", body(1)}
				if fault != nil {
					said = []string{"INTERNAL_ERROR"}
				}
				p.hears("when it is read", append(said, "NOT_FOUND", "USING default")...)
				s.operates(func(turn *engine.Turn) error {
					v, ok := turn.Job(1)
					if ok != (test.state != queue.Incoming) || v.State != test.state {
						t.Errorf("the job is %v, want %v", v.State, test.state)
					}
					return turn.Check()
				})
			})
		}
	}
}

// TestTakenForAnotherWhileLoading gives a job to somebody else whose body is
// being read for the one that it was taken from.
func TestTakenForAnotherWhileLoading(t *testing.T) {
	s := newStage(t, 1)
	ann, bob := s.person(), s.person()
	ann.says("reserve")
	bob.says("reserve")
	s.operates(func(t *engine.Turn) error { return t.GiveBack(t.Now, 1, 0) })
	s.finish(1, nil)
	ann.hears("whose load was first", "RESERVED 1 6", body(1))
	bob.hears("whose load is under way")
	ann.says("delete 1")
	ann.hears("of a job that is another's", "NOT_FOUND")
	s.finish(1, nil)
	bob.hears("whose job it is", "RESERVED 1 6", body(1))
	bob.says("delete 1")
	bob.hears("of its job", "DELETED")
}
