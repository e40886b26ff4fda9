package queue

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
)

// The number of a tube that is gone goes to a new one, and no job of another
// is taken for its.
func TestTubeNumbers(t *testing.T) {
	s := newScene(t, New(Config{Limits: Limits{MaxJobSize: 10}}))
	for i := range 5 {
		s.say("a", "use t%d", i)
		s.put("a", 0, 0, 60, fmt.Sprint(i))
	}
	s.say("a", "use default")
	number := s.machine.tubes["t2"].number
	s.say("a", "delete 3")
	if s.machine.tubes["t2"] != nil || s.machine.numbered[number] != nil {
		t.Fatal("t2 still exists")
	}
	s.say("a", "use other")
	if got := s.machine.tubes["other"].number; got != number {
		t.Errorf("the new tube has number %d, not %d again", got, number)
	}
	s.heard()
	s.expect(s.say("a", "peek-ready"), "a NOT_FOUND")
	s.put("a", 0, 0, 60, "o")
	s.heard()
	s.expect(s.say("a", "peek-ready"), "a FOUND 6 1\n  o")
	for i := range 5 {
		if i != 2 {
			s.say("b", "use t%d", i)
			s.heard()
			s.expect(s.say("b", "peek-ready"), fmt.Sprintf("b FOUND %d 1\n  %d", i+1, i))
		}
	}
	// However many tubes come and go, there are no more numbers than there were tubes at once.
	for i := range 1000 {
		s.say("c", "use passing%d", i)
	}
	if n := len(s.machine.numbered); n > 10 {
		t.Errorf("%d numbers for 8 tubes", n)
	}
}

// The id of a client that is gone goes to a new one, who is nobody's heir.
func TestClientsComeAndGo(t *testing.T) {
	s := newScene(t, New(Config{Limits: Limits{MaxJobSize: 10}}))
	s.put("a", 0, 0, 60, "x")
	s.send("b", "use t\r\nwatch t\r\nreserve-job 1\r\n")
	id := s.actor("b").id
	s.leave("b")
	s.heard()
	if got := s.actor("c").id; got != id {
		t.Fatalf("c is client %d, b was %d", got, id)
	}
	s.expect(s.say("c", "list-tube-used"), "c USING default")
	s.expect(s.say("c", "release 1 0 0"), "c NOT_FOUND")
	s.expect(s.say("c", "reserve-with-timeout 0"), "c RESERVED 1 1\n  x")
	for range 1000 {
		s.actor("d")
		s.leave("d")
	}
	if n := len(s.machine.clients); n > 4 {
		t.Errorf("%d ids for 3 clients at once", n-1)
	}
	if got := s.machine.Stats(); got.Connections != 2 || got.TotalConnections != 1003 {
		t.Errorf("%d of %d connections", got.Connections, got.TotalConnections)
	}
}

// Advance does no more at once than it may, and says whether more is due.
func TestAdvanceInPortions(t *testing.T) {
	s := newScene(t, New(Config{Limits: Limits{MaxJobSize: 10}}))
	if at, ok := s.machine.Next(); ok {
		t.Fatalf("an empty queue has something due at %v", at)
	}
	for range 1000 {
		s.put("a", 0, 5, 60, "")
	}
	if at, ok := s.machine.Next(); !ok || at != start.add(5*time.Second) {
		t.Fatalf("the next thing is due at %v, %v", at, ok)
	}
	if s.machine.Advance(start.add(5*time.Second)-1, 10) {
		t.Error("something is due too soon")
	}
	now := start.add(5 * time.Second)
	for done := uint64(0); done < 1000; {
		more := s.machine.Advance(now, 300)
		done = min(done+300, 1000)
		if n := s.machine.Stats().Jobs.Ready; n != done {
			t.Fatalf("%d jobs are ready, want %d", n, done)
		}
		if more != (done < 1000) {
			t.Fatalf("after %d of 1000 jobs Advance says %v", done, more)
		}
	}
	if at, ok := s.machine.Next(); ok {
		t.Errorf("something is still due at %v", at)
	}
}

// The furthest moments that the protocol can name lie within the clock.
func TestFarFuture(t *testing.T) {
	s := newScene(t, New(Config{Limits: Limits{MaxJobSize: 10}}))
	const longest = 1<<32 - 1
	s.expect(s.say("a", "put 0 %d %d 0\r\n", longest, longest), "a INSERTED 1")
	s.expect(s.say("a", "pause-tube default %d", longest), "a PAUSED")
	s.expect(s.say("w", "reserve-with-timeout %d", 1<<31-1), "")
	s.expect(s.say("v", "reserve-job 1"), "v RESERVED 1 0")
	s.pass(time.Hour)
	s.expect(s.say("v", "release 1 %d %d", longest, longest), "v RELEASED")
	s.expect(s.heard(), "")
	if got := s.say("a", "stats-job 1"); !strings.Contains(got, fmt.Sprintf("time-left: %d\n", longest-1)) {
		t.Errorf("%s", got)
	}
	s.pass((1<<31 - 1) * time.Second)
	s.expect(s.heard(), "w TIMED_OUT")
}

// put and quit do not go through Apply.
func TestApplyRefuses(t *testing.T) {
	for _, v := range []protocol.Verb{protocol.Put, protocol.Quit} {
		func() {
			m := New(Config{})
			defer m.Release()
			defer func() {
				if recover() == nil {
					t.Errorf("%v was applied", v)
				}
			}()
			m.Apply(start, m.Open(), &protocol.Command{Verb: v})
		}()
	}
}

// Every other verb has an answer, or makes the client wait.
func TestApplyKnowsEveryVerb(t *testing.T) {
	for _, v := range protocol.Verbs() {
		if v == protocol.Put || v == protocol.Quit {
			continue
		}
		m := New(Config{})
		id := m.Open()
		m.Apply(start, id, &protocol.Command{Verb: v, ID: 1, Tube: []byte("default"), Count: 1})
		if len(m.Replies()) != 1 && !m.Waiting(id) {
			t.Errorf("%v has %d answers", v, len(m.Replies()))
		}
		if n := m.Stats().Commands[v]; n != 1 {
			t.Errorf("%v was counted %d times", v, n)
		}
		if err := m.Release(); err != nil {
			t.Error(err)
		}
	}
}

// What Check is for it must see: each of these takes something away from a
// queue that is sound.
func TestCheckSees(t *testing.T) {
	for name, damage := range map[string]func(m *Machine, t *tube, c *client){
		"a job not counted":                  func(_ *Machine, t *tube, _ *client) { t.jobs.Ready-- },
		"an urgent job not counted":          func(m *Machine, t *tube, _ *client) { t.jobs.Urgent--; m.stats.Jobs.Urgent-- },
		"a sum that is not the sum":          func(m *Machine, _ *tube, _ *client) { m.stats.Jobs.Buried++ },
		"a job in a wrong state":             func(m *Machine, t *tube, _ *client) { m.job(t.ready.head().slot).state = Delayed },
		"a job in a wrong place":             func(m *Machine, t *tube, _ *client) { m.job(t.ready.head().slot).place = 7 },
		"a job of another tube":              func(m *Machine, t *tube, _ *client) { m.job(t.ready.head().slot).tube = m.tubes["default"].number },
		"a key that is not the job's":        func(m *Machine, t *tube, _ *client) { m.job(t.ready.head().slot).priority++ },
		"a deadline that is not the job's":   func(m *Machine, t *tube, _ *client) { m.job(t.delayed.head().slot).deadline++ },
		"a heap out of order":                func(_ *Machine, t *tube, _ *client) { swapEnds(&t.ready) },
		"a job in two places":                func(m *Machine, t *tube, _ *client) { t.buried.append(m, t.buried.first) },
		"a list that goes on":                func(m *Machine, t *tube, _ *client) { t.buried.last = 0 },
		"a broken link":                      func(m *Machine, t *tube, _ *client) { m.past(t.buried.last).prev = 0 },
		"a job without a record in place":    func(_ *Machine, _ *tube, c *client) { c.held = chain{} },
		"another owner":                      func(m *Machine, _ *tube, c *client) { m.past(c.held.first).owner = 99 },
		"a job that the index lost":          func(m *Machine, t *tube, _ *client) { m.leave(t.ready.head().slot) },
		"an index that counts wrongly":       func(m *Machine, _ *tube, _ *client) { m.ids.shards[1].used++ },
		"an index with a job elsewhere":      func(m *Machine, t *tube, _ *client) { m.job(t.ready.head().slot).id += 7 },
		"a tube not at its place":            func(_ *Machine, t *tube, _ *client) { t.at++ },
		"a tube with another number":         func(m *Machine, t *tube, _ *client) { m.numbered[t.number] = nil },
		"a tube that nothing refers to":      func(m *Machine, _ *tube, _ *client) { m.makeTube([]byte("stray")) },
		"a tube not among the holding":       func(m *Machine, _ *tube, _ *client) { m.holding = nil },
		"a timer that is gone":               func(m *Machine, t *tube, _ *client) { m.timers.remove(&t.timer) },
		"a timer that is late":               func(m *Machine, t *tube, _ *client) { m.timers.raise(&t.timer, int64(forever)) },
		"a client's timer that is gone":      func(m *Machine, _ *tube, c *client) { m.timers.remove(&c.timer) },
		"timers out of order":                func(m *Machine, _ *tube, _ *client) { m.timers[0].key = int64(forever) - 1 },
		"a timer elsewhere":                  func(m *Machine, t *tube, _ *client) { t.timer.place = 1 - t.timer.place },
		"a waiting client not counted":       func(m *Machine, _ *tube, _ *client) { m.stats.Waiting-- },
		"a client that waits beside a job":   func(m *Machine, _ *tube, c *client) { c.waiting = true; m.stats.Waiting++ },
		"a watch that is nowhere":            func(_ *Machine, _ *tube, c *client) { c.watches[0].at++ },
		"a watch neither in line nor away":   func(_ *Machine, _ *tube, c *client) { c.away[0], c.away[1] = c.away[1], c.away[0] },
		"a watch that says it is in line":    func(_ *Machine, t *tube, c *client) { c.watchOf(t).place = 0; t.line = order{&watchOfAnother(t).item} },
		"a record that is in no place":       func(m *Machine, _ *tube, _ *client) { m.jobs.Alloc() },
		"a line out of order":                func(m *Machine, _ *tube, _ *client) { l := m.tubes["default"].line; l[0].key, l[1].key = 9, 1 },
		"a place in line behind the ticket":  func(m *Machine, _ *tube, _ *client) { l := m.tubes["default"].line; l[1].key = 99 },
		"an end of the list of reservations": func(_ *Machine, _ *tube, c *client) { c.held.last = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, New(Config{Limits: Limits{MaxJobSize: 10}}))
			s.send("p", "use x\r\n")
			for _, delay := range []int{0, 0, 0, 9, 9} {
				s.put("p", 5, delay, 60, "x")
			}
			for range 4 {
				s.put("p", 0, 0, 60, "x")
			}
			// w holds two jobs, two are buried; u and v wait at default.
			s.send("w", "watch x\r\nreserve\r\nreserve\r\nreserve\r\nreserve\r\nbury 6 0\r\nbury 7 0\r\nput 1 0 60 1\r\nx\r\nreserve-job 10\r\n")
			s.send("u", "reserve\r\n")
			s.send("v", "reserve\r\n")
			if err := s.machine.Check(); err != nil {
				t.Fatal("before the damage:", err)
			}
			damage(s.machine, s.machine.tubes["x"], s.machine.clients[s.actor("w").id])
			if !unsound(s.machine) {
				t.Error("not seen")
			}
		})
	}
}

// unsound tells whether Check finds a fault, or stumbles over one.
func unsound(m *Machine) (yes bool) {
	defer func() {
		if recover() != nil {
			yes = true
		}
	}()
	return m.Check() != nil
}

func swapEnds(h *heap) {
	a, b := h.at(0), h.at(h.n-1)
	*a, *b = *b, *a
}

// watchOfAnother is a watch that belongs to no client.
func watchOfAnother(t *tube) *watch {
	return &watch{item: item{tube: t, client: &client{}}}
}
