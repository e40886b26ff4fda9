package queue

import (
	"github.com/haricotq/haricot/internal/arena"
	"github.com/haricotq/haricot/internal/protocol"
)

// Limits say what a queue may hold.
type Limits struct {
	// MaxJobSize is the largest body in bytes that a put may bring.
	MaxJobSize uint32
	// Memory is how many bytes jobs may take in memory; 0 is no limit but the
	// system's. With a store, bodies beyond it are in the store only; without
	// one, a put beyond it is refused with OUT_OF_MEMORY. It is compared with
	// the memory in use, which comes in spans of [arena.SpanSize].
	Memory int64
	// TubeJobs and TubeBytes are how many jobs, and bytes of bodies, a tube may
	// have before a put is refused with OUT_OF_MEMORY; 0 is no limit. Puts
	// whose bodies are under way may go beyond it.
	TubeJobs  uint64
	TubeBytes uint64
}

// Config says how a queue works.
type Config struct {
	Limits
	// Durable tells that there is a store: the machine notes what must survive,
	// for Changes.
	Durable bool
	// Observed tells that somebody looks: the machine notes how long jobs wait
	// and run.
	Observed bool
}

// Machine is the queue. It belongs to one owner, who makes one call at a time.
type Machine struct {
	config   Config
	draining bool
	full     bool // the store takes no new jobs

	memory    *arena.Arena
	jobs      *arena.Slab[job]
	histories *arena.Slab[history]
	ids       index
	nextID    protocol.JobID

	tubes map[string]*tube
	// listed has the tubes as list-tubes shows them; numbered finds the tube of
	// a job's record, and unused has the free numbers.
	listed   []*tube
	numbered []*tube
	unused   []uint32
	// holding are the tubes that have ready jobs, in no order.
	holding []*tube

	clients []*client // by ClientID; nil where free
	vacant  []ClientID
	tickets int64 // the last place in the line of waiting clients

	timers order
	stats  protocol.QueueStats
	done   Counts
	since  ages // of the ready jobs of all tubes
	wait   Histogram
	run    Histogram

	// What has changed since the store was last told: jobs, of which deleted
	// have no place any more, and names of tubes whose pause has.
	changed []slot
	deleted int
	pauses  []string
	urgent  bool
	changes Changes
	burials uint64 // number of the last burial

	replies []Reply
	scratch []byte // the document of the last reply that has one
}

// Reply is what a client is to be told.
type Reply struct {
	To ClientID
	protocol.Reply
	// Away tells that the body of the job is in the store only. It has Size
	// bytes and is missing in the reply.
	Away bool
	Size uint32
}

// New makes an empty queue.
func New(config Config) *Machine {
	memory := arena.New(0)
	m := &Machine{
		config:    config,
		memory:    memory,
		jobs:      arena.NewSlab[job](memory),
		histories: arena.NewSlab[history](memory),
		nextID:    1,
		tubes:     make(map[string]*tube),
		numbered:  []*tube{nil},
		clients:   []*client{nil},
	}
	m.makeTube([]byte(protocol.DefaultTube))
	return m
}

// Release gives back the memory of all jobs. The machine is of no use after it.
func (m *Machine) Release() error { return m.memory.Close() }

// SetDraining makes the queue refuse puts, or take them again.
func (m *Machine) SetDraining(on bool) { m.draining = on }

// SetFull makes the queue refuse puts because the store has no room for them,
// or take them again.
func (m *Machine) SetFull(on bool) { m.full = on }

// Replies returns what the calls since the last Clear had to tell, in the
// order in which it is to be sent. Bodies and documents in it hold until the
// next call.
func (m *Machine) Replies() []Reply { return m.replies }

// Clear empties the replies.
func (m *Machine) Clear() {
	m.replies = m.replies[:0]
	if cap(m.scratch) > maxScratch {
		m.scratch = nil
	}
}

// maxScratch bounds the buffer for documents that is kept between calls. Only
// the lists of very many tubes are longer.
const maxScratch = 1 << 20

func (m *Machine) tell(c *client, r protocol.Reply) {
	m.replies = append(m.replies, Reply{To: c.id, Reply: r})
}

// tellJob tells a client a job with its body.
func (m *Machine) tellJob(c *client, w protocol.Word, s slot) {
	j := m.job(s)
	r := Reply{To: c.id, Reply: protocol.Reply{Form: protocol.WithJob, Word: w, Number: uint64(j.id)}}
	if j.marks&away != 0 {
		r.Away, r.Size = true, j.size
	} else {
		r.Data = m.body(j)
	}
	m.replies = append(m.replies, r)
}

func (m *Machine) say(c *client, w protocol.Word) {
	m.tell(c, protocol.Reply{Word: w})
}

// Apply carries out a command of a client. A put goes through BeginPut and
// EndPut instead, for its body follows later.
func (m *Machine) Apply(now Instant, from ClientID, cmd *protocol.Command) {
	c := m.clients[from]
	m.stats.Commands[cmd.Verb]++
	if cmd.Malformed {
		m.say(c, protocol.BadFormat)
		return
	}
	switch cmd.Verb {
	case protocol.Use:
		m.use(c, cmd.Tube)
	case protocol.Watch:
		m.watch(c, cmd.Tube)
	case protocol.Ignore:
		m.ignore(c, cmd.Tube)
	case protocol.Reserve:
		m.reserve(now, c, forever)
	case protocol.ReserveWithTimeout:
		m.reserve(now, c, now.add(cmd.Timeout))
	case protocol.ReserveJob:
		m.reserveJob(now, c, cmd.ID)
	case protocol.Delete:
		m.delete(now, c, cmd.ID)
	case protocol.Release:
		m.release(now, c, cmd)
	case protocol.Bury:
		m.bury(c, cmd.ID, cmd.Priority)
	case protocol.Touch:
		m.touch(now, c, cmd.ID)
	case protocol.Kick:
		m.kick(now, c, cmd.Count)
	case protocol.KickJob:
		m.kickJob(now, c, cmd.ID)
	case protocol.Peek:
		m.peek(c, m.find(cmd.ID))
	case protocol.PeekReady:
		m.peek(c, headOf(&c.tube.ready))
	case protocol.PeekDelayed:
		m.peek(c, headOf(&c.tube.delayed))
	case protocol.PeekBuried:
		m.peek(c, c.tube.buried.first)
	case protocol.PauseTube:
		m.pause(now, c, cmd.Tube, cmd.Delay)
	case protocol.Stats:
		m.tell(c, protocol.Reply{Form: protocol.ServerDocument, Word: protocol.OK})
	case protocol.StatsJob:
		m.statsJob(now, c, cmd.ID)
	case protocol.StatsTube:
		m.statsTube(now, c, cmd.Tube)
	case protocol.ListTubes:
		m.listTubes(c)
	case protocol.ListTubeUsed:
		m.tell(c, protocol.Reply{Form: protocol.WithText, Word: protocol.Using, Text: c.tube.name})
	case protocol.ListTubesWatched:
		m.listWatched(c)
	case protocol.Put, protocol.Quit:
		panic("queue: " + cmd.Verb.String() + " is not for Apply")
	}
}
