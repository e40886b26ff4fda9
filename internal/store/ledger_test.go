package store

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// ledger is what clients know of the queue, put together from their commands
// and the replies to them alone. It is what a restart has to bring back.
type ledger struct {
	jobs   map[protocol.JobID]known
	pauses map[string]queue.PauseRecord
	lastID protocol.JobID // the highest that a client was told
	// burials is the number of the last one.
	burials uint64
}

// known is what is known of a job.
type known struct {
	queue.Record
	Body string
	// until is the end of the reservation, 0 if there is none.
	until queue.Instant
}

func newLedger() *ledger {
	return &ledger{jobs: make(map[protocol.JobID]known), pauses: make(map[string]queue.PauseRecord)}
}

func (l *ledger) clone() *ledger {
	c := *l
	c.jobs, c.pauses = maps.Clone(l.jobs), maps.Clone(l.pauses)
	return &c
}

// pass brings the ledger to a moment: reservations and pauses end.
func (l *ledger) pass(now queue.Instant) {
	for id, j := range l.jobs {
		if j.until != 0 && j.until <= now {
			j.until = 0
			j.Timeouts++
		}
		if j.State == queue.Delayed && j.Due <= now {
			j.State, j.Due = queue.Ready, 0
		}
		l.jobs[id] = j
	}
	for tube, p := range l.pauses {
		if p.Resume <= now {
			delete(l.pauses, tube)
		}
	}
}

// drop forgets reservations: their holders are gone.
func (l *ledger) drop() {
	for id, j := range l.jobs {
		j.until = 0
		l.jobs[id] = j
	}
}

// told enters what a client was told in reply to a command. It tells whether
// that is something done, which must be safe by then.
func (l *ledger) told(now queue.Instant, tube string, cmd, reply []string, body string) (done bool) {
	number := func(words []string, i int) uint64 {
		n, err := strconv.ParseUint(words[i], 10, 64)
		if err != nil {
			panic(fmt.Sprintf("no number in %q", words))
		}
		return n
	}
	switch reply[0] {
	case "INSERTED":
		j := known{Body: body}
		j.ID, j.Tube, j.Created = protocol.JobID(number(reply, 1)), tube, now
		j.Priority = protocol.Priority(number(cmd, 1))
		j.TTR, j.Size = time.Duration(number(cmd, 3))*time.Second, uint32(len(body))
		l.lastID = max(l.lastID, j.ID)
		l.jobs[j.ID] = j.wait(now, number(cmd, 2))
	case "RESERVED":
		j := l.jobs[protocol.JobID(number(reply, 1))]
		done = j.State != queue.Ready
		j.Reserves++
		j.State, j.Due, j.Burial, j.until = queue.Ready, 0, 0, now+queue.Instant(j.TTR)
		l.jobs[j.ID] = j
		return done
	case "DELETED":
		delete(l.jobs, protocol.JobID(number(cmd, 1)))
	case "RELEASED":
		j := l.jobs[protocol.JobID(number(cmd, 1))]
		j.Releases++
		j.Priority, j.until = protocol.Priority(number(cmd, 2)), 0
		l.jobs[j.ID] = j.wait(now, number(cmd, 3))
	case "BURIED":
		j := l.jobs[protocol.JobID(number(cmd, 1))]
		l.burials++
		j.Buries++
		j.Priority, j.State, j.Burial, j.until = protocol.Priority(number(cmd, 2)), queue.Buried, l.burials, 0
		l.jobs[j.ID] = j
	case "KICKED":
		ids := []protocol.JobID{0}
		if cmd[0] == "kick" {
			ids = l.kickable(tube)[:number(reply, 1)]
		} else {
			ids[0] = protocol.JobID(number(cmd, 1))
		}
		for _, id := range ids {
			j := l.jobs[id]
			j.Kicks++
			j.State, j.Due, j.Burial = queue.Ready, 0, 0
			l.jobs[id] = j
		}
		return len(ids) > 0
	case "PAUSED":
		length := time.Duration(number(cmd, 2)) * time.Second
		l.pauses[cmd[1]] = queue.PauseRecord{Tube: cmd[1], Length: length, Resume: now + queue.Instant(length)}
	default:
		return false
	}
	return true
}

func (j known) wait(now queue.Instant, seconds uint64) known {
	j.Delay = time.Duration(seconds) * time.Second
	j.State, j.Due = queue.Ready, 0
	if seconds > 0 {
		j.State, j.Due = queue.Delayed, now+queue.Instant(j.Delay)
	}
	return j
}

// kickable lists the jobs of a tube that a kick would take, in its order.
func (l *ledger) kickable(tube string) []protocol.JobID {
	var buried, delayed []known
	for _, j := range l.jobs {
		switch {
		case j.Tube != tube:
		case j.State == queue.Buried:
			buried = append(buried, j)
		case j.State == queue.Delayed:
			delayed = append(delayed, j)
		}
	}
	if len(buried) == 0 {
		buried = delayed
	}
	slices.SortFunc(buried, func(a, b known) int {
		return cmp.Or(cmp.Compare(a.Burial, b.Burial), cmp.Compare(a.Due, b.Due), cmp.Compare(a.ID, b.ID))
	})
	ids := make([]protocol.JobID, len(buried))
	for i, j := range buried {
		ids[i] = j.ID
	}
	return ids
}

// buried lists the buried jobs of a tube in their order.
func (l *ledger) buried(tube string) []protocol.JobID {
	ids := l.kickable(tube)
	if len(ids) > 0 && l.jobs[ids[0]].State != queue.Buried {
		return nil
	}
	return ids
}

// String lists all jobs and the pauses of tubes that have some, one a line. Of
// the order of burial only what comes after what counts.
func (l *ledger) String() string {
	var lines []string
	tubes := make(map[string]bool)
	burials := make(map[string][]known)
	for _, j := range l.jobs {
		tubes[j.Tube] = true
		if j.State == queue.Buried {
			burials[j.Tube] = append(burials[j.Tube], j)
		}
		j.Burial = 0
		body := j.Body
		if len(body) > 20 {
			body = fmt.Sprintf("%s… (%d)", body[:20], len(body))
		}
		lines = append(lines, fmt.Sprintf("%06d %+v %q", j.ID, j.Record, body))
	}
	for tube, jobs := range burials {
		slices.SortFunc(jobs, func(a, b known) int { return cmp.Compare(a.Burial, b.Burial) })
		line := "buried in " + tube + ":"
		for _, j := range jobs {
			line += " " + strconv.FormatUint(uint64(j.ID), 10)
		}
		lines = append(lines, line)
	}
	for _, p := range l.pauses {
		if tubes[p.Tube] {
			lines = append(lines, fmt.Sprintf("pause %+v", p))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// difference tells in which way the ledgers differ.
func (l *ledger) difference(other *ledger) string {
	if diff := gocmp.Diff(strings.Split(l.String(), "\n"), strings.Split(other.String(), "\n")); diff != "" {
		return diff
	}
	for id, j := range l.jobs {
		if j.Body != other.jobs[id].Body {
			return fmt.Sprintf("job %d has another body", id)
		}
	}
	return ""
}

// sameBodies tells whether the same jobs are there, in whatever state.
func (l *ledger) sameBodies(other *ledger) bool {
	return maps.EqualFunc(l.jobs, other.jobs, func(a, b known) bool { return a.Body == b.Body })
}

// judge is what testing.T and rapid.T have in common.
type judge interface {
	Helper()
	Fatal(args ...any)
}

// stored reads a store into a ledger, as of a moment. Every body must be there,
// and none whose job is not.
func stored(t judge, s *Store, now queue.Instant) *ledger {
	t.Helper()
	l := newLedger()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(s.Headers(func(r *queue.Record) error {
		body, err := s.Body(r.ID, r.Size)
		l.jobs[r.ID] = known{Record: *r, Body: string(body)}
		return err
	}))
	check(s.each(bodyPrefix, func(key, _ []byte) error {
		id, err := idOf(key)
		if _, ok := l.jobs[id]; !ok && err == nil {
			err = fmt.Errorf("body %d has no job", id)
		}
		return err
	}))
	check(s.each(pausePrefix, func(key, value []byte) error {
		p, err := readPause(string(key[1:]), value)
		l.pauses[p.Tube] = p
		return err
	}))
	l.pass(now)
	return l
}
