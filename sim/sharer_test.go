package sim

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/wire"
)

// pool is a tube from which several connections take what any of them has put.
type pool struct {
	mutex sync.Mutex
	next  uint32 // token
	jobs  map[uint32]*shared
	// stopping: connections come to their end. Each gives its jobs back, and
	// others may get them before that one has read that it had them.
	stopping bool
}

// shared is a job in a pool.
type shared struct {
	token      uint32
	id         uint64
	size       int
	inserted   bool     // a client knows that
	settled    bool     // it was there at the last start
	priorities []uint32 // those that it has had, or may have
	held       bool     // by a client that has not given it back yet
	deleting   bool     // delete was sent
	deleted    bool     // and answered
	history    []string // what was sent and told of it, for a report
}

func (j *shared) note(s *sharer, what string) {
	j.history = append(j.history, fmt.Sprintf("%s %s", s.name, what))
}

const poolTube = "shared"

func newPool() *pool { return &pool{next: 40 * tokensEach, jobs: map[uint32]*shared{}} }

// sharer is a connection that works with a pool.
type sharer struct {
	name    string
	pool    *pool
	random  *rand.Rand
	conn    *wire.Conn
	pending []sharedCommand
	held    []uint32
}

type sharedCommand struct {
	verb  string
	token uint32
}

// work sends commands until the connection breaks, which is no error.
func (s *sharer) work(c *wire.Conn) error {
	s.conn, s.pending, s.held = c, nil, nil
	for _, line := range []string{"use " + poolTube, "watch " + poolTube, "ignore default"} {
		if _, err := c.Ask("%s", line); err != nil {
			return nil //nolint:nilerr // the server was ended
		}
	}
	for {
		s.sendSome()
		for ; len(s.pending) > 0; s.pending = s.pending[1:] {
			r, err := c.Receive()
			if err != nil {
				return nil //nolint:nilerr // the server was ended
			}
			if err := s.pool.hear(s, &r); err != nil {
				return err
			}
		}
	}
}

// sendSome sends puts, reserves, and what ends the reservations that there are.
func (s *sharer) sendSome() {
	p := s.pool
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for range s.random.IntN(8) {
		p.next++
		j := &shared{token: p.next, size: 11 + bodySize(s.random), priorities: []uint32{uint32(s.random.IntN(4))}}
		p.jobs[j.token] = j
		s.conn.Put(protocol.Priority(j.priorities[0]), 0, uint64(j.token), numbered(int(j.token), j.size))
		s.pending = append(s.pending, sharedCommand{"put", j.token})
	}
	for _, token := range s.held {
		j := p.jobs[token]
		j.held = false
		j.note(s, "gives it back or deletes it")
		if s.random.IntN(3) == 0 {
			priority := uint32(s.random.IntN(1000))
			j.priorities = append(j.priorities, priority)
			s.conn.Send("release %d %d 0", j.id, priority)
			s.pending = append(s.pending, sharedCommand{"release", token})
			continue
		}
		j.deleting = true
		s.conn.Send("delete %d", j.id)
		s.pending = append(s.pending, sharedCommand{"delete", token})
	}
	s.held = s.held[:0]
	for range s.random.IntN(8) {
		s.conn.Send("reserve-with-timeout %d", s.random.IntN(2))
		s.pending = append(s.pending, sharedCommand{"reserve-with-timeout", 0})
	}
}

// hear notes a reply.
func (p *pool) hear(s *sharer, r *wire.Reply) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	cmd := s.pending[0]
	j := p.jobs[cmd.token]
	switch {
	case cmd.verb == "put" && r.Word == "INSERTED":
		if id := uint64(r.ID()); j.id != 0 && j.id != id {
			return fmt.Errorf("a shared job was inserted as %d, and reserved as %d", id, j.id)
		}
		j.id, j.inserted = uint64(r.ID()), true
	case cmd.verb == "delete" && r.Word == "DELETED":
		j.deleted = true
		j.note(s, "has deleted it")
	case cmd.verb == "release" && r.Word == "RELEASED":
		j.note(s, "has given it back")
	case cmd.verb == "reserve-with-timeout" && r.Word == "TIMED_OUT":
	case cmd.verb == "reserve-with-timeout" && r.Word == "RESERVED":
		j, err := p.identify(uint64(r.ID()), r.Data)
		if err != nil {
			return err
		}
		if j.deleted || (j.held || j.deleting) && !p.stopping {
			return fmt.Errorf("%s was told %v, though the job was held (%v) or deleted (%v): %q", s.name, r, j.held, j.deleting, j.history)
		}
		j.held, j.inserted = true, true
		j.note(s, "has reserved it")
		s.held = append(s.held, j.token)
	default:
		return fmt.Errorf("%+v of a shared job was answered %v", cmd, r)
	}
	return nil
}

// identify finds a job by what its body begins with.
func (p *pool) identify(id uint64, body []byte) (*shared, error) {
	number, _, _ := bytes.Cut(body, []byte(" "))
	token, err := strconv.ParseUint(string(number), 10, 32)
	j := p.jobs[uint32(token)]
	if err != nil || j == nil || !bytes.Equal(body, numbered(int(token), j.size)) {
		return nil, fmt.Errorf("job %d has a body that nobody has put: %.40q", id, body)
	}
	if j.id != 0 && j.id != id {
		return nil, fmt.Errorf("shared job %d has the body of %d", id, j.id)
	}
	j.id = id
	return j, nil
}

// judge compares what has survived with what must and what may have. If lossy,
// what was not settled may be lost.
func (p *pool) judge(found map[uint32]*survivor, lossy bool) error {
	p.stopping = false
	for token, j := range p.jobs {
		f := found[token]
		switch {
		case f == nil && j.inserted && !j.deleting && (j.settled || !lossy):
			return fmt.Errorf("shared job %d is lost", j.id)
		case f != nil && j.deleted && !lossy:
			return fmt.Errorf("shared job %d is there again", j.id)
		case f == nil:
			delete(p.jobs, token)
			continue
		case j.id != 0 && j.id != f.id:
			return fmt.Errorf("shared job %d is now %d", j.id, f.id)
		case f.tube != poolTube || f.state != ready || !slices.Contains(j.priorities, f.priority):
			return fmt.Errorf("shared job %d is %+v", f.id, f)
		case !bytes.Equal(f.body, numbered(int(token), j.size)):
			return fmt.Errorf("shared job %d has another body", f.id)
		}
		*j = shared{token: token, id: f.id, size: j.size, inserted: true, settled: true, priorities: []uint32{f.priority}}
	}
	for token, f := range found {
		if p.jobs[token] == nil && token >= 40*tokensEach {
			return fmt.Errorf("shared job %d comes from nowhere", f.id)
		}
	}
	return nil
}
