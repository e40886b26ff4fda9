package sim

import (
	"slices"
	"time"
)

// A book is what a connection knows of its jobs, which no other connection
// touches: commands carried out one by one give the same answers, and leave the
// same jobs, as a server must. Jobs are known by a token of the client's, which
// is their time to run too, for their ids come only with the replies.
type book struct {
	tokens  []uint32 // ascending, as the ids are
	jobs    map[uint32]*entry
	used    string
	pauses  map[string]uint32 // seconds
	burials int
	dirty   []*entry // reserved since the last change that a reply waits for
}

// entry is a job in a book.
type entry struct {
	token, priority, delay uint32
	tube, state            string
	size                   int
	burial                 int
	reserves, noted        uint32 // noted are those that must be on the disk
	releases, buries, kick uint32

	// A job with a short delay is delayed or ready as the clock says.
	short           bool
	sent, inserted  time.Time
	insertedIsKnown bool
}

// States as stats-job has them.
const (
	ready    = "ready"
	delayed  = "delayed"
	buried   = "buried"
	reserved = "reserved"
)

// command is a command on jobs of a book.
type command struct {
	verb            string
	token           uint32
	tube            string
	priority, delay uint32
	n               int // size of a body, bound of a kick
	sent            time.Time
}

// answer is what the server must say: a word, and the job or number behind it.
type answer struct {
	word  string
	token uint32
	n     int
}

func newBook() *book {
	return &book{jobs: map[uint32]*entry{}, pauses: map[string]uint32{}}
}

// apply carries out a command.
func (b *book) apply(c *command) answer {
	switch c.verb {
	case "use":
		b.used = c.tube
		b.forget()
		return answer{word: "USING"}
	case "put":
		return b.put(c)
	case "reserve-with-timeout":
		e := b.best(c.tube)
		if e == nil {
			return answer{word: "TIMED_OUT"}
		}
		return b.reserve(e)
	case "kick":
		return b.kick(c.n)
	case "pause-tube":
		if !b.alive(c.tube) {
			return answer{word: "NOT_FOUND"}
		}
		delete(b.pauses, c.tube)
		if c.delay > 0 {
			b.pauses[c.tube] = c.delay
		}
		b.settle()
		return answer{word: "PAUSED"}
	}
	e := b.jobs[c.token]
	if e == nil {
		return answer{word: "NOT_FOUND"}
	}
	return b.act(e, c)
}

// act carries out a command on a job that is there.
func (b *book) act(e *entry, c *command) answer {
	switch c.verb {
	case "peek":
		return answer{word: "FOUND", token: e.token}
	case "delete":
		i, _ := slices.BinarySearch(b.tokens, e.token)
		b.tokens = slices.Delete(b.tokens, i, i+1)
		delete(b.jobs, e.token)
		b.forget()
		b.settle()
		return answer{word: "DELETED"}
	case "reserve-job":
		if e.state == reserved {
			return answer{word: "NOT_FOUND"}
		}
		return b.reserve(e)
	case "kick-job":
		if e.state != delayed && e.state != buried {
			return answer{word: "NOT_FOUND"}
		}
		b.kickOne(e)
		return answer{word: "KICKED"}
	}
	if e.state != reserved {
		return answer{word: "NOT_FOUND"}
	}
	switch c.verb {
	case "touch":
		return answer{word: "TOUCHED"}
	case "release":
		e.state, e.priority, e.delay = ready, c.priority, c.delay
		e.releases++
		if c.delay > 0 {
			e.state = delayed
		}
		b.settle()
		return answer{word: "RELEASED"}
	case "bury":
		b.burials++
		e.state, e.priority, e.burial = buried, c.priority, b.burials
		e.buries++
		b.settle()
		return answer{word: "BURIED"}
	}
	panic("sim: no book knows " + c.verb)
}

func (b *book) put(c *command) answer {
	e := &entry{token: c.token, tube: b.used, state: ready, priority: c.priority, delay: c.delay, size: c.n}
	if c.delay > 0 {
		e.state = delayed
		e.short, e.sent = c.delay < longDelay, c.sent
	}
	b.jobs[e.token] = e
	b.tokens = append(b.tokens, e.token)
	b.settle()
	return answer{word: "INSERTED", token: e.token}
}

func (b *book) reserve(e *entry) answer {
	waited := e.state != ready
	e.state = reserved
	e.reserves++
	b.dirty = append(b.dirty, e)
	if waited {
		b.settle()
	}
	return answer{word: "RESERVED", token: e.token}
}

// settle notes a change that a reply waits for: what came before it is on the
// disk then too.
func (b *book) settle() {
	for _, e := range b.dirty {
		e.noted = e.reserves
	}
	b.dirty = b.dirty[:0]
}

// alive tells whether a tube is there that the connection does not watch.
func (b *book) alive(tube string) bool {
	if b.used == tube {
		return true
	}
	for _, e := range b.jobs {
		if e.tube == tube {
			return true
		}
	}
	return false
}

// forget drops the pauses of tubes that are gone.
func (b *book) forget() {
	for tube := range b.pauses {
		if !b.alive(tube) {
			delete(b.pauses, tube)
		}
	}
}

// best is the ready job to be reserved first of the tubes that the connection
// watches, all but two.
func (b *book) best(prefix string) *entry {
	var best *entry
	for _, token := range b.tokens {
		e := b.jobs[token]
		watched := e.tube == prefix+"a" || e.tube == prefix+"b"
		if watched && e.state == ready && (best == nil || e.priority < best.priority) {
			best = e
		}
	}
	return best
}

// firstToKick is the used tube's job that is kicked next.
func (b *book) firstToKick() *entry {
	var first *entry
	for _, token := range b.tokens {
		e := b.jobs[token]
		if e.tube != b.used || e.state != buried && e.state != delayed {
			continue
		}
		switch {
		case first == nil || first.state == delayed && e.state == buried:
			first = e
		case first.state != e.state:
		case e.state == buried && e.burial < first.burial, e.state == delayed && e.delay < first.delay:
			first = e
		}
	}
	return first
}

// kick makes jobs of one kind ready.
func (b *book) kick(limit int) answer {
	kicked, kind := 0, ""
	for ; kicked < limit; kicked++ {
		e := b.firstToKick()
		if e == nil || kind != "" && e.state != kind {
			break
		}
		kind = e.state
		b.kickOne(e)
	}
	return answer{word: "KICKED", n: kicked}
}

func (b *book) kickOne(e *entry) {
	e.state = ready
	e.kick++
	b.settle()
}

// restart is what the end of the server does to a book.
func (b *book) restart() {
	for _, e := range b.jobs {
		if e.state == reserved {
			e.state = ready
		}
	}
	b.used = ""
	b.forget()
	b.dirty = b.dirty[:0]
}

// clone copies a book.
func (b *book) clone() *book {
	c := newBook()
	c.tokens, c.used, c.burials = slices.Clone(b.tokens), b.used, b.burials
	for tube, length := range b.pauses {
		c.pauses[tube] = length
	}
	for token, e := range b.jobs {
		d := *e
		c.jobs[token] = &d
	}
	for _, e := range b.dirty {
		if d := c.jobs[e.token]; d != nil {
			c.dirty = append(c.dirty, d)
		}
	}
	return c
}
