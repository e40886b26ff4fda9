package queue

import (
	"math"

	"github.com/haricotq/haricot/internal/protocol"
)

// ClientID names a client while it is connected; 0 is none. It is used again
// after the client has gone.
type ClientID uint32

// client is one connection.
type client struct {
	id   ClientID
	tube *tube // where its puts go
	// watches are where its reserves look, in the order in which
	// list-tubes-watched shows them. byTube finds one in a long list.
	watches []*watch
	byTube  map[*tube]*watch
	// away are the watches that are not in their tube's line. A client that
	// waits has none.
	away []*watch

	reserved heap  // by deadline
	held     chain // the same jobs in the order of reservation

	put    incomingPut
	timer  item
	ticket int64   // its place in line, while it waits
	until  Instant // when its wait ends, forever if it does not

	waiting, producer, worker, halfClosed bool
}

// watch is a client's interest in a tube, and its place in the tube's line.
type watch struct {
	item
	at     int // position in the client's list
	awayAt int // position in its away, while it is not in line
}

const forever Instant = math.MaxInt64

// shortList is up to how many watches a search goes through the list itself.
const shortList = 16

// Open makes a client. It uses and watches the default tube.
func (m *Machine) Open() ClientID {
	c := &client{until: forever}
	if n := len(m.vacant); n > 0 {
		c.id = m.vacant[n-1]
		m.vacant = m.vacant[:n-1]
		m.clients[c.id] = c
	} else {
		c.id = ClientID(len(m.clients))
		m.clients = append(m.clients, c)
	}
	c.timer = item{client: c, place: absent}
	c.tube = m.tubes[protocol.DefaultTube]
	c.tube.using++
	m.addWatch(c, c.tube)
	m.stats.Connections++
	m.stats.TotalConnections++
	return c.id
}

// Close takes leave of a client. Jobs that it holds are ready again, in the
// order in which it got them, and a put whose body has not arrived is dropped.
func (m *Machine) Close(now Instant, id ClientID) {
	c := m.clients[id]
	m.stopWaiting(c)
	if c.put.job != 0 {
		m.free(c.put.job)
	}
	// Tubes that end with their last watch do so in beanstalkd's order, for
	// list-tubes shows it.
	for len(c.watches) > 0 {
		m.dropWatch(c, c.watches[0])
	}
	for c.held.first != 0 {
		s := c.held.first
		m.unreserve(c, s)
		m.makeReady(now, s)
	}
	c.tube.using--
	m.reap(c.tube)
	c.reserved.release(m.memory)
	if c.timer.place != absent {
		m.timers.remove(&c.timer)
	}
	m.stats.Connections--
	if c.producer {
		m.stats.Producers--
	}
	if c.worker {
		m.stats.Workers--
	}
	m.clients[id] = nil
	m.vacant = append(m.vacant, id)
}

// HalfClose notes that a client will send nothing more. It still gets its
// replies, but does not wait for a job.
func (m *Machine) HalfClose(id ClientID) {
	c := m.clients[id]
	c.halfClosed = true
	if c.waiting {
		m.stopWaiting(c)
		m.say(c, protocol.TimedOut)
	}
}

// Waiting tells whether a client waits for a job: its further commands must be
// held back until it is told something.
func (m *Machine) Waiting(id ClientID) bool { return m.clients[id].waiting }

func (m *Machine) markProducer(c *client) {
	if !c.producer {
		c.producer = true
		m.stats.Producers++
	}
}

func (m *Machine) markWorker(c *client) {
	if !c.worker {
		c.worker = true
		m.stats.Workers++
	}
}

func (c *client) watchOf(t *tube) *watch {
	if c.byTube != nil {
		return c.byTube[t]
	}
	for _, w := range c.watches {
		if w.tube == t {
			return w
		}
	}
	return nil
}

func (m *Machine) addWatch(c *client, t *tube) {
	w := &watch{item: item{client: c, tube: t, place: absent}, at: len(c.watches)}
	c.watches = append(c.watches, w)
	c.leaveLine(w)
	t.watching++
	switch {
	case c.byTube != nil:
		c.byTube[t] = w
	case len(c.watches) > shortList:
		c.byTube = make(map[*tube]*watch, 2*shortList)
		for _, w := range c.watches {
			c.byTube[w.tube] = w
		}
	}
}

// leaveLine notes that a watch is not in its tube's line.
func (c *client) leaveLine(w *watch) {
	w.awayAt = len(c.away)
	c.away = append(c.away, w)
}

// dropWatch ends a watch; the last of the list takes its position there.
func (m *Machine) dropWatch(c *client, w *watch) {
	last := len(c.watches) - 1
	c.watches[last].at = w.at
	c.watches[w.at] = c.watches[last]
	c.watches[last] = nil
	c.watches = c.watches[:last]
	delete(c.byTube, w.tube)
	if w.place != absent {
		w.tube.line.remove(&w.item)
	} else {
		away := len(c.away) - 1
		c.away[away].awayAt = w.awayAt
		c.away[w.awayAt] = c.away[away]
		c.away[away] = nil
		c.away = c.away[:away]
	}
	w.tube.watching--
	m.reap(w.tube)
}

func (m *Machine) use(c *client, name []byte) {
	old := c.tube
	c.tube = m.makeTube(name)
	c.tube.using++
	old.using--
	m.reap(old)
	m.tell(c, protocol.Reply{Form: protocol.WithText, Word: protocol.Using, Text: c.tube.name})
}

func (m *Machine) watch(c *client, name []byte) {
	if t := m.makeTube(name); c.watchOf(t) == nil {
		m.addWatch(c, t)
	}
	m.sayWatching(c)
}

func (m *Machine) ignore(c *client, name []byte) {
	if t := m.tubes[string(name)]; t != nil {
		if w := c.watchOf(t); w != nil {
			if len(c.watches) == 1 {
				m.say(c, protocol.NotIgnored)
				return
			}
			m.dropWatch(c, w)
		}
	}
	m.sayWatching(c)
}

func (m *Machine) sayWatching(c *client) {
	m.tell(c, protocol.Reply{Form: protocol.WithNumber, Word: protocol.Watching, Number: uint64(len(c.watches))})
}
