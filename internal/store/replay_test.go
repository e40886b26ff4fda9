package store

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// TestReplayEqualsMachine does things at random to a queue and brings it back
// from the store: everything must be as it was, but for reservations.
func TestReplayEqualsMachine(t *testing.T) {
	for name, memory := range map[string]int64{"bodies in memory": 0, "bodies in the store": 1} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := newReplay(t, memory)
				defer p.close()
				t.Repeat(map[string]func(*rapid.T){
					"put":     p.put,
					"reserve": p.reserve,
					"job":     p.job,
					"kick":    p.kick,
					"pause":   p.pause,
					"pass":    p.pass,
					"restart": p.restart,
					"leave":   p.leave,
					"":        p.check,
				})
				p.end()
			})
		})
	}
}

// replay is a queue with its store.
type replay struct {
	t       *rapid.T
	store   *Store
	machine *queue.Machine
	limits  queue.Limits
	now     queue.Instant
	clients []queue.ClientID

	bodies map[protocol.JobID]string
	puts   int
	last   protocol.JobID
}

var replayTubes = []string{"default", "mail", "video"}

func newReplay(t *rapid.T, memory int64) *replay {
	disk := newMemory(t)
	s, err := Open(Options{Dir: "/data", FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	p := &replay{t: t, store: s, now: morning, limits: queue.Limits{MaxJobSize: 5000, Memory: memory}, bodies: make(map[protocol.JobID]string)}
	p.machine = p.recovered()
	p.enter()
	return p
}

func (p *replay) close() {
	p.machine.Release()
	if err := p.store.Close(); err != nil {
		p.t.Error(err)
	}
}

// glance is a queue brought back from the store, which is left as it is.
func (p *replay) glance() *queue.Machine {
	p.store.options.ReadOnly = true // recovery tidies up otherwise
	defer func() { p.store.options.ReadOnly = false }()
	return p.recovered()
}

// recovered is a queue brought back from the store.
func (p *replay) recovered() *queue.Machine {
	m := queue.New(queue.Config{Limits: p.limits, Durable: true})
	if _, err := p.store.Recover(m.Restore(p.now)); err != nil {
		p.t.Fatal(err)
	}
	return m
}

// enter connects the clients, each of which uses a tube and watches all.
func (p *replay) enter() {
	p.clients = nil
	for _, tube := range replayTubes {
		id := p.machine.Open()
		p.clients = append(p.clients, id)
		p.say(id, &protocol.Command{Verb: protocol.Use, Tube: []byte(tube)})
		for _, other := range replayTubes {
			p.say(id, &protocol.Command{Verb: protocol.Watch, Tube: []byte(other)})
		}
	}
}

func (p *replay) say(c queue.ClientID, cmd *protocol.Command) {
	p.machine.Apply(p.now, c, cmd)
	p.hear()
}

// hear takes what clients are told and compares the bodies.
func (p *replay) hear() {
	for _, r := range p.machine.Replies() {
		if r.Word != protocol.Reserved || r.Form != protocol.WithJob {
			continue
		}
		id := protocol.JobID(r.Number)
		body := r.Data
		if r.Away {
			var err error
			if body, err = p.store.Body(id, r.Size); err != nil {
				p.t.Fatal(err)
			}
		}
		if string(body) != p.bodies[id] {
			p.t.Fatalf("job %d is handed out with body %q, want %q", id, body, p.bodies[id])
		}
	}
	p.machine.Clear()
}

// commit ends a turn.
func (p *replay) commit() {
	if changes := p.machine.Changes(); !changes.Empty() {
		if err := p.store.Commit(changes); err != nil {
			p.t.Fatal(err)
		}
	}
	p.machine.Committed()
}

func (p *replay) client(t *rapid.T) queue.ClientID {
	return rapid.SampledFrom(p.clients).Draw(t, "client")
}

func (p *replay) anyJob(t *rapid.T) protocol.JobID {
	return protocol.JobID(rapid.Uint64Range(1, uint64(p.last)+1).Draw(t, "job"))
}

var (
	priorities = rapid.SampledFrom([]protocol.Priority{0, 1, 5, 1024, 1<<32 - 1})
	delays     = rapid.SampledFrom([]time.Duration{0, 0, 2 * time.Second, 9 * time.Second, (1<<32 - 1) * time.Second})
)

func (p *replay) put(t *rapid.T) {
	c := p.client(t)
	p.puts++
	body := strings.Repeat(fmt.Sprintf("body %d ", p.puts), rapid.SampledFrom([]int{0, 1, 3, 500}).Draw(t, "times"))
	complete := rapid.IntRange(0, 9).Draw(t, "complete") > 0
	intake := p.machine.BeginPut(p.now, c, &protocol.Command{
		Verb: protocol.Put, Priority: priorities.Draw(t, "priority"), Delay: delays.Draw(t, "delay"),
		TTR: rapid.SampledFrom([]time.Duration{0, 3 * time.Second, time.Hour}).Draw(t, "ttr"), Size: uint32(len(body)),
	})
	copy(intake.Body, body)
	p.machine.EndPut(p.now, c, complete)
	for _, r := range p.machine.Replies() {
		if r.Word == protocol.Inserted {
			p.last = protocol.JobID(r.Number)
			p.bodies[p.last] = body
		}
	}
	p.hear()
}

func (p *replay) reserve(t *rapid.T) {
	p.say(p.client(t), &protocol.Command{Verb: protocol.ReserveWithTimeout})
}

func (p *replay) job(t *rapid.T) {
	verb := rapid.SampledFrom([]protocol.Verb{
		protocol.Delete, protocol.Release, protocol.Release, protocol.Bury, protocol.Bury, protocol.KickJob, protocol.Touch, protocol.ReserveJob,
	}).Draw(t, "verb")
	p.say(p.client(t), &protocol.Command{
		Verb: verb, ID: p.anyJob(t), Priority: priorities.Draw(t, "priority"), Delay: delays.Draw(t, "delay"),
	})
}

func (p *replay) kick(t *rapid.T) {
	p.say(p.client(t), &protocol.Command{Verb: protocol.Kick, Count: rapid.Uint32Range(0, 3).Draw(t, "count")})
}

func (p *replay) pause(t *rapid.T) {
	p.say(p.client(t), &protocol.Command{
		Verb: protocol.PauseTube, Tube: []byte(rapid.SampledFrom(replayTubes).Draw(t, "tube")), Delay: delays.Draw(t, "length"),
	})
}

func (p *replay) pass(t *rapid.T) {
	p.now += queue.Instant(rapid.SampledFrom([]time.Duration{0, time.Second, 5 * time.Second, 2 * time.Hour}).Draw(t, "time"))
	p.machine.Advance(p.now, 1000)
	p.hear()
}

func (p *replay) leave(t *rapid.T) {
	i := rapid.IntRange(0, len(p.clients)-1).Draw(t, "who")
	p.machine.Close(p.now, p.clients[i])
	p.hear()
	p.clients[i] = p.machine.Open()
	p.say(p.clients[i], &protocol.Command{Verb: protocol.Use, Tube: []byte(replayTubes[i])})
}

// restart goes on with the queue that the store brings back.
func (p *replay) restart(*rapid.T) {
	p.commit()
	p.machine.Release()
	p.machine = p.recovered()
	p.enter()
}

// check may end the turn, and compares if it does.
func (p *replay) check(t *rapid.T) {
	if err := p.machine.Check(); err != nil {
		t.Fatal(err)
	}
	if rapid.IntRange(0, 4).Draw(t, "turn ends") > 0 {
		return
	}
	p.machine.Advance(p.now, 1000)
	p.commit()
	back := p.glance()
	defer back.Release()
	if err := back.Check(); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(p.describe(p.machine), p.describe(back)); diff != "" {
		t.Fatalf("the queue that was brought back is another one (-was +is):\n%s", diff)
	}
	found := stored(t, p.store, p.now)
	for id, j := range found.jobs {
		if j.Body != p.bodies[id] {
			t.Fatalf("job %d has body %q in the store, want %q", id, j.Body, p.bodies[id])
		}
	}
}

// describe says all that must survive, as a client can find it out.
func (p *replay) describe(m *queue.Machine) []string {
	c := m.Open()
	defer func() {
		m.Close(p.now, c)
		m.Clear()
	}()
	var lines []string
	ask := func(cmd *protocol.Command, transient ...string) (exists bool) {
		m.Apply(p.now, c, cmd)
		defer m.Clear()
		r := m.Replies()[0]
		for line := range bytes.Lines(r.Data) {
			text := strings.TrimSuffix(string(line), "\n")
			if name, _, _ := strings.Cut(text, ":"); !slices.Contains(transient, name) {
				lines = append(lines, fmt.Sprintf("%s %d%s: %s", cmd.Verb, cmd.ID, cmd.Tube, text))
			}
		}
		return r.Word == protocol.OK
	}
	jobs := 0
	for id := range p.last + 1 {
		start := len(lines)
		if !ask(&protocol.Command{Verb: protocol.StatsJob, ID: id}) {
			continue
		}
		jobs++
		of := lines[start:]
		if i := slices.IndexFunc(of, func(s string) bool { return strings.HasSuffix(s, " state: reserved") }); i >= 0 {
			of[i] = strings.Replace(of[i], "reserved", "ready", 1)
			i = slices.IndexFunc(of, func(s string) bool { return strings.Contains(s, " time-left: ") })
			of[i] = of[i][:strings.LastIndex(of[i], ":")] + ": 0"
		}
	}
	counts := make(map[string]int)
	for _, line := range lines {
		if _, tube, ok := strings.Cut(line, " tube: "); ok {
			counts[tube]++
		}
	}
	for _, tube := range slices.Sorted(maps.Keys(counts)) {
		ask(&protocol.Command{Verb: protocol.StatsTube, Tube: []byte(tube)},
			"total-jobs", "current-using", "current-watching", "current-waiting", "cmd-delete", "cmd-pause-tube",
			// The reserved ones are ready again.
			"current-jobs-reserved", "current-jobs-ready", "current-jobs-urgent")
	}
	return append(lines, fmt.Sprint("jobs: ", jobs))
}

// end compares what cannot be found out without changing it: the order of the
// buried jobs, and the next id.
func (p *replay) end() {
	p.commit()
	next := p.machine.Changes().NextID
	p.machine.Committed()
	back := p.glance()
	defer back.Release()
	if diff := gocmp.Diff(p.burials(p.machine), p.burials(back)); diff != "" {
		p.t.Fatalf("the buried jobs come in another order (-was +is):\n%s", diff)
	}
	if id := back.Changes().NextID; id <= p.last || id > next {
		p.t.Fatalf("the next job will have id %d, after %d, and %d in the queue as it was", id, p.last, next)
	}
}

// burials takes the buried jobs out of all tubes.
func (p *replay) burials(m *queue.Machine) (order []string) {
	c := m.Open()
	m.Clear()
	for _, tube := range replayTubes {
		m.Apply(p.now, c, &protocol.Command{Verb: protocol.Use, Tube: []byte(tube)})
		m.Clear()
		for {
			m.Apply(p.now, c, &protocol.Command{Verb: protocol.PeekBuried})
			r := m.Replies()[0]
			m.Clear()
			if r.Word != protocol.Found {
				break
			}
			order = append(order, fmt.Sprint(tube, " ", r.Number))
			m.Apply(p.now, c, &protocol.Command{Verb: protocol.KickJob, ID: protocol.JobID(r.Number)})
			m.Clear()
		}
	}
	return order
}
