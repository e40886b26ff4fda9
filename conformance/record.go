package conformance

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// Record plays the script against the reference and returns the file with every
// expectation of the reference replaced by what really came. Lines that already
// agree stay as they are, patterns included. A line of a repetition is only
// checked.
func (s *Script) Record(target Target) (string, error) {
	p := newPlayer(s, Reference, target)
	defer p.close()
	p.record = &recording{
		replaced: map[int]string{},
		added:    map[int]string{},
		removed:  map[int]bool{},
		closed:   map[string]bool{},
	}
	if err := p.run(); err != nil {
		return "", err
	}
	return p.record.file(s.lines), nil
}

// recording collects the changes to a script's lines, which are numbered from 1.
type recording struct {
	replaced map[int]string  // by line: what takes its place
	added    map[int]string  // by line: what comes behind it
	removed  map[int]bool    // by line
	closed   map[string]bool // connections that have been seen to end
}

// quiet is how long nothing must arrive for a reply to be complete.
const quiet = 40 * time.Millisecond

// longestSilence is how long nothing must arrive before a reply that the script
// expects is recorded as nothing.
const longestSilence = 2 * time.Second

// expectations records the run of expectations of one connection at the
// player's place.
func (r *recording) expectations(p *player, l *line) error {
	var run []Step
	for p.next < len(p.steps) {
		st := p.steps[p.next]
		if !st.expects() || st.Conn != l.name {
			break
		}
		// A difference, or a repetition, begins a run of its own.
		if len(run) > 0 && (st.repeated != run[0].repeated || st.Line != run[len(run)-1].Line+p.comments(st.Line, run[len(run)-1].Line)) {
			break
		}
		run = append(run, st)
		p.next++
	}
	if run[0].repeated {
		for _, st := range run {
			if err := p.expect(l, st); err != nil {
				return err
			}
		}
		return nil
	}
	more := p.next < len(p.steps) && p.steps[p.next].Conn == l.name &&
		(p.steps[p.next].expects() || p.steps[p.next].Kind == Skip)
	r.settled(l, run[0].Kind != Nothing)
	indent := p.script.lines[run[0].Line-1]
	indent = indent[:len(indent)-len(strings.TrimLeft(indent, " \t"))] + l.name + " "
	var last int
	for _, st := range run {
		s, ok := r.one(l, &st)
		if !ok {
			r.removed[st.Line] = true
			continue
		}
		last = st.Line
		if s != "" {
			r.replaced[last] = indent + s
		}
	}
	if !more {
		r.rest(l, indent, run, last)
	}
	return nil
}

// comments is the distance of two steps between which only comments stand, or 0.
func (p *player) comments(line, before int) int {
	for i := before; i < line-1; i++ {
		if !strings.HasPrefix(strings.TrimLeft(p.script.lines[i], " \t"), "#") {
			return 0
		}
	}
	return line - before
}

// settled waits until no more bytes come, and before that, where a reply is
// expected, for its first byte.
func (r *recording) settled(l *line, reply bool) {
	if reply {
		l.wait(longestSilence, func(got []byte, ended bool) bool { return ended || len(got) > 0 })
	}
	for n := -1; ; {
		got, ended := l.state()
		if ended || len(got) == n {
			return
		}
		n = len(got)
		time.Sleep(quiet)
	}
}

// one returns what takes the place of the expectation st: "" to keep it. It is
// not ok if nothing is left to put there.
func (r *recording) one(l *line, st *Step) (string, bool) {
	got, ended := l.state()
	if len(got) == 0 {
		switch {
		case ended && !r.closed[l.name]:
			r.closed[l.name] = true
			return "closed", true
		case st.Kind == Nothing && !ended:
			return "", true
		}
		return "", false
	}
	if st.Kind == Fields {
		if found, n := parseOK(got); n > 0 {
			l.take(n)
			return fieldsOf(st, found), true
		}
	}
	s, b := nextLine(got)
	l.take(len(b))
	if st.Kind == Expect {
		whole, ending := bytes.CutSuffix(b, []byte(st.Ending))
		if ok, _ := st.Text.match(whole); ok && ending && !(st.Ending == "\n" && bytes.HasSuffix(whole, []byte("\r"))) {
			return "", true
		}
	}
	return s, true
}

// rest puts what has arrived beyond the run behind its line last, or in place
// of the whole run if last is 0.
func (r *recording) rest(l *line, indent string, run []Step, last int) {
	var more []string
	for {
		got, ended := l.state()
		if len(got) == 0 {
			if ended && !r.closed[l.name] {
				r.closed[l.name] = true
				more = append(more, indent+"closed")
			}
			break
		}
		s, b := nextLine(got)
		l.take(len(b))
		more = append(more, indent+s)
	}
	switch {
	case last > 0 && len(more) > 0:
		r.added[last] = strings.Join(more, "\n")
	case last == 0:
		if len(more) == 0 {
			more = []string{indent + "nothing"}
		}
		delete(r.removed, run[0].Line)
		r.replaced[run[0].Line] = strings.Join(more, "\n")
	}
}

// nextLine takes the first line of got, without the connection's name.
func nextLine(got []byte) (shown string, b []byte) {
	n := bytes.IndexByte(got, '\n') + 1
	mark := "<"
	body := got
	switch {
	case n == 0:
		mark, n = "<.", len(got)
	case bytes.HasSuffix(got[:n], []byte("\r\n")):
		body = got[:n-2]
	default:
		mark, body = "<|", got[:n-1]
	}
	shown = mark
	if len(body) > 0 {
		shown += " " + formatText(body)
	}
	return shown, got[:n]
}

func fieldsOf(st *Step, found map[string]string) string {
	same := true
	out := "fields"
	for _, f := range st.Fields {
		if ok, _ := f.Value.match([]byte(found[f.Key])); ok {
			out += " " + f.Key + "=" + f.raw
			continue
		}
		same = false
		out += fmt.Sprintf(" %s=%s", f.Key, strings.ReplaceAll(formatText([]byte(found[f.Key])), " ", `\x20`))
	}
	if same {
		return ""
	}
	return out
}

// file returns the lines with the changes made.
func (r *recording) file(lines []string) string {
	var out []string
	for i, old := range lines {
		n := i + 1
		if r.removed[n] {
			continue
		}
		if s, ok := r.replaced[n]; ok {
			old = s
		}
		out = append(out, old)
		if s, ok := r.added[n]; ok {
			out = append(out, s)
		}
	}
	return strings.Join(out, "\n")
}
