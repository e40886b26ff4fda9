package conformance

import (
	"bytes"
	"fmt"
	"net"
	"time"
)

// Target is a server, freshly started with a script's settings, that a script
// is played against.
type Target interface {
	// Dial connects. The connection must have a method CloseWrite.
	Dial() (net.Conn, error)

	// Drain enters or leaves drain mode. It returns when the server has heard
	// of it.
	Drain(on bool) error

	// Settle returns when the server has done all that follows from the bytes
	// sent and the time passed. In a synctest bubble that is exact; with a real
	// clock it is a short sleep.
	Settle()

	// Patience is how long a reply may take to arrive. It is 0 where Settle is
	// exact. It proves no speed: it only ends a test that would wait for ever.
	Patience() time.Duration
}

// Play runs the script's steps for one side against the target. The error names
// the line of the script that was not met, what it expects, and what came.
func (s *Script) Play(side Side, target Target) error {
	p := newPlayer(s, side, target)
	defer p.close()
	return p.run()
}

// player is one run of a script.
type player struct {
	script *Script
	side   Side
	target Target
	steps  []Step
	next   int // index of the step to do next
	lines  map[string]*line
	order  []*line // in the order of their opening

	// sizes holds, by connection, how many bytes of a reply are still to come
	// whose length was written {size}.
	sizes map[string]int

	record *recording // nil when the script is only checked
}

func newPlayer(s *Script, side Side, target Target) *player {
	return &player{
		script: s,
		side:   side,
		target: target,
		steps:  s.steps(side),
		lines:  map[string]*line{},
		sizes:  map[string]int{},
	}
}

func (p *player) close() {
	for _, l := range p.order {
		l.hangUp()
	}
}

func (p *player) run() error {
	for p.next < len(p.steps) {
		st := p.steps[p.next]
		if err := p.do(st); err != nil {
			return &faultError{p.script.Name, st.Line, err.Error()}
		}
	}
	return p.leftOver()
}

// leftOver checks that every connection that is still open has received nothing
// but what was expected.
func (p *player) leftOver() error {
	p.target.Settle()
	for _, l := range p.order {
		got, ended := l.state()
		if l.hungUp {
			continue
		}
		if len(got) > 0 {
			return fmt.Errorf("%s: at the end %s has received more than expected: %q", p.script.Name, l.name, short(got))
		}
		if ended && !p.sawClosed(l.name) {
			return fmt.Errorf("%s: at the end %s is closed, which nothing expects", p.script.Name, l.name)
		}
	}
	return nil
}

func (p *player) sawClosed(conn string) bool {
	for _, st := range p.steps {
		if st.Kind == Closed && st.Conn == conn {
			return true
		}
	}
	return p.record != nil && p.record.closed[conn]
}

// do performs the step and moves on behind it.
func (p *player) do(st Step) error {
	if st.Conn == "" {
		p.next++
		return p.world(st)
	}
	l, err := p.dialled(st.Conn)
	if err != nil {
		return err
	}
	if st.expects() {
		if p.record != nil {
			return p.record.expectations(p, l)
		}
		p.next++
		return p.expect(l, st)
	}
	if st.Kind == Send {
		return p.send(l)
	}
	p.next++
	switch st.Kind {
	case HalfClose:
		err = l.halfClose()
	case Close:
		l.hangUp()
	case StopRead:
		l.rest(true)
	case ReadOn:
		l.rest(false)
	}
	p.target.Settle()
	if st.Kind == Skip {
		got, _ := l.state()
		l.take(len(got))
	}
	return err
}

// world performs a step that concerns no connection.
func (p *player) world(st Step) error {
	switch st.Kind {
	case Sleep:
		p.target.Settle()
		time.Sleep(st.Time)
	case Drain:
		return p.target.Drain(st.On)
	}
	return nil
}

func (p *player) dialled(name string) (*line, error) {
	if l := p.lines[name]; l != nil {
		return l, nil
	}
	c, err := p.target.Dial()
	if err != nil {
		return nil, fmt.Errorf("%s cannot connect: %w", name, err)
	}
	if patience := p.target.Patience(); patience > 0 {
		c.SetWriteDeadline(time.Now().Add(10 * patience))
	}
	l := newLine(name, c)
	p.lines[name] = l
	p.order = append(p.order, l)
	p.target.Settle()
	return l, nil
}

// send writes this and all following sends of the connection in one write, and
// lets the server work unless the next step waits for the reply anyway.
func (p *player) send(l *line) error {
	var texts []text
	for p.next < len(p.steps) && p.steps[p.next].Kind == Send && p.steps[p.next].Conn == l.name {
		texts = append(texts, p.steps[p.next].Text)
		p.next++
	}
	err := l.send(texts)
	if p.next < len(p.steps) {
		if st := p.steps[p.next]; st.Conn != l.name || st.Kind != Expect {
			p.target.Settle()
		}
	}
	return err
}

func (p *player) expect(l *line, st Step) error {
	if p.target.Patience() == 0 {
		p.target.Settle()
	}
	switch st.Kind {
	case Nothing:
		p.target.Settle()
		if got, ended := l.state(); len(got) > 0 || ended {
			return fmt.Errorf("%s should have received nothing but has %s", l.name, arrived(got, ended))
		}
	case Closed:
		ok := l.wait(p.target.Patience(), func(got []byte, ended bool) bool { return ended || len(got) > 0 })
		if got, ended := l.state(); !ok || len(got) > 0 {
			return fmt.Errorf("%s should be closed by the server but has %s", l.name, arrived(got, ended))
		}
	case Fields:
		return p.fields(l, st)
	default:
		return p.reply(l, st)
	}
	return nil
}

// reply compares one line of a reply.
func (p *player) reply(l *line, st Step) error {
	n, exact := 0, len(st.Text.fixedBytes())
	inner := bytes.ContainsRune(st.Text.fixedBytes(), '\n') // the text holds line feeds
	l.wait(p.target.Patience(), func(got []byte, ended bool) bool {
		if st.Ending == "" {
			n = min(exact, len(got))
			return ended || n == exact
		}
		n = bytes.IndexByte(got, '\n') + 1
		if whole := exact + len(st.Ending); inner && n > 0 && n < whole {
			n = min(whole, len(got))
			return ended || n == whole
		}
		return ended || n > 0
	})
	b, whole := bytes.CutSuffix(l.first(n), []byte(st.Ending))
	ok, size := st.Text.match(b)
	if !ok || !whole || (st.Ending == "\n" && bytes.HasSuffix(b, []byte("\r"))) {
		return fmt.Errorf("%s expects %q but has %s", l.name, st.shown(), arrived(l.state()))
	}
	l.take(n)
	return p.count(l, st, n, size)
}

// count checks the length that a reply announced with {size}: that many bytes
// in lines that end in LF, then CRLF.
func (p *player) count(l *line, st Step, n, size int) error {
	left, counting := p.sizes[l.name]
	switch {
	case size >= 0:
		p.sizes[l.name] = size
	case counting && st.Ending == "\n":
		p.sizes[l.name] = left - n
	case counting:
		delete(p.sizes, l.name)
		if left != 0 {
			return fmt.Errorf("%s: the length announced is wrong by %d bytes", l.name, left)
		}
	}
	return nil
}

// fields reads one whole reply in YAML and compares the fields that the step
// names.
func (p *player) fields(l *line, st Step) error {
	var found map[string]string
	n := 0
	l.wait(p.target.Patience(), func(got []byte, ended bool) bool {
		found, n = parseOK(got)
		return ended || n != 0
	})
	if n <= 0 {
		return fmt.Errorf("%s expects statistics but has %s", l.name, arrived(l.state()))
	}
	l.take(n)
	for _, f := range st.Fields {
		v, there := found[f.Key]
		if ok, _ := f.Value.match([]byte(v)); !there || !ok {
			return fmt.Errorf("%s expects %s=%s but has %q", l.name, f.Key, f.raw, v)
		}
	}
	return nil
}

// parseOK reads an OK reply at the start of got. It returns the fields and the
// reply's length; 0 if it is not complete, -1 if it is something else.
func parseOK(got []byte) (fields map[string]string, n int) {
	first, _, ok := bytes.Cut(got, []byte("\r\n"))
	if !ok {
		return nil, 0
	}
	var size int
	if _, err := fmt.Sscanf(string(first), "OK %d", &size); err != nil {
		return nil, -1
	}
	n = len(first) + 2 + size + 2
	if len(got) < n {
		return nil, 0
	}
	fields = map[string]string{}
	for l := range bytes.Lines(got[len(first)+2 : n-2]) {
		if k, v, ok := bytes.Cut(bytes.TrimSuffix(l, []byte("\n")), []byte(": ")); ok {
			fields[string(k)] = string(v)
		}
	}
	if !bytes.HasSuffix(got[:n], []byte("\n\r\n")) {
		return nil, -1
	}
	return fields, n
}

// fixedBytes returns the bytes of a text if it has no pattern.
func (t text) fixedBytes() []byte {
	if !t.fixed() {
		return nil
	}
	return t.all()
}

// shown is what an Expect step expects, for an error.
func (s *Step) shown() string {
	if s.Text.fixed() {
		return string(short(append(s.Text.all(), s.Ending...)))
	}
	var b []byte
	for _, c := range s.Text {
		if c.pattern != "" {
			b = append(b, "{"+c.pattern+"}"...)
			continue
		}
		b = append(b, bytes.Repeat(c.bytes, c.count)...)
	}
	return string(append(b, s.Ending...))
}

func arrived(got []byte, ended bool) string {
	switch {
	case len(got) == 0 && ended:
		return "been closed"
	case len(got) == 0:
		return "nothing"
	case ended:
		return fmt.Sprintf("%q, then closed", short(got))
	}
	return fmt.Sprintf("%q", short(got))
}

// short cuts what would fill a screen.
func short(b []byte) []byte {
	const most = 300
	if len(b) <= most {
		return b
	}
	return fmt.Appendf(bytes.Clone(b[:most]), " … (%d bytes)", len(b))
}
