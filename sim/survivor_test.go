package sim

import (
	"bytes"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/wire"
)

// survivor is a job that a server has after a start.
type survivor struct {
	id                                          uint64
	token                                       uint32
	tube, state                                 string
	priority, delay                             uint32
	reserves, timeouts, releases, buries, kicks uint32
	body                                        []byte
	asked, told                                 time.Time // when its state was asked for, and known
}

// survey asks for all jobs up to an id.
func survey(t *testing.T, c *wire.Conn, last uint64) map[uint32]*survivor {
	t.Helper()
	found := map[uint32]*survivor{}
	for first := uint64(1); first <= last; first += batch {
		asked := time.Now()
		end := min(first+batch, last+1)
		for id := first; id < end; id++ {
			c.Send("stats-job %d", id)
		}
		var here []*survivor
		for id := first; id < end; id++ {
			if r := receive(t, c); r.Word == "OK" {
				here = append(here, newSurvivor(t, wire.Stats(r.Data)))
			} else if r.Word != "NOT_FOUND" {
				t.Fatalf("stats-job %d: %v", id, r)
			}
		}
		for _, s := range here {
			c.Send("peek %d", s.id)
		}
		for _, s := range here {
			r := receive(t, c)
			if r.Word != "FOUND" || uint64(r.ID()) != s.id {
				t.Fatalf("peek %d: %v", s.id, r)
			}
			s.body, s.asked, s.told = r.Data, asked, time.Now()
			if found[s.token] != nil {
				t.Fatalf("a job is there as %d and as %d", found[s.token].id, s.id)
			}
			found[s.token] = s
		}
	}
	return found
}

func newSurvivor(t *testing.T, fields map[string]string) *survivor {
	t.Helper()
	number := func(key string) uint64 {
		n, err := strconv.ParseUint(fields[key], 10, 64)
		if err != nil {
			t.Fatalf("stats-job says %s: %q", key, fields[key])
		}
		return n
	}
	short := func(key string) uint32 { return uint32(number(key)) }
	return &survivor{
		id: number("id"), token: short("ttr"), tube: fields["tube"], state: fields["state"],
		priority: short("pri"), delay: short("delay"), reserves: short("reserves"), timeouts: short("timeouts"),
		releases: short("releases"), buries: short("buries"), kicks: short("kicks"),
	}
}

// is compares a job with what a book says of it.
func (s *survivor) is(e *entry) bool {
	state := e.state
	if state == reserved {
		state = ready
	}
	if e.short {
		state = e.clock(s, state)
	}
	return s.token == e.token && s.tube == e.tube && s.state == state && s.priority == e.priority && s.delay == e.delay &&
		e.noted <= s.reserves && s.reserves <= e.reserves && s.timeouts == 0 &&
		s.releases == e.releases && s.buries == e.buries && s.kicks == e.kick && len(s.body) == e.size
}

// clock is the state that a job with a short delay must be in, or that in which
// it is if both are right.
func (e *entry) clock(s *survivor, state string) string {
	delay := time.Duration(e.delay) * time.Second
	early := s.told.Before(e.sent.Add(delay))
	late := e.insertedIsKnown && s.asked.After(e.inserted.Add(delay+time.Second))
	switch {
	case early:
		return delayed
	case late:
		return ready
	case s.state == ready || s.state == delayed:
		return s.state
	}
	return state
}

// matches tells whether a book has exactly these jobs; if not, why.
func (b *book) matches(found map[uint32]*survivor, ids map[uint32]uint64) error {
	for token, e := range b.jobs {
		s := found[token]
		switch id := ids[token]; {
		case s == nil:
			return fmt.Errorf("job %d is lost: %+v", id, *e)
		case id != 0 && id != s.id:
			return fmt.Errorf("job %d is now job %d", id, s.id)
		case !s.is(e):
			short := *s
			short.body = nil
			return fmt.Errorf("job %d is %+v with %d bytes, not %+v", s.id, short, len(s.body), *e)
		case !bytes.Equal(s.body, numbered(int(token), e.size)):
			return fmt.Errorf("job %d has another body", s.id)
		}
	}
	for token, s := range found {
		if b.jobs[token] == nil {
			return fmt.Errorf("job %d must not be there: it is %s in %s", s.id, s.state, s.tube)
		}
	}
	return nil
}

// judge finds the commands that have been carried out: those that were answered,
// and some of the others, from the first on. If lossy, answers promise nothing,
// but nothing is there without what came before it. The book is at that point
// then.
func (o *owner) judge(found map[uint32]*survivor, pauses map[string]uint32, lossy bool) error {
	mine := map[uint32]*survivor{}
	for token, s := range found {
		if token/tokensEach == o.first/tokensEach {
			mine[token] = s
		}
	}
	now, done := o.acked, o.answered
	if lossy {
		now, done = o.base, 0
	}
	var first error
	for ; ; done++ {
		after := now.clone()
		after.restart()
		err := after.matches(mine, o.ids)
		if got, want := pauses[o.prefix+"p"], after.pauses[o.prefix+"p"]; err == nil && got != want {
			err = fmt.Errorf("tube %sp is paused for %d s, not %d", o.prefix, got, want)
		}
		if err == nil {
			o.adopt(after, mine)
			return nil
		}
		if first == nil {
			first = fmt.Errorf("with %d commands: %w", done, err)
		}
		if done == len(o.commands) {
			return fmt.Errorf("%d commands were answered; %w\nwith all %d: %w", o.answered, first, done, err)
		}
		now.apply(&o.commands[done])
	}
}

// adopt goes on from what there is.
func (o *owner) adopt(now *book, found map[uint32]*survivor) {
	clear(o.ids)
	for token, e := range now.jobs {
		o.ids[token] = found[token].id
		e.reserves = found[token].reserves
		e.noted = e.reserves
	}
	o.base, o.acked, o.ahead = now, now.clone(), now.clone()
	o.commands, o.answered = nil, 0
}

// did notes a command that somebody else has given, and its answer.
func (o *owner) did(cmd command) {
	o.acked.apply(&cmd)
	o.commands = append(o.commands, cmd)
	o.answered++
}
