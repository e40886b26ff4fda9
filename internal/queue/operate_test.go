package queue

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
)

func newObserved(t *testing.T, limits Limits) *scene {
	t.Helper()
	if limits.MaxJobSize == 0 {
		limits.MaxJobSize = 100
	}
	return newScene(t, New(Config{Limits: limits, Observed: true}))
}

// operate does something that an operator does and returns what clients are
// told because of it.
func (s *scene) operate(do func(m *Machine) error, want error) string {
	s.t.Helper()
	if err := do(s.machine); !errors.Is(err, want) {
		s.t.Fatalf("the operator is told %v, want %v", err, want)
	}
	s.gather()
	return s.heard()
}

func remove(id protocol.JobID, hold Hold) func(*Machine) error {
	return func(m *Machine) error { return m.Remove(id, hold) }
}

// TestTaken takes a job from the client that holds it in every way; the client
// is told NOT_FOUND whatever it does with it then.
func TestTaken(t *testing.T) {
	ways := map[string]func(s *scene) error{
		"removed":    func(s *scene) error { return s.machine.Remove(1, Take) },
		"buried":     func(s *scene) error { return s.machine.Bury(1, Take) },
		"moved":      func(s *scene) error { return s.machine.Move(s.now, 1, "elsewhere", Take) },
		"given back": func(s *scene) error { return s.machine.GiveBack(s.now, 1, 0) },
		"delayed":    func(s *scene) error { return s.machine.GiveBack(s.now, 1, time.Minute) },
	}
	for name, take := range ways {
		for _, verb := range []string{"touch 1", "release 1 0 0", "bury 1 0", "delete 1"} {
			t.Run(name+", "+verb, func(t *testing.T) {
				s := newObserved(t, Limits{})
				s.put("boss", 0, 0, 10, "job")
				s.expect(s.say("ann", "reserve"), "ann RESERVED 1 3\n  job")
				s.expect(s.operate(func(*Machine) error { return take(s) }, nil), "")
				// A job that is nobody's can be deleted by everybody.
				want := "ann NOT_FOUND"
				if verb == "delete 1" && name != "removed" {
					want = "ann DELETED"
				}
				s.expect(s.say("ann", "%s", verb), want)
				s.pass(time.Hour) // its time to run was the client's
				s.expect(s.heard(), "")
				if got := s.machine.Totals().JobTimeouts; got != 0 {
					t.Errorf("%d timeouts of a job that nobody held", got)
				}
			})
		}
	}
}

// TestTakenFromOneWhoWaits ends the worry about a deadline of somebody who waits
// with a job in hand.
func TestTakenFromOneWhoWaits(t *testing.T) {
	s := newObserved(t, Limits{})
	s.put("boss", 0, 0, 5, "job")
	s.say("ann", "reserve")
	s.say("ann", "reserve-with-timeout 20")
	s.expect(s.operate(func(m *Machine) error { return m.Bury(1, Take) }, nil), "")
	s.pass(19 * time.Second)
	s.expect(s.heard(), "")
	s.pass(2 * time.Second)
	s.expect(s.heard(), "ann TIMED_OUT")
}

// TestServedByOperators gives to those who wait what an operator makes ready.
func TestServedByOperators(t *testing.T) {
	second := time.Second
	ways := map[string]func(s *scene) error{
		"put": func(s *scene) error {
			_, err := s.machine.Insert(s.now, &Insertion{Tube: "default", TTR: second, Body: []byte("new")})
			return err
		},
		"kick buried":  func(s *scene) error { return s.machine.Kick(s.now, 1) },
		"kick delayed": func(s *scene) error { return s.machine.Kick(s.now, 2) },
		"give back":    func(s *scene) error { return s.machine.GiveBack(s.now, 3, 0) },
		"move":         func(s *scene) error { return s.machine.Move(s.now, 4, "default", Respect) },
		"move held":    func(s *scene) error { return s.machine.Move(s.now, 5, "default", Take) },
		"alter":        func(s *scene) error { return s.machine.Alter(s.now, 2, &Alteration{Delay: new(time.Duration)}) },
		"resume":       func(s *scene) error { return s.machine.Pause(s.now, "p", 0) },
	}
	gets := map[string]string{
		"put": "RESERVED 7 3\n  new", "kick buried": "RESERVED 1 1\n  1", "kick delayed": "RESERVED 2 1\n  2", "give back": "RESERVED 3 1\n  3",
		"move": "RESERVED 4 1\n  4", "move held": "RESERVED 5 1\n  5", "alter": "RESERVED 2 1\n  2", "resume": "RESERVED 6 1\n  6",
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			s := newObserved(t, Limits{})
			s.put("boss", 0, 0, 100, "1")
			s.say("cat", "reserve")
			s.say("cat", "bury 1 0")
			s.put("boss", 0, 100, 100, "2")
			s.put("boss", 0, 0, 100, "3")
			s.say("cat", "reserve")
			s.say("boss", "use other")
			s.put("boss", 0, 0, 100, "4")
			s.put("boss", 0, 0, 100, "5")
			s.say("cat", "reserve-job 5")
			s.say("boss", "use p")
			s.say("boss", "pause-tube p 1000")
			s.put("boss", 0, 0, 100, "6")
			s.say("ann", "watch p")
			s.say("ann", "reserve")
			s.say("bob", "watch p")
			s.say("bob", "reserve")
			s.expect(s.operate(func(*Machine) error { return way(s) }, nil), "ann "+gets[name])
		})
	}
}

// TestRefusals leaves everything as it was.
func TestRefusals(t *testing.T) {
	s := newObserved(t, Limits{MaxJobSize: 5, TubeJobs: 2, TubeBytes: 8})
	s.put("boss", 0, 0, 100, "held")
	s.say("ann", "reserve")
	s.put("boss", 0, 0, 100, "1")
	s.say("boss", "use big")
	s.put("boss", 0, 0, 100, "12345")
	s.say("boss", "use lone")
	s.put("boss", 0, 0, 100, "1234")
	s.say("boss", "use default")
	insert := func(tube, body string) func(*Machine) error {
		return func(m *Machine) error {
			_, err := m.Insert(s.now, &Insertion{Tube: tube, Body: []byte(body)})
			return err
		}
	}
	move := func(id protocol.JobID, tube string, hold Hold) func(*Machine) error {
		return func(m *Machine) error { return m.Move(s.now, id, tube, hold) }
	}
	tests := []struct {
		name string
		do   func(*Machine) error
		want error
	}{
		{"a large body", insert("new", "123456"), ErrTooBig},
		{"a full tube", insert("default", ""), ErrNoRoom},
		{"too many bytes", insert("big", "1234"), ErrNoRoom},
		{"no name", insert("", ""), ErrBadTube},
		{"a name with a line's end", insert("a\r\nb", ""), ErrBadTube},
		{"a name that is long", insert(strings.Repeat("t", protocol.MaxTubeName+1), ""), ErrBadTube},
		{"a job that is not there", remove(9, Take), ErrNoJob},
		{"a held job", remove(1, Respect), ErrReserved},
		{"kick of a ready job", func(m *Machine) error { return m.Kick(s.now, 2) }, ErrNotKickable},
		{"kick of a held job", func(m *Machine) error { return m.Kick(s.now, 1) }, ErrNotKickable},
		{"kick of none", func(m *Machine) error { return m.Kick(s.now, 9) }, ErrNoJob},
		{"burial of a held job", func(m *Machine) error { return m.Bury(1, Respect) }, ErrReserved},
		{"burial of none", func(m *Machine) error { return m.Bury(9, Take) }, ErrNoJob},
		{"release of a ready job", func(m *Machine) error { return m.GiveBack(s.now, 2, 0) }, ErrNotReserved},
		{"release of none", func(m *Machine) error { return m.GiveBack(s.now, 9, 0) }, ErrNoJob},
		{"move of a held job", move(1, "new", Respect), ErrReserved},
		{"move of none", move(9, "new", Take), ErrNoJob},
		{"move to no name", move(2, "", Take), ErrBadTube},
		{"move to a bad name", move(1, "a b", Take), ErrBadTube},
		{"move to a full tube", move(3, "default", Take), ErrNoRoom},
		{"move of too many bytes", move(4, "big", Take), ErrNoRoom},
		{"change of a held job", func(m *Machine) error { return m.Alter(s.now, 1, &Alteration{}) }, ErrReserved},
		{"change of none", func(m *Machine) error { return m.Alter(s.now, 9, &Alteration{}) }, ErrNoJob},
		{"pause of no tube", func(m *Machine) error { return m.Pause(s.now, "new", time.Second) }, ErrNoTube},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s.t = t
			before := s.look()
			s.expect(s.operate(test.do, test.want), "")
			if after := s.look(); after != before {
				t.Errorf("it has changed\n%s\nto\n%s", before, after)
			}
		})
	}
	s.t = t
	s.machine.SetDraining(true)
	s.operate(insert("new", ""), ErrDraining)
	s.machine.SetDraining(false)
	s.machine.SetFull(true)
	before := s.look()
	s.operate(insert("new", ""), ErrNoRoom)
	if after := s.look(); after != before {
		t.Errorf("it has changed\n%s\nto\n%s", before, after)
	}
	// What is there can be changed though there is no room for more.
	s.operate(func(m *Machine) error { return m.Move(s.now, 2, "new", Respect) }, nil)
	s.expect(s.say("ann", "delete 1"), "ann DELETED")
}

// look is all that operators see, but for jobs' bodies.
func (s *scene) look() string {
	var b strings.Builder
	m := s.machine
	m.Tubes(0, 1000, func(v *TubeView) {
		v.wait, v.run = nil, nil
		fmt.Fprintf(&b, "%+v\n", *v)
	})
	m.Clients(0, 1000, 10, func(v *ClientView) { fmt.Fprintf(&b, "%+v\n", *v) })
	m.Walk(0, 1000, &Selection{}, func(_ Position, rank Rank) {
		v, _ := m.Job(rank.ID)
		fmt.Fprintf(&b, "%+v\n", v)
	})
	return b.String()
}

// TestIncomingIsNobodys does not let an operator at a job whose body is under
// way, and does not show it.
func TestIncomingIsNobodys(t *testing.T) {
	s := newObserved(t, Limits{TubeJobs: 1})
	s.say("ann", "use a")
	s.send("ann", "put 0 0 10 3\r\nab")
	for name, do := range map[string]func(m *Machine) error{
		"remove": remove(1, Take),
		"move":   func(m *Machine) error { return m.Move(s.now, 1, "b", Take) },
		"bury":   func(m *Machine) error { return m.Bury(1, Take) },
		"alter":  func(m *Machine) error { return m.Alter(s.now, 1, &Alteration{}) },
	} {
		t.Run(name, func(*testing.T) { s.operate(do, ErrNoJob) })
	}
	if _, ok := s.machine.Job(1); ok {
		t.Error("a job is shown whose body is under way")
	}
	if s.machine.Walk(0, 100, &Selection{}, func(_ Position, rank Rank) { t.Errorf("a walk meets job %d", rank.ID) }) != 0 {
		t.Error("the walk does not end")
	}
	// The tube is that of the put, whatever happens to it meanwhile.
	if id, err := s.machine.Insert(s.now, &Insertion{Tube: "a", TTR: time.Second}); id != 2 || err != nil {
		t.Fatal(id, err)
	}
	s.operate(remove(2, Take), nil)
	s.send("ann", "c\r\n")
	s.expect(s.heard(), "ann INSERTED 1")
	s.operate(func(m *Machine) error { return m.Move(s.now, 1, "b", Take) }, nil)
	v, _ := s.machine.Job(1)
	if v.Tube != "b" || v.State != Ready {
		t.Errorf("the job is %v in %q", v.State, v.Tube)
	}
}

// TestUrgencyAltered moves jobs over the limit of what is urgent and back.
func TestUrgencyAltered(t *testing.T) {
	s := newObserved(t, Limits{})
	s.put("boss", int(protocol.UrgentBelow), 0, 10, "a")
	s.put("boss", int(protocol.UrgentBelow)-1, 0, 10, "b")
	s.put("boss", 5, 100, 10, "delayed")
	s.say("boss", "pause-tube default 100")
	alter := func(id protocol.JobID, pri protocol.Priority) {
		t.Helper()
		s.operate(func(m *Machine) error { return m.Alter(s.now, id, &Alteration{Priority: &pri}) }, nil)
	}
	expect := func(want uint64) {
		t.Helper()
		if v, _ := s.machine.Tube("default"); v.Jobs.Urgent != want || s.machine.Totals().Jobs.Urgent != want {
			t.Fatalf("%d and in all %d jobs are urgent, want %d", v.Jobs.Urgent, s.machine.Totals().Jobs.Urgent, want)
		}
	}
	expect(1)
	alter(1, protocol.UrgentBelow-1)
	expect(2)
	alter(2, protocol.UrgentBelow)
	expect(1)
	alter(3, protocol.UrgentBelow)
	expect(1)
	alter(3, 7)
	expect(1) // it is delayed
	s.operate(func(m *Machine) error { return m.Alter(s.now, 3, &Alteration{Delay: new(time.Duration)}) }, nil)
	expect(2)
	s.operate(func(m *Machine) error { return m.Move(s.now, 3, "elsewhere", Respect) }, nil)
	if v, _ := s.machine.Tube("elsewhere"); v.Jobs.Urgent != 1 {
		t.Errorf("%d jobs are urgent elsewhere", v.Jobs.Urgent)
	}
	s.say("ann", "watch elsewhere")
	s.expect(s.say("ann", "reserve"), "ann RESERVED 3 7\n  delayed")
	s.operate(func(m *Machine) error { return m.Pause(s.now, "default", 0) }, nil)
	s.expect(s.say("ann", "reserve"), "ann RESERVED 1 1\n  a") // as its new priority says
}

// TestAlterKeepsItsAge does not make a job young whose priority is changed.
func TestAlterKeepsItsAge(t *testing.T) {
	s := newObserved(t, Limits{})
	s.put("boss", 9, 0, 10, "old")
	born := s.now
	s.pass(time.Hour)
	s.put("boss", 0, 0, 10, "young")
	pri := protocol.Priority(0)
	s.operate(func(m *Machine) error { return m.Alter(s.now, 1, &Alteration{Priority: &pri}) }, nil)
	if v, _ := s.machine.Job(1); v.Since != born {
		t.Errorf("the job is ready since %d, want %d", v.Since, born)
	}
	if v, _ := s.machine.Tube("default"); v.ReadySince != born {
		t.Errorf("the oldest is ready since %d, want %d", v.ReadySince, born)
	}
	s.expect(s.say("ann", "reserve"), "ann RESERVED 1 3\n  old")
	v, _ := s.machine.Tube("default")
	if wait := v.Wait(); wait.Sum != time.Hour || wait.Count != 1 {
		t.Errorf("it has waited %v", wait.Sum)
	}
	s.pass(2 * time.Second)
	s.say("ann", "delete 1")
	v, _ = s.machine.Tube("default")
	if run := v.Run(); run.Sum != 2*time.Second || run.Count != 1 {
		t.Errorf("it has run %v", run.Sum)
	}
}

// TestTubeGoneDuringWalk ends a walk, and does not mix up the tube with the one
// that has its number then.
func TestTubeGoneDuringWalk(t *testing.T) {
	s := newObserved(t, Limits{})
	s.say("boss", "use a")
	for range 10 {
		s.put("boss", 0, 0, 10, "a")
	}
	s.say("boss", "use default")
	sel := &Selection{Tube: "a"}
	met := 0
	count := func(Position, Rank) { met++ }
	at := s.machine.Walk(0, 4, sel, count)
	for id := range protocol.JobID(10) {
		s.operate(remove(id+1, Take), nil)
	}
	s.say("boss", "use b") // has the number of a
	for range 10 {
		s.put("boss", 0, 0, 10, "b")
	}
	if _, ok := s.machine.Tube("a"); ok {
		t.Fatal("the tube is still there")
	}
	if at = s.machine.Walk(at, 100, sel, count); at != 0 || met != 4 {
		t.Errorf("after the tube had gone the walk met %d jobs and goes on at %d", met-4, at)
	}
}

// TestEvents names every event.
func TestEvents(t *testing.T) {
	names := make(map[string]bool)
	for e := range events {
		names[e.String()] = true
	}
	if len(names) != int(events) || names[""] {
		t.Errorf("the names are %v", names)
	}
}
