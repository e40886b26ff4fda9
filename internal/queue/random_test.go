package queue

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/haricotq/haricot/internal/protocol"
)

// TestMain makes the random sessions long enough to get somewhere. For a long
// run: go test -run TestModel -rapid.checks 20000 -rapid.steps 300.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.steps", "150"); err != nil {
		panic(err)
	}
	m.Run()
}

// couple is a machine and a model that are told the same.
type couple struct {
	machine *Machine
	model   *model
	now     Instant
	// moments numbers the moments that moment has made.
	moments Instant
	ledger  ledger
	walk    *walk // under way, or nil
}

const start Instant = 1_700_000_000 * Instant(time.Second)

// Bodies of random puts have at most this many bytes.
const randomMaxSize = 4

// moment moves the clock by less than a second to a moment whose fraction no
// other has: times that tubes look forward to then never coincide, for in what
// order those are done is left open. Those of clients may.
func (p *couple) moment() {
	p.moments++
	p.now = p.now/Instant(time.Second)*Instant(time.Second) + p.moments
}

// draw chooses one of some clients; there must be one.
func (p *couple) draw(t *rapid.T, from []*modelClient) *modelClient {
	if len(from) == 0 {
		t.Skip("there is none")
	}
	var ids []ClientID
	for _, c := range from {
		ids = append(ids, c.id)
	}
	return p.model.client(rapid.SampledFrom(ids).Draw(t, "client"))
}

// idle lists the clients that may say something.
func (p *couple) idle() (list []*modelClient) {
	for _, c := range p.model.clients {
		if !c.waiting && !c.midPut {
			list = append(list, c)
		}
	}
	return list
}

// compare holds the machine to the model in all that can be seen of it.
func (p *couple) compare(t *rapid.T) {
	t.Helper()
	told := make(map[ClientID]string)
	for _, r := range p.machine.Replies() {
		if r.Away {
			r.Data = p.ledger.load(t, protocol.JobID(r.Number), r.Size)
		}
		told[r.To] += string(protocol.AppendReply(nil, &r.Reply))
	}
	p.machine.Clear()
	if diff := cmp.Diff(p.model.told, told); diff != "" {
		t.Fatalf("at %v: (-model +machine)\n%s", p.now, diff)
	}
	clear(p.model.told)
	if diff := cmp.Diff(p.model.stats(), p.machine.Stats()); diff != "" {
		t.Fatalf("stats: (-model +machine)\n%s", diff)
	}
	for _, c := range p.model.clients {
		if got := p.machine.Waiting(c.id); got != c.waiting {
			t.Fatalf("client %d waits: %v", c.id, got)
		}
	}
	if at, _, _ := p.model.next(); at != forever {
		if got, ok := p.machine.Next(); !ok || got > at {
			t.Fatalf("something is due at %v, and Next says %v, %v", at, got, ok)
		}
	}
	if err := p.machine.Check(); err != nil {
		t.Fatal(err)
	}
	p.compareViews(t)
	p.walk.prune(p.model)
}

func (p *couple) open(*rapid.T) { p.model.open(p.machine.Open()) }

func (p *couple) leave(t *rapid.T) {
	id := p.draw(t, p.model.clients).id
	if rapid.Bool().Draw(t, "half") {
		if p.model.client(id).midPut {
			t.Skip("a put is under way")
		}
		p.machine.HalfClose(id)
		p.model.halfClose(id)
		return
	}
	p.machine.Close(p.now, id)
	p.model.close(p.now, id)
}

// drain turns the drain mode on or off, mostly off.
func (p *couple) drain(t *rapid.T) {
	p.model.draining = rapid.IntRange(0, 3).Draw(t, "draining") == 3
	p.machine.SetDraining(p.model.draining)
}

// pass lets time go by, often to exactly the next moment that somebody waits
// for, and does what is due: all of it, some, or, as in a stall, nothing yet.
func (p *couple) pass(t *rapid.T) {
	due, _, _ := p.model.next()
	switch step := rapid.SampledFrom([]string{"1s", "to due", "before due", "after due", "3s", "20s", "0s"}).Draw(t, "step"); {
	case step[0] >= '0' && step[0] <= '9':
		d, _ := time.ParseDuration(step)
		p.now += Instant(d)
	case due == forever:
		t.Skip("nothing is ever due")
	case step == "before due":
		p.now = max(p.now, due-1)
	case step == "to due":
		p.now = max(p.now, due)
	default:
		p.now = max(p.now, due)
		p.moment()
	}
	if budget := rapid.SampledFrom([]int{-1, -1, -1, 0, 1, 2, 5}).Draw(t, "budget"); budget >= 0 {
		p.advanceSome(t, budget)
		return
	}
	if p.machine.Advance(p.now, 1000) {
		t.Fatal("more than 1000 things were due")
	}
	for p.model.advance(p.now) {
		continue
	}
}

// advanceSome spends a small budget. Part of it goes into timers that turn out
// to have nothing to do, of which the model has none.
func (p *couple) advanceSome(t *rapid.T, budget int) {
	due := func() bool { return len(p.machine.timers) > 0 && p.machine.timers[0].key <= int64(p.now) }
	if more := p.machine.Advance(p.now, 0); more != due() {
		t.Fatalf("Advance without a budget says %v", more)
	}
	for range budget {
		if !due() {
			return
		}
		next := p.machine.timers[0]
		acts := next.attention() == Instant(next.key)
		if more := p.machine.Advance(p.now, 1); more != due() {
			t.Fatalf("Advance says that more is due: %v", more)
		}
		if acts && !p.model.advance(p.now) {
			t.Fatal("the machine did something that is not due")
		}
	}
}

func (p *couple) put(t *rapid.T) {
	p.moment()
	id := p.draw(t, p.idle()).id
	cmd := &protocol.Command{
		Verb: protocol.Put, Priority: drawPriority(t), Delay: drawDelay(t), TTR: drawSeconds(t, "ttr", 1, 2, 0, 3, 10),
		Size:      uint32(rapid.IntRange(0, randomMaxSize+1).Draw(t, "size")),
		Malformed: rapid.IntRange(0, 19).Draw(t, "malformed") == 19,
	}
	intake := p.machine.BeginPut(p.now, id, cmd)
	body, discard, none := p.model.beginPut(p.now, id, cmd)
	if len(intake.Body) != body || intake.Discard != discard || intake.None != none {
		t.Fatalf("put of %d bytes: %+v, want body %d, discard %d, none %v", cmd.Size, intake, body, discard, none)
	}
	if none {
		return
	}
	copy(intake.Body, p.bodyOf(id))
	// It mostly arrives at once.
	if rapid.IntRange(0, 4).Draw(t, "arrives") < 4 {
		p.finishPut(t, id)
	}
}

// bodyOf is what a client's put brings.
func (p *couple) bodyOf(id ClientID) string {
	j := p.model.client(id).put
	if j == nil {
		return ""
	}
	return strings.Repeat(fmt.Sprint(j.id%10), randomMaxSize)
}

func (p *couple) finishPut(t *rapid.T, id ClientID) {
	complete := rapid.IntRange(0, 9).Draw(t, "complete") < 9
	body := ""
	if s := p.machine.clients[id].put.job; s != 0 {
		body = p.bodyOf(id)[:p.machine.job(s).size]
	}
	p.machine.EndPut(p.now, id, complete)
	p.model.endPut(p.now, id, body, complete)
}

// arrive lets the body of a put arrive that has been under way for a while.
func (p *couple) arrive(t *rapid.T) {
	var list []*modelClient
	for _, c := range p.model.clients {
		if c.midPut {
			list = append(list, c)
		}
	}
	p.moment()
	p.finishPut(t, p.draw(t, list).id)
}

func drawPriority(t *rapid.T) protocol.Priority {
	return rapid.SampledFrom([]protocol.Priority{0, 1, 1023, 1024, 1<<32 - 1}).Draw(t, "priority")
}

func drawDelay(t *rapid.T) time.Duration {
	return drawSeconds(t, "delay", 0, 0, 0, 1, 2, 5)
}

func drawSeconds(t *rapid.T, what string, from ...int) time.Duration {
	return time.Duration(rapid.SampledFrom(from).Draw(t, what)) * time.Second
}

// drawID prefers jobs of the client, if there is one, then jobs that exist.
func (p *couple) drawID(t *rapid.T, c *modelClient) protocol.JobID {
	ids := func(list []*modelJob) []protocol.JobID {
		var all []protocol.JobID
		for _, j := range list {
			all = append(all, j.id)
		}
		return all
	}
	from := rapid.IntRange(0, 3).Draw(t, "whose")
	if c != nil && from < 2 {
		if held := ids(p.model.heldBy(c, bySince)); len(held) > 0 {
			return rapid.SampledFrom(held).Draw(t, "id")
		}
	}
	if all := ids(p.model.jobs); len(all) > 0 && from < 3 {
		return rapid.SampledFrom(all).Draw(t, "id")
	}
	return protocol.JobID(rapid.IntRange(0, int(p.model.nextID)).Draw(t, "id"))
}

var randomTubes = []string{"default", "a", "b"}

// say has a client say a command of a verb.
func (p *couple) say(t *rapid.T, verbs ...protocol.Verb) {
	c := p.draw(t, p.idle())
	cmd := &protocol.Command{Verb: rapid.SampledFrom(verbs).Draw(t, "verb")}
	switch cmd.Verb {
	case protocol.Peek, protocol.Delete, protocol.Bury, protocol.Touch, protocol.ReserveJob, protocol.KickJob, protocol.StatsJob:
		cmd.ID = p.drawID(t, c)
		if cmd.Verb == protocol.Bury {
			cmd.Priority = drawPriority(t)
		}
	case protocol.Release:
		p.moment()
		cmd.ID, cmd.Priority, cmd.Delay = p.drawID(t, c), drawPriority(t), drawDelay(t)
	case protocol.Use, protocol.Watch, protocol.Ignore, protocol.StatsTube:
		cmd.Tube = []byte(rapid.SampledFrom(randomTubes).Draw(t, "tube"))
	case protocol.PauseTube:
		p.moment()
		cmd.Tube, cmd.Delay = []byte(rapid.SampledFrom(randomTubes).Draw(t, "tube")), drawDelay(t)
	case protocol.Kick:
		cmd.Count = rapid.Uint32Range(0, 4).Draw(t, "count")
	case protocol.ReserveWithTimeout:
		cmd.Timeout = drawSeconds(t, "timeout", 0, 1, 2, 5)
	default:
	}
	p.apply(c.id, cmd)
}

func (p *couple) apply(id ClientID, cmd *protocol.Command) {
	p.machine.Apply(p.now, id, cmd)
	p.model.command(p.now, id, cmd)
}

// watchMany takes a client's list past the length up to which it is searched
// from end to end, or back.
func (p *couple) watchMany(t *rapid.T) {
	c := p.draw(t, p.idle())
	verb := rapid.SampledFrom([]protocol.Verb{protocol.Watch, protocol.Ignore}).Draw(t, "verb")
	for i := range shortList + 2 {
		p.apply(c.id, &protocol.Command{Verb: verb, Tube: fmt.Appendf(nil, "t%d", i)})
	}
}

// look asks for all that can be asked without changing anything.
func (p *couple) look(t *rapid.T) {
	idle := p.idle()
	if len(idle) == 0 {
		t.Skip("nobody can speak")
	}
	id := idle[0].id
	for _, tube := range slices.Clone(p.model.tubes) {
		p.apply(id, &protocol.Command{Verb: protocol.StatsTube, Tube: []byte(tube.name)})
		p.compare(t)
	}
	for _, j := range p.model.jobs {
		p.apply(id, &protocol.Command{Verb: protocol.StatsJob, ID: j.id})
		p.compare(t)
		p.apply(id, &protocol.Command{Verb: protocol.Peek, ID: j.id})
	}
	for _, c := range idle {
		p.apply(c.id, &protocol.Command{Verb: protocol.ListTubesWatched})
		p.compare(t)
		p.apply(c.id, &protocol.Command{Verb: protocol.ListTubeUsed})
	}
}

// TestModel drives the machine and the model side by side. In every step the
// machine is to tell the same clients the same, and to be sound.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newCouple(t)
		defer p.machine.Release()
		for range rapid.IntRange(1, 4).Draw(t, "clients") {
			p.open(t)
		}
		saying := func(verbs ...protocol.Verb) func(*rapid.T) { return func(t *rapid.T) { p.say(t, verbs...) } }
		actions := map[string]func(*rapid.T){
			"":         p.compare,
			"open":     p.open,
			"leave":    p.leave,
			"drain":    p.drain,
			"put 1":    p.put,
			"put 2":    p.put,
			"put 3":    p.put,
			"arrive":   p.arrive,
			"pass 1":   p.pass,
			"pass 2":   p.pass,
			"pass 3":   p.pass,
			"reserve":  saying(protocol.Reserve, protocol.ReserveWithTimeout),
			"poll":     saying(protocol.ReserveWithTimeout),
			"fetch":    saying(protocol.ReserveJob),
			"delete":   saying(protocol.Delete),
			"release":  saying(protocol.Release),
			"bury":     saying(protocol.Bury),
			"touch":    saying(protocol.Touch),
			"kick":     saying(protocol.Kick, protocol.KickJob),
			"use":      saying(protocol.Use),
			"watch":    saying(protocol.Watch, protocol.Ignore),
			"many":     p.watchMany,
			"pause 1":  saying(protocol.PauseTube),
			"pause 2":  saying(protocol.PauseTube),
			"peek":     saying(protocol.Peek, protocol.PeekReady, protocol.PeekDelayed, protocol.PeekBuried),
			"ask":      saying(protocol.StatsJob, protocol.StatsTube, protocol.ListTubes, protocol.ListTubeUsed, protocol.ListTubesWatched),
			"look":     p.look,
			"watch on": saying(protocol.Watch),
		}
		p.addOperators(actions)
		t.Repeat(actions)
		p.drainAll(t)
	})
}

// drainAll takes everything out and then expects nothing to be left.
func (p *couple) drainAll(t *rapid.T) {
	for _, c := range slices.Clone(p.model.clients) {
		p.machine.Close(p.now, c.id)
		p.model.close(p.now, c.id)
		p.compare(t)
	}
	p.open(t)
	id := p.model.clients[0].id
	for _, j := range slices.Clone(p.model.jobs) {
		p.apply(id, &protocol.Command{Verb: protocol.Delete, ID: j.id})
		p.compare(t)
	}
	p.commit(t)
	if n := len(p.ledger.jobs); n > 0 {
		t.Fatalf("%d jobs are left in the store", n)
	}
	if names := slices.Sorted(maps.Keys(p.machine.tubes)); !slices.Equal(names, []string{"default"}) {
		t.Fatalf("tubes %q are left", names)
	}
	if n := p.machine.jobs.Len() + p.machine.histories.Len(); n > 0 {
		t.Fatalf("%d records are left", n)
	}
	if used := p.machine.memory.Used(); used != 0 {
		t.Fatalf("%d bytes are in use by nothing", used)
	}
}
