//go:build linux

package differential

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// What a step does.
type action int

const (
	opens  action = iota // a connection
	sends                // commands, the end of the last one perhaps held back
	goesOn               // sends what was held back
	halves               // shuts down the client's sending side
	ends                 // closes the connection
	drains               // puts both servers into drain mode
	sleeps               // until the next burst of a timed session
)

// A step is one move of a session; it is complete in itself, so that a recorded session can be played again with steps left out.
type step struct {
	action   action
	peer     int
	commands []command
	cuts     []int // offsets at which the text is cut into separate writes
	held     int   // bytes held back at the end of the text
}

func (s step) text() string {
	var b strings.Builder
	for _, c := range s.commands {
		b.WriteString(c.text)
	}
	return b.String()
}

func (s step) String() string {
	switch s.action {
	case opens:
		return fmt.Sprintf("c%d open", s.peer)
	case goesOn:
		return fmt.Sprintf("c%d send what was held back", s.peer)
	case halves:
		return fmt.Sprintf("c%d half-close", s.peer)
	case ends:
		return fmt.Sprintf("c%d close", s.peer)
	case drains:
		return "drain"
	case sleeps:
		return "sleep"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "c%d send", s.peer)
	for _, c := range s.commands {
		b.WriteString(" " + c.String())
	}
	if len(s.cuts) > 0 {
		fmt.Fprintf(&b, ", cut at %v", s.cuts)
	}
	if s.held > 0 {
		fmt.Fprintf(&b, ", last %d bytes held back", s.held)
	}
	return b.String()
}

// A peer is what the session knows of one connection: enough to tell which replies are still to come, and no more.
type peer struct {
	open       bool
	halfClosed bool
	watched    []string
	// due are the commands sent whose replies have not all arrived, oldest first.
	due []command
	// held is what a step has held back of the newest command in due.
	held string
	// halfPut is set while held includes a part of a put's body: the highest job id that was known when the line was sent.
	halfPut   bool
	idsAtLine uint64
	reserved  []uint64 // jobs that the connection probably has reserved
}

// blocked: the connection waits in a reserve.
func (p *peer) blocked() bool { return p.open && len(p.due) > 0 && p.due[0].waits && p.held == "" }

// piled: commands wait behind a reserve that may wait.
func (p *peer) piled() bool { return p.open && len(p.due) > 1 }

// maxPile is how many bytes may be piled up behind a reserve: few enough to fit the system's buffers.
const maxPile = 32 << 10

// pile is how many bytes are piled up, the reserve included.
func (p *peer) pile() int {
	n := 0
	for _, c := range p.due {
		n += len(c.text)
	}
	return n
}

// settled: no reply is due that would not wait for somebody else.
func (p *peer) settled() bool {
	if !p.open {
		return true
	}
	if p.halfClosed {
		return false // until the server has closed
	}
	return len(p.due) == 0 || p.due[0].waits || p.held != "" && len(p.due) == 1
}

// A session is the state of all connections and the ids that are worth using.
type session struct {
	peers  []peer
	jobs   []uint64 // probably existing
	lastID uint64   // the highest id of an INSERTED put
	tally  tally
}

// A tally counts the replies by what was said and what was answered, to show that a session is worth its time.
type tally map[string]int

func (t tally) count(c command, line string) {
	verb, _, _ := strings.Cut(strings.TrimSpace(c.text), " ")
	if !slices.Contains(verbs, verb) {
		verb = "?"
	}
	word, _, _ := strings.Cut(line, " ")
	t[verb+" "+word]++
}

func (t tally) add(u tally) {
	for what, times := range u {
		t[what] += times
	}
}

func (t tally) sum() int {
	n := 0
	for _, times := range t {
		n += times
	}
	return n
}

func newSession(peers int) *session {
	return &session{peers: make([]peer, peers), tally: tally{}}
}

// admits reports whether the step makes sense now and whether its outcome is determined, see the table orderings of leeway_test.go. A
// step that is not admitted is left out, in making a session as well as in playing a shortened one again.
func (s *session) admits(st step) bool {
	if st.action == drains {
		return true
	}
	p := &s.peers[st.peer]
	switch st.action {
	case opens:
		return !p.open
	case goesOn:
		return p.open && !p.halfClosed && p.held != "" && s.quietBut(st.peer)
	case halves:
		return p.open && !p.halfClosed && (!p.piled() || s.quietBut(st.peer))
	case ends:
		return p.open && !p.halfClosed && !p.piled()
	}
	if !p.open || p.halfClosed || p.held != "" {
		return false
	}
	if !s.quietBut(st.peer) && (len(st.commands) > 1 || st.commands[0].replies > 1) {
		return false
	}
	if (p.blocked() || s.pilesUp(st)) && (!s.quietBut(st.peer) || p.pile()+len(st.text()) > maxPile) {
		return false
	}
	return s.admitsCommands(st, p.blocked())
}

func (s *session) admitsCommands(st step, behind bool) bool {
	for i, c := range st.commands {
		last := i == len(st.commands)-1
		switch {
		case behind && (c.watches != "" || c.ignores != "" || c.ticks || st.held > 0):
			return false
		case c.ticks && !last:
			return false
		case c.delays && (behind || len(st.commands) > 1):
			return false
		case c.waits && s.rivals(st.peer):
			return false
		case c.looks != 0 && s.mayBeHalfReceived(c.looks):
			return false
		case swallowsNext(c.text):
			return false
		}
		behind = behind || c.waits
	}
	return true
}

// pilesUp: the step has commands after one that may wait.
func (s *session) pilesUp(st step) bool {
	i := slices.IndexFunc(st.commands, func(c command) bool { return c.waits })
	return i >= 0 && i < len(st.commands)-1
}

// quietBut: no connection other than the given one has commands piled up behind a reserve.
func (s *session) quietBut(n int) bool {
	for i := range s.peers {
		if i != n && s.peers[i].piled() {
			return false
		}
	}
	return true
}

// rivals: another connection waits, or may be about to, on a tube that the given one watches.
func (s *session) rivals(n int) bool {
	for i := range s.peers {
		q := &s.peers[i]
		if i == n || !q.open || !slices.ContainsFunc(q.due, func(c command) bool { return c.waits }) {
			continue
		}
		for _, tube := range s.peers[n].watched {
			if slices.Contains(q.watched, tube) {
				return true
			}
		}
	}
	return false
}

func (s *session) mayBeHalfReceived(id uint64) bool {
	for i := range s.peers {
		if p := &s.peers[i]; p.open && p.halfPut && id > p.idsAtLine {
			return true
		}
	}
	return false
}

// begin notes what a step that is about to be taken will make due.
func (s *session) begin(st step) {
	if st.action == drains {
		return
	}
	p := &s.peers[st.peer]
	switch st.action {
	case opens:
		*p = peer{open: true, watched: []string{"default"}}
	case goesOn:
		p.held, p.halfPut = "", false
	case halves:
		p.halfClosed = true
	case ends:
		p.open = false
	case sends:
		s.beginCommands(st, p)
	}
}

func (s *session) beginCommands(st step, p *peer) {
	for _, c := range st.commands {
		p.due = append(p.due, c)
		if c.closes {
			return // The rest of the step is never read.
		}
		if c.watches != "" && !slices.Contains(p.watched, c.watches) {
			p.watched = append(p.watched, c.watches)
		}
		if i := slices.Index(p.watched, c.ignores); i >= 0 && len(p.watched) > 1 {
			p.watched = slices.Delete(p.watched, i, i+1)
		}
	}
	if st.held > 0 {
		text, c := st.text(), st.commands[len(st.commands)-1]
		p.held = text[len(text)-st.held:]
		p.halfPut = c.body > 0 && len(c.text)-st.held >= c.body
		p.idsAtLine = s.lastID
	}
}

// answer notes a reply that both servers gave. It is an error if nothing was due: then either both servers are wrong in the same way, or the
// session is.
func (s *session) answer(n int, r reply) error {
	p := &s.peers[n]
	if len(p.due) == 0 {
		return fmt.Errorf("c%d: both servers said %q and nothing was due", n, r.line)
	}
	c := p.due[0]
	s.tally.count(c, r.line)
	words := strings.Split(r.line, " ")
	switch words[0] {
	case "INSERTED":
		id, _ := strconv.ParseUint(words[1], 10, 64)
		s.jobs = append(s.jobs, id)
		s.lastID = max(s.lastID, id)
	case "RESERVED":
		id, _ := strconv.ParseUint(words[1], 10, 64)
		p.reserved = append(p.reserved, id)
	case "DELETED":
		s.jobs = without(s.jobs, c.job)
		p.reserved = without(p.reserved, c.job)
	case "RELEASED", "BURIED":
		p.reserved = without(p.reserved, c.job)
	}
	p.due[0].replies--
	if p.due[0].replies == 0 {
		p.due = p.due[1:]
	}
	return nil
}

// closed notes that both servers have closed a connection.
func (s *session) closed(n int) error {
	p := &s.peers[n]
	if !p.halfClosed && (len(p.due) == 0 || !p.due[0].closes) {
		return fmt.Errorf("c%d: both servers closed the connection, which had not quit", n)
	}
	p.open = false
	return nil
}

// unsettled is the first connection from which more must come, or -1.
func (s *session) unsettled() int {
	return slices.IndexFunc(s.peers, func(p peer) bool { return !p.settled() })
}

func without(ids []uint64, id uint64) []uint64 {
	if i := slices.Index(ids, id); i >= 0 {
		return slices.Delete(ids, i, i+1)
	}
	return ids
}
