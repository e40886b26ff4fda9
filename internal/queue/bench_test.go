package queue

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
)

// bench is a machine and a client that puts, reserves and deletes.
type bench struct {
	b       *testing.B
	machine *Machine
	client  ClientID
	chance  *rand.Rand
	now     Instant
}

func newBench(b *testing.B) *bench {
	m := New(Config{Limits: Limits{MaxJobSize: protocol.DefaultMaxJobSize}})
	b.Cleanup(func() {
		if err := m.Release(); err != nil {
			b.Error(err)
		}
	})
	return &bench{b: b, machine: m, client: m.Open(), chance: rand.New(rand.NewPCG(1, 1)), now: start}
}

func (c *bench) apply(cmd protocol.Command) {
	c.machine.Apply(c.now, c.client, &cmd)
}

func (c *bench) use(i int) {
	c.apply(protocol.Command{Verb: protocol.Use, Tube: fmt.Appendf(nil, "tube-%d", i)})
}

// put puts a job of 16 bytes.
func (c *bench) put(p protocol.Priority) {
	intake := c.machine.BeginPut(c.now, c.client, &protocol.Command{Verb: protocol.Put, Priority: p, TTR: time.Minute, Size: 16})
	copy(intake.Body, "0123456789abcdef")
	c.machine.EndPut(c.now, c.client, true)
}

// backlog puts n jobs of random priorities.
func (c *bench) backlog(n int) {
	for range n {
		c.put(protocol.Priority(c.chance.Uint32()))
		c.machine.Clear()
	}
}

// cycle puts a job, reserves one and deletes it.
func (c *bench) cycle() {
	c.now += 1000
	c.put(protocol.Priority(c.chance.Uint32()))
	c.machine.Clear()
	c.apply(protocol.Command{Verb: protocol.Reserve})
	r := c.machine.Replies()
	if len(r) != 1 || r[0].Word != protocol.Reserved {
		c.b.Fatalf("reserve: %+v", r)
	}
	id := protocol.JobID(r[0].Number)
	c.machine.Clear()
	c.apply(protocol.Command{Verb: protocol.Delete, ID: id})
	c.machine.Clear()
	// What the turns of a server do: nothing is due, but old timers come up.
	c.machine.Advance(c.now, 1)
}

func (c *bench) run() {
	runtime.GC()
	c.b.ReportAllocs()
	for c.b.Loop() {
		c.cycle()
	}
}

// BenchmarkCycle is a put, a reserve and a delete.
func BenchmarkCycle(b *testing.B) {
	b.Run("empty", func(b *testing.B) { newBench(b).run() })
	b.Run("backlog=1M", func(b *testing.B) {
		c := newBench(b)
		c.backlog(1_000_000)
		c.run()
	})
	b.Run("tubes=100k", func(b *testing.B) {
		c := newBench(b)
		for i := range 100_000 {
			c.use(i)
			c.backlog(1)
		}
		c.apply(protocol.Command{Verb: protocol.Use, Tube: []byte(protocol.DefaultTube)})
		c.machine.Clear()
		c.run()
	})
	b.Run("watched=1000", func(b *testing.B) {
		c := newBench(b)
		for i := range 1000 {
			c.apply(protocol.Command{Verb: protocol.Watch, Tube: fmt.Appendf(nil, "tube-%d", i)})
		}
		c.use(500)
		c.machine.Clear()
		c.run()
	})
	b.Run("watched=1000,holding=1000", func(b *testing.B) {
		c := newBench(b)
		for i := range 1000 {
			c.apply(protocol.Command{Verb: protocol.Watch, Tube: fmt.Appendf(nil, "tube-%d", i)})
			c.use(i)
			c.backlog(1)
		}
		c.machine.Clear()
		c.run()
	})
}

// BenchmarkHandOver is a put to the one of many waiting clients whose turn it
// is, which deletes the job and waits again.
func BenchmarkHandOver(b *testing.B) {
	for _, waiting := range []int{1, 10_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			c := newBench(b)
			for range waiting {
				c.machine.Apply(c.now, c.machine.Open(), &protocol.Command{Verb: protocol.Reserve})
			}
			b.ReportAllocs()
			for b.Loop() {
				c.now += 1000
				c.put(0)
				r := c.machine.Replies()[1]
				c.machine.Clear()
				c.machine.Apply(c.now, r.To, &protocol.Command{Verb: protocol.Delete, ID: protocol.JobID(r.Number)})
				c.machine.Apply(c.now, r.To, &protocol.Command{Verb: protocol.Reserve})
				c.machine.Clear()
				c.machine.Advance(c.now, 1)
			}
		})
	}
}

// BenchmarkDue is the work of making a job ready that many others fall due with.
func BenchmarkDue(b *testing.B) {
	c := newBench(b)
	const n = 100_000
	for b.Loop() {
		b.StopTimer()
		for range n {
			c.machine.BeginPut(c.now, c.client, &protocol.Command{Verb: protocol.Put, Delay: time.Second, TTR: time.Minute})
			c.machine.EndPut(c.now, c.client, true)
			c.machine.Clear()
			c.now++
		}
		c.now += Instant(time.Second)
		b.StartTimer()
		for c.machine.Advance(c.now, 1000) {
			continue
		}
		b.StopTimer()
		for c.machine.Stats().Jobs.Ready > 0 {
			c.apply(protocol.Command{Verb: protocol.Delete, ID: c.machine.job(headOf(&c.machine.tubes["default"].ready)).id})
			c.machine.Clear()
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/job")
}

// BenchmarkBacklog is a put of a job of 16 bytes to a million others, and
// reports what each of those takes: the arena's memory, and the Go heap's.
func BenchmarkBacklog(b *testing.B) {
	const n = 1_000_000
	for _, kind := range []string{"ready", "reserved"} {
		b.Run(kind, func(b *testing.B) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			c := newBench(b)
			c.backlog(n)
			for kind == "reserved" && c.machine.Stats().Jobs.Ready > 0 {
				c.apply(protocol.Command{Verb: protocol.Reserve})
				c.machine.Clear()
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			inArena := float64(c.machine.memory.Used())
			inHeap := float64(after.HeapAlloc) - float64(before.HeapAlloc)
			for b.Loop() {
				c.backlog(1)
			}
			b.ReportMetric((inArena+inHeap)/n, "B/job")
			b.ReportMetric(inHeap/n, "heap-B/job")
		})
	}
}
