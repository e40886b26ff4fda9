package sim

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/wire"
)

const (
	// longDelay is the least delay, in seconds, that never ends in a test.
	longDelay = 1_000_000
	// tokensEach is how many tokens a connection has, and the first of all.
	tokensEach = 100_000_000
	// manyJobs is how many jobs a connection keeps, more or less.
	manyJobs = 200
)

// owner is a connection with tubes of its own: a and b, which it watches; p,
// which is paused now and then; and d, for jobs with short delays. What was there
// at the last start is in base, what it was told since then in acked; ahead is
// what will be when all that it has sent is done.
type owner struct {
	prefix string
	random *rand.Rand
	first  uint32 // token
	next   uint32 // the last token
	ids    map[uint32]uint64

	base, acked, ahead *book

	commands []command // since the last start
	answered int       // how many of them
}

func newOwner(number int, random *rand.Rand) *owner {
	return &owner{
		prefix: fmt.Sprintf("w%d-", number), random: random, first: uint32(number+1) * tokensEach, next: uint32(number+1) * tokensEach,
		ids: map[uint32]uint64{}, base: newBook(), acked: newBook(), ahead: newBook(),
	}
}

// work sends commands until the connection breaks, which is no error.
func (o *owner) work(c *wire.Conn) error {
	for _, tube := range []string{"p", "d", "b", "a"} {
		if _, err := c.Ask("watch %s%s", o.prefix, tube); err != nil {
			return nil //nolint:nilerr // the server was ended
		}
	}
	for _, line := range []string{"ignore default", "ignore " + o.prefix + "p", "ignore " + o.prefix + "d"} {
		if _, err := c.Ask("%s", line); err != nil {
			return nil //nolint:nilerr // the server was ended
		}
	}
	o.send(c, command{verb: "use", tube: o.prefix + "p"})
	for {
		batch := 1
		if o.random.IntN(5) > 1 {
			batch = 2 + o.random.IntN(30)
		}
		for range batch {
			o.send(c, o.choose())
		}
		for o.answered < len(o.commands) {
			r, err := c.Receive()
			if err != nil {
				return nil //nolint:nilerr // the server was ended
			}
			if err := o.hear(&r); err != nil {
				return err
			}
		}
	}
}

// send sends a command. It counts as sent even if it gets no further than the
// buffer.
func (o *owner) send(c *wire.Conn, cmd command) {
	cmd.sent = time.Now()
	id := o.ids[cmd.token]
	switch cmd.verb {
	case "put":
		c.Put(protocol.Priority(cmd.priority), uint64(cmd.delay), uint64(cmd.token), numbered(int(cmd.token), cmd.n))
	case "use":
		c.Send("use %s", cmd.tube)
	case "reserve-with-timeout":
		c.Send("reserve-with-timeout 0")
	case "release":
		c.Send("release %d %d %d", id, cmd.priority, cmd.delay)
	case "bury":
		c.Send("bury %d %d", id, cmd.priority)
	case "kick":
		c.Send("kick %d", cmd.n)
	case "pause-tube":
		c.Send("pause-tube %s %d", cmd.tube, cmd.delay)
	default:
		c.Send("%s %d", cmd.verb, id)
	}
	o.ahead.apply(&cmd)
	o.commands = append(o.commands, cmd)
}

// hear compares a reply with what it must be.
func (o *owner) hear(r *wire.Reply) error {
	cmd := o.commands[o.answered]
	o.answered++
	want := o.acked.apply(&cmd)
	if r.Word != want.word {
		return fmt.Errorf("%+v was answered %v, not %s", cmd, r, want.word)
	}
	switch want.word {
	case "INSERTED":
		o.ids[want.token] = uint64(r.ID())
		e := o.acked.jobs[want.token]
		e.inserted, e.insertedIsKnown = time.Now(), true
	case "KICKED":
		if cmd.verb == "kick" && r.Numbers[0] != uint64(want.n) {
			return fmt.Errorf("kick %d was answered %v, not %d", cmd.n, r, want.n)
		}
	case "RESERVED", "FOUND":
		if uint64(r.ID()) != o.ids[want.token] {
			return fmt.Errorf("%+v was answered %v, not with job %d", cmd, r, o.ids[want.token])
		}
		if !bytes.Equal(r.Data, numbered(int(want.token), o.acked.jobs[want.token].size)) {
			return fmt.Errorf("%+v was answered with a wrong body of %d bytes", cmd, len(r.Data))
		}
	}
	return nil
}

// choose thinks of a command.
func (o *owner) choose() command {
	crowded := len(o.ahead.tokens) > manyJobs
	switch n := o.random.IntN(100); {
	case o.ahead.used == o.prefix+"d" && n < 70, o.ahead.used == o.prefix+"p" && n < 60, n < 4:
		return command{verb: "use", tube: o.prefix + []string{"a", "a", "b", "b", "p", "d"}[o.random.IntN(6)]}
	case n < 32 && !crowded:
		return o.aPut()
	case n < 50:
		return command{verb: "reserve-with-timeout", tube: o.prefix}
	case n < 54 && o.ahead.used != o.prefix+"d":
		return command{verb: "kick", n: 1 + o.random.IntN(6)}
	case n < 56:
		return command{verb: "pause-tube", tube: o.prefix + "p", delay: uint32(o.random.IntN(2)) * (longDelay + uint32(o.random.IntN(1000)))}
	case n < 74 || crowded && n < 80:
		return o.onJob("delete", "")
	case n < 86:
		cmd := o.onJob([]string{"release", "release", "bury"}[o.random.IntN(3)], reserved)
		cmd.priority = uint32(o.random.IntN(5))
		if cmd.verb == "release" && o.random.IntN(3) == 0 {
			cmd.delay = o.delay()
		}
		return cmd
	case n < 90:
		return o.onJob("kick-job", []string{buried, delayed, ready}[o.random.IntN(3)])
	case n < 93:
		return o.onJob("reserve-job", []string{buried, delayed, ready, reserved}[o.random.IntN(4)])
	case n < 95:
		return o.onJob("touch", reserved)
	}
	return o.onJob("peek", "")
}

// onJob is a command on a job in a state, if one is found soon, else a put. The
// jobs with short delays are only put, peeked at and deleted.
func (o *owner) onJob(verb, state string) command {
	for range 30 {
		if len(o.ahead.tokens) == 0 {
			break
		}
		e := o.ahead.jobs[o.ahead.tokens[o.random.IntN(len(o.ahead.tokens))]]
		fits := state == "" || e.state == state
		if e.short && verb != "delete" && verb != "peek" || o.ids[e.token] == 0 {
			continue
		}
		if fits {
			return command{verb: verb, token: e.token}
		}
	}
	return o.aPut()
}

// aPut is a put into the used tube.
func (o *owner) aPut() command {
	o.next++
	cmd := command{verb: "put", token: o.next, priority: uint32(o.random.IntN(5)), n: bodySize(o.random)}
	switch {
	case o.ahead.used == o.prefix+"d":
		cmd.delay = 1 + uint32(o.random.IntN(3))
	case o.random.IntN(5) == 0:
		cmd.delay = o.delay()
	}
	return cmd
}

// delay is a long one. No two are so near that time could change their order.
func (o *owner) delay() uint32 {
	o.next++
	return longDelay + uint32(uint64(o.next)*7919%100_003)*1000
}

// bodySize has all kinds of bodies.
func bodySize(random *rand.Rand) int {
	switch n := random.IntN(200); {
	case n < 20:
		return 0
	case n < 140:
		return 1 + random.IntN(200)
	case n < 185:
		return random.IntN(5000)
	case n < 192:
		return random.IntN(65536)
	case n < 196:
		return 65534 + random.IntN(2)
	case n < 198:
		return 65536 + random.IntN(bigBody-65536)
	default:
		return 11
	}
}

// bigBody is the size of the largest body, and what the server gets as -z.
const bigBody = 300_000
