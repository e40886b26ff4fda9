//go:build linux

package differential

import (
	"bytes"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// A side is one of the two servers, with a link for every peer of the session and one of its own to ask for stats.
type side struct {
	server  contestant
	links   []*link
	control *link
	probes  int // stats asked for on control
}

// A mismatch is a difference between the servers, or something that neither explains.
type mismatch struct {
	text string
	// late: it showed by patience running out, which on a busy machine may be chance.
	late bool
}

func (m *mismatch) Error() string { return m.text }

// A lockstep plays the steps of one session on the reference, sides[0], and on the server under test, sides[1].
type lockstep struct {
	session  *session
	sides    [2]*side
	patience time.Duration // how long an answer may take before it counts as missing
}

func newLockstep(reference, tested starter, maxJobSize, peers int, patience time.Duration) (*lockstep, error) {
	l := &lockstep{session: newSession(peers), patience: patience}
	for i, start := range []starter{reference, tested} {
		srv, err := start(maxJobSize)
		if err != nil {
			l.stop()
			return nil, err
		}
		l.sides[i] = &side{server: srv, links: make([]*link, peers)}
		if l.sides[i].control, err = srv.connect(); err != nil {
			l.stop()
			return nil, err
		}
		// Starting a server may have taken a question or two.
		first, err := l.sides[i].probe(patience)
		if err == nil {
			l.sides[i].probes, err = statsAsked(first)
		}
		if err != nil {
			l.stop()
			return nil, err
		}
	}
	return l, nil
}

func (l *lockstep) stop() {
	for _, s := range l.sides {
		if s == nil {
			continue
		}
		for _, k := range append(s.links, s.control) {
			if k != nil {
				k.close()
			}
		}
		s.server.stop()
	}
}

// take plays one step and compares. A step that the session does not admit is left out.
func (l *lockstep) take(st step) error {
	if !l.session.admits(st) {
		return nil
	}
	held := ""
	if st.action == goesOn {
		held = l.session.peers[st.peer].held
	}
	l.session.begin(st)
	// The server under test comes first, so that it works while the reference does.
	for _, i := range []int{1, 0} {
		if err := l.sides[i].do(st, held); err != nil {
			return err
		}
	}
	if len(st.commands) > 0 && st.commands[len(st.commands)-1].ticks {
		time.Sleep(2 * time.Millisecond) // until the reference's next tick
	}
	return l.settle()
}

func (s *side) do(st step, held string) error {
	if st.action == drains {
		return s.server.drain()
	}
	if st.action == opens {
		k, err := s.server.connect()
		s.links[st.peer] = k
		return err
	}
	k := s.links[st.peer]
	switch st.action {
	case halves:
		k.halfClose()
	case ends:
		k.close()
		s.links[st.peer] = nil
	case goesOn:
		return k.write([]byte(held))
	case sends:
		return s.send(k, st)
	}
	return nil
}

// send writes the step's text piece by piece, and lets the server look at each piece before the next one comes.
func (s *side) send(k *link, st step) error {
	text := []byte(st.text())
	text = text[:len(text)-st.held]
	from := 0
	for _, at := range st.cuts {
		if err := k.write(text[from:at]); err != nil {
			return err
		}
		from = at
		s.rest()
	}
	return k.write(text[from:])
}

// rest waits until the server is idle, if it can be told, and a good while otherwise.
func (s *side) rest() {
	runtime.Gosched()
	for start := time.Now(); !s.server.idle() && time.Since(start) < time.Second; {
		runtime.Gosched()
	}
}

// settle waits until the session is: every reply that is due has come, all replies are equal, and so is stats. The reference is
// asked for stats only when it is idle, so what it shows is final. The server under test may need longer; it is asked again
// until it shows the same, or patience ends. What it says too much is found at the next step.
func (l *lockstep) settle() error {
	start := time.Now()
	for try := 0; ; try++ {
		for _, s := range l.sides {
			s.rest()
		}
		want, err := l.sides[0].probe(l.patience)
		if err != nil {
			return &mismatch{text: "the reference: " + err.Error(), late: true}
		}
		got, err := l.sides[1].probe(l.patience)
		if err != nil {
			return &mismatch{text: "the server under test: " + err.Error(), late: true}
		}
		l.sides[0].rest()
		missing, err := l.compareLinks()
		if err != nil {
			return err
		}
		difference := differ(want, got)
		if missing == "" && difference == "" {
			difference = l.differInProbes(want, got)
		}
		if missing == "" && difference == "" {
			return nil
		}
		if time.Since(start) > l.patience {
			if missing == "" {
				missing = "in stats: " + difference
			}
			return &mismatch{text: missing, late: true}
		}
		if try > 3 {
			l.await(1)
		}
	}
}

// probe asks for stats on the link that is for nothing else.
func (s *side) probe(patience time.Duration) (reply, error) {
	s.probes++
	return s.control.ask("stats\r\n", patience)
}

// differInProbes compares cmd-stats, from which each side's own probes are taken off.
func (l *lockstep) differInProbes(want, got reply) string {
	var counts [2]int
	for i, r := range []reply{want, got} {
		n, err := statsAsked(r)
		if err != nil {
			return err.Error()
		}
		counts[i] = n - l.sides[i].probes
	}
	if counts[0] != counts[1] {
		return fmt.Sprintf("without probes, the reference's cmd-stats is %d, the server under test's %d", counts[0], counts[1])
	}
	return ""
}

// statsAsked is how often a server has been asked for stats, this time included.
func statsAsked(r reply) (int, error) {
	_, after, _ := bytes.Cut(r.body, []byte("\ncmd-stats: "))
	digits, _, _ := bytes.Cut(after, []byte("\n"))
	n, err := strconv.Atoi(string(digits))
	if err != nil {
		return 0, fmt.Errorf("cmd-stats is %q in %.200q", digits, r.body)
	}
	return n, nil
}

// compareLinks takes in and compares all replies that have come from both servers. It says what is still missing, if anything.
func (l *lockstep) compareLinks() (missing string, err error) {
	for n := range l.session.peers {
		if !l.session.peers[n].open {
			continue
		}
		text, err := l.comparePeer(n)
		if err != nil {
			return "", err
		}
		if missing == "" {
			missing = text
		}
	}
	if n := l.session.unsettled(); missing == "" && n >= 0 {
		missing = fmt.Sprintf("c%d: neither server has answered all of %v", n, l.session.peers[n].due)
	}
	return missing, nil
}

func (l *lockstep) comparePeer(n int) (missing string, err error) {
	a, b := l.sides[0].links[n], l.sides[1].links[n]
	if err := a.drain(); err != nil {
		return "", err
	}
	if err := b.drain(); err != nil {
		return "", err
	}
	for {
		want, sizeA, okA := a.next()
		got, sizeB, okB := b.next()
		switch {
		case okA && okB:
			if text := differ(want, got); text != "" {
				return "", &mismatch{text: fmt.Sprintf("c%d: %s", n, text)}
			}
			a.take(sizeA)
			b.take(sizeB)
			if err := l.session.answer(n, want); err != nil {
				return "", &mismatch{text: err.Error()}
			}
			continue
		case okA:
			return fmt.Sprintf("c%d: the reference says %q, the server under test nothing more (%.100q, ended %t)", n, want.line, b.input, b.ended), nil
		case okB:
			return fmt.Sprintf("c%d: the server under test says %q, the reference nothing more (%.100q, ended %t)", n, got.line, a.input, a.ended), nil
		case !bytes.Equal(a.input, b.input) || len(a.input) > 0:
			return fmt.Sprintf("c%d: half a reply: %.100q from the reference, %.100q from the server under test", n, a.input, b.input), nil
		case a.ended != b.ended:
			return fmt.Sprintf("c%d: closed by the reference %t, by the server under test %t", n, a.ended, b.ended), nil
		}
		break
	}
	if !a.ended {
		return "", nil
	}
	if err := l.session.closed(n); err != nil {
		return "", &mismatch{text: err.Error()}
	}
	for _, s := range l.sides {
		s.links[n].close()
		s.links[n] = nil
	}
	return "", nil
}

// await waits until anything arrives from the server under test, at most the given number of milliseconds.
func (l *lockstep) await(milliseconds int) {
	var fds []unix.PollFd
	for _, k := range l.sides[1].links {
		if k != nil && !k.ended {
			fds = append(fds, unix.PollFd{Fd: int32(k.fd), Events: unix.POLLIN})
		}
	}
	_, _ = unix.Poll(fds, milliseconds)
}
