package top

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/haricotq/haricot/internal/remote"
)

// content is a page of text: all pages but the table.
func (m *Model) content() []Line {
	switch m.page {
	case tubePage:
		return m.tubeText()
	case orderPage:
		return m.orderText()
	case helpPage:
		return m.helpText()
	}
	return nil
}

// tubeText is a tube: its numbers, and which jobs are next.
func (m *Model) tubeText() []Line {
	var r *row
	for i := range m.shown.rows {
		if m.shown.rows[i].Name == m.tube {
			r = &m.shown.rows[i]
		}
	}
	title := Line{{"Tube ", Faint}, {clean(m.tube), Strong}}
	if r == nil {
		return []Line{title.within(m.width), {{"It is not there any more.", Alert}}}
	}
	if paused := left(r.PauseLeft); paused != "" {
		title = append(title, Span{gap + "paused, left: " + paused, Alert})
	}
	lines := []Line{title.within(m.width)}
	for _, group := range [][]Line{
		{
			named("ready", count(r.Ready)), named("urgent", count(r.Urgent)), named("reserved", count(r.Reserved)),
			named("delayed", count(r.Delayed)), named("buried", count(r.Buried)),
		},
		{named("waiting", count(r.Waiting)), named("watching", count(r.Watching)), named("using", count(r.Using))},
		{named("put", count(r.Puts)), named("a second", r.puts.String()), named("deleted", count(r.Deletes)), named("a second", r.deletes.String())},
	} {
		lines = append(lines, inRows(m.width, group...)...)
	}
	if m.next == nil {
		return append(lines, nil, Line{{"Looking at its jobs", Faint}})
	}
	for _, state := range states {
		lines = append(lines, nil)
		lines = append(lines, m.jobText(state, m.next[state])...)
	}
	return lines
}

// states are the states whose next job can be seen.
var states = []remote.State{remote.Ready, remote.Delayed, remote.Buried}

// bodyShown is how many bytes of a body are shown.
const bodyShown = 2048

// jobText is a job that is next in a state.
func (m *Model) jobText(state remote.State, job *remote.Job) []Line {
	if job == nil {
		return []Line{{{fmt.Sprintf("No %s job", state), Faint}}}
	}
	lines := []Line{{{fmt.Sprintf("Next %s job: %d", state, job.ID), Strong}}}
	stat := func(name string) Line { return named(name, clean(job.Stats.Value(name))) }
	lines = append(lines, inRows(m.width, stat("pri"), stat("age"), stat("delay"), stat("ttr"), stat("time-left"), stat("reserves"),
		stat("timeouts"), stat("releases"), stat("buries"), stat("kicks"), named("bytes", fmt.Sprint(len(job.Body))))...)
	body := beginning(job.Body)
	for line := range strings.Lines(string(body)) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if line == "" {
			lines = append(lines, nil)
			continue
		}
		lines = append(lines, wrapped(clean(line), m.width)...)
	}
	if more := len(job.Body) - len(body); more > 0 {
		lines = append(lines, Line{{fmt.Sprintf("%d bytes more: haricot job %d --body", more, job.ID), Faint}})
	}
	return lines
}

// beginning is as much of a body as is shown. It does not end within a character.
func beginning(body []byte) []byte {
	n := min(len(body), bodyShown)
	for i := 1; i < utf8.UTFMax && n < len(body) && !utf8.RuneStart(body[n]); i++ {
		n--
	}
	return body[:n]
}

// orderText is what the table can be sorted by.
func (m *Model) orderText() []Line {
	lines := make([]Line, len(columns))
	for i, c := range columns {
		look := Plain
		if i == m.choice {
			look = Chosen
		}
		lines[i] = Line{{fmt.Sprintf("%s  %-9s ", c.key, c.heading), look}, {c.meaning, Faint}}
	}
	return lines
}

// help explains the keys, and what is not plain.
var help = [][2]string{
	{"Up Down j k", "another tube; so do PgUp, PgDn, Home and End"},
	{"Enter", "look into the tube; Esc goes back"},
	{"< >", "sort by the column before or behind"},
	{"F6", "choose what to sort by; the letters below do so at once"},
	{"I", "sort the other way round"},
	{"/ F4", "only tubes whose name has a text in it; Enter keeps it, Esc ends it"},
	{"Space", "pause the display, or go on"},
	{"d s", "how often to look"},
	{"p", "in a tube: pause it until it is resumed, or resume it"},
	{"k", "in a tube: kick jobs, buried ones first"},
	{"Ctrl-L", "draw the screen anew"},
	{"h ? F1", "this help"},
	{"q F10 Ctrl-C", "quit"},
}

// helpText is the page of help.
func (m *Model) helpText() []Line {
	var lines []Line
	explain := func(name, meaning string) {
		const names = 14
		if m.width < 3*names {
			lines = append(lines, Line{{name, Strong}})
			lines = append(lines, wrappedWords(meaning, m.width)...)
			return
		}
		for i, line := range wrappedWords(meaning, m.width-names) {
			if i > 0 {
				name = ""
			}
			lines = append(lines, append(Line{{padded(name, names), Strong}}, line...))
		}
	}
	for _, h := range help {
		explain(h[0], h[1])
	}
	lines = append(lines, nil)
	for _, c := range columns {
		explain(string(c.key)+" "+c.heading, c.meaning)
	}
	lines = append(lines, nil)
	return append(lines, wrappedWords("The rates of the server count commands; reserve is counted also where there was no job to get. "+
		"While you look into a tube, this program uses it, as any client does that peeks.", m.width)...)
}

// wrappedWords divides a text of ours between words.
func wrappedWords(text string, width int) []Line {
	var lines []Line
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) <= width:
			line += " " + word
		default:
			lines, line = append(lines, Line{{line, Plain}}), word
		}
	}
	return append(lines, Line{{line, Plain}})
}
