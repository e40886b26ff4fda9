package queue

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/haricotq/haricot/internal/protocol"
)

// What operators do in the random sessions, with limits, and with a store.

// newCouple makes a machine of some config and its model.
func newCouple(t *rapid.T) *couple {
	config := Config{
		Limits:   Limits{MaxJobSize: randomMaxSize},
		Durable:  rapid.Bool().Draw(t, "durable"),
		Observed: rapid.Bool().Draw(t, "observed"),
	}
	switch rapid.IntRange(0, 3).Draw(t, "limit") {
	case 0:
		config.TubeJobs = 3
	case 1:
		config.TubeBytes = 3 * randomMaxSize
	}
	if config.Durable && rapid.Bool().Draw(t, "little memory") {
		config.Memory = 1 // bodies are in memory until they are safe
	}
	p := &couple{
		machine: New(config), model: newModel(randomMaxSize), now: start + 1000, moments: 1000,
		ledger: ledger{jobs: make(map[protocol.JobID]*entered), pauses: make(map[string]PauseRecord)},
	}
	p.model.limits, p.model.durable = config.Limits, config.Durable
	return p
}

// addOperators adds what operators do, and what only a queue with limits or a
// store does.
func (p *couple) addOperators(actions map[string]func(*rapid.T)) {
	for i := range 3 {
		actions[fmt.Sprintf("operator %d", i)] = p.operate
	}
	actions["insert"] = p.insert
	actions["full"] = func(t *rapid.T) {
		p.model.full = rapid.IntRange(0, 3).Draw(t, "full") == 3
		p.machine.SetFull(p.model.full)
	}
	actions["commit 1"] = p.commit
	actions["commit 2"] = p.commit
	actions["walk 1"] = p.walkOn
	actions["walk 2"] = p.walkOn
}

var operatorTubes = append([]string{"c", "-", ""}, randomTubes...)

func drawTube(t *rapid.T) string { return rapid.SampledFrom(operatorTubes).Draw(t, "tube") }

// drawSome draws a value or none.
func drawSome[T any](t *rapid.T, what string, draw func(*rapid.T) T) *T {
	if !rapid.Bool().Draw(t, what) {
		return nil
	}
	v := draw(t)
	return &v
}

func (p *couple) insert(t *rapid.T) {
	p.moment()
	in := &Insertion{
		Tube: drawTube(t), Priority: drawPriority(t), Delay: drawDelay(t), TTR: drawSeconds(t, "ttr", 1, 2, 0, 3, 10),
		Body: []byte(strings.Repeat("i", rapid.IntRange(0, randomMaxSize+1).Draw(t, "size"))),
	}
	id, err := p.machine.Insert(p.now, in)
	clear(in.Body) // it belongs to the caller again
	in.Body = []byte(strings.Repeat("i", len(in.Body)))
	want, wantErr := p.model.insert(p.now, in)
	if id != want || !errors.Is(err, wantErr) {
		t.Fatalf("insertion of job %d says %v, want job %d and %v", id, err, want, wantErr)
	}
	p.expectUrgent(t, err, true)
}

// operate does something to a job or a tube.
func (p *couple) operate(t *rapid.T) {
	p.moment()
	id := p.drawID(t, nil)
	hold := Hold(rapid.Bool().Draw(t, "take"))
	var got, want error
	changes := true
	switch what := rapid.SampledFrom([]string{"remove", "kick", "bury", "give back", "move", "alter", "pause"}).Draw(t, "what"); what {
	case "remove":
		got, want = p.machine.Remove(id, hold), p.model.remove(id, hold)
	case "kick":
		got, want = p.machine.Kick(p.now, id), p.model.kickByOperator(p.now, id)
	case "bury":
		got, want = p.machine.Bury(id, hold), p.model.buryByOperator(id, hold)
	case "give back":
		delay := drawDelay(t)
		got, want = p.machine.GiveBack(p.now, id, delay), p.model.giveBack(p.now, id, delay)
	case "move":
		tube := drawTube(t)
		if j := p.model.job(id); j != nil {
			changes = j.tube.name != tube
		}
		got, want = p.machine.Move(p.now, id, tube, hold), p.model.move(p.now, id, tube, hold)
	case "alter":
		a := &Alteration{
			Priority: drawSome(t, "new priority", drawPriority),
			Delay:    drawSome(t, "new delay", drawDelay),
			TTR:      drawSome(t, "new ttr", func(t *rapid.T) time.Duration { return drawSeconds(t, "ttr", 0, 1, 5) }),
		}
		got, want = p.machine.Alter(p.now, id, a), p.model.alter(p.now, id, a)
	case "pause":
		tube, length := drawTube(t), drawDelay(t)
		got, want = p.machine.Pause(p.now, tube, length), p.model.pauseByOperator(p.now, tube, length)
	}
	if !errors.Is(got, want) {
		t.Fatalf("job %d: the operator is told %v, want %v", id, got, want)
	}
	p.expectUrgent(t, got, changes)
}

// expectUrgent sees to it that what an operator is told is safe first.
func (p *couple) expectUrgent(t *rapid.T, err error, changes bool) {
	if err == nil && changes && p.model.durable && !p.machine.urgent {
		t.Fatal("what the operator has changed need not be safe")
	}
}

// ledger is a store: the jobs and pauses that were committed.
type ledger struct {
	jobs   map[protocol.JobID]*entered
	pauses map[string]PauseRecord
}

type entered struct {
	Record
	body string
}

func (l *ledger) load(t *rapid.T, id protocol.JobID, size uint32) []byte {
	e := l.jobs[id]
	if e == nil || len(e.body) != int(size) {
		t.Fatalf("the store is asked for %d bytes of job %d and has %+v", size, id, e)
	}
	return []byte(e.body)
}

// write takes changes over.
func (l *ledger) write(t *rapid.T, c *Changes) {
	for _, s := range c.Saved {
		old := l.jobs[s.ID]
		if s.Fresh == (old != nil) {
			t.Fatalf("job %d is new: %v, and the store has %+v", s.ID, s.Fresh, old)
		}
		e := &entered{s.Record, string(s.Body)}
		if old != nil {
			e.body = old.body
		}
		l.jobs[s.ID] = e
	}
	for _, id := range c.Deleted {
		if l.jobs[id] == nil {
			t.Fatalf("job %d is deleted and the store does not have it", id)
		}
		delete(l.jobs, id)
	}
	for _, r := range c.Paused {
		l.pauses[r.Tube] = r
	}
	for _, tube := range c.Resumed {
		delete(l.pauses, tube)
	}
}

// commit ends a turn, and holds what the store has then to the model.
func (p *couple) commit(t *rapid.T) {
	if !p.model.durable {
		return
	}
	c := p.machine.Changes()
	if c.NextID != p.model.nextID {
		t.Fatalf("the next id is %d, want %d", c.NextID, p.model.nextID)
	}
	p.ledger.write(t, c)
	p.machine.Committed()
	if again := p.machine.Changes(); !again.Empty() || again.Urgent {
		t.Fatalf("there are changes after the commit: %+v", again)
	}
	want := make(map[protocol.JobID]Record)
	for _, j := range p.model.jobs {
		r := j.record()
		if r.State == Reserved {
			r.State = Ready
		}
		want[j.id] = r
		if e := p.ledger.jobs[j.id]; e != nil && e.body != j.body {
			t.Fatalf("the store has body %q of job %d, want %q", e.body, j.id, j.body)
		}
	}
	got := make(map[protocol.JobID]Record)
	for id, e := range p.ledger.jobs {
		r := e.Record
		if w := want[id]; w.State == Ready && r.State == Delayed && r.Due <= p.now {
			r.State, r.Due = Ready, 0 // it became ready by itself
		}
		got[id] = r
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("the store: (-model +machine)\n%s", diff)
	}
	pauses := make(map[string]PauseRecord)
	for _, tube := range p.model.tubes {
		if tube.pause > 0 {
			pauses[tube.name] = PauseRecord{tube.name, tube.pause, tube.resume}
		}
	}
	if diff := cmp.Diff(pauses, p.ledger.pauses); diff != "" {
		t.Fatalf("pauses in the store: (-model +machine)\n%s", diff)
	}
}
