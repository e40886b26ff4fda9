package top

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/haricotq/haricot/internal/remote"
)

// began is when the sample of the tests before the first was taken.
var began = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// sampled makes a sample that was taken some seconds later, of a server with some tubes.
func sampled(after int, tubes ...Tube) Sampled {
	s := &Sample{At: began.Add(time.Duration(after) * time.Second), ID: "a", Version: "1.0", Host: "box", Uptime: time.Duration(100+after) * time.Second, Tubes: tubes}
	for _, t := range tubes {
		s.Ready += t.Ready
		s.Puts += t.Puts
	}
	return Sampled{s}
}

// three are tubes whose orders by name and by ready jobs differ.
func three() []Tube {
	return []Tube{{Name: "bravo", Ready: 5, Puts: 100}, {Name: "alpha", Ready: 1, Buried: 7, Puts: 50}, {Name: "charlie", Ready: 9, PauseLeft: time.Minute}}
}

// modelOf makes a model that has been told of events.
func modelOf(width, height int, events ...Event) *Model {
	m := NewModel("localhost", 2*time.Second)
	m.Update(Resized{width, height})
	for _, e := range events {
		m.Update(e)
	}
	return m
}

// pressAll presses keys and collects the requests. A key is one of a single character, or the name of another.
func (m *Model) pressAll(keys ...Key) (requests []Request) {
	for _, key := range keys {
		requests = append(requests, m.Update(Pressed{key})...)
	}
	return requests
}

// typed are the keys that type a text.
func typed(text string) (keys []Key) {
	for _, r := range text {
		keys = append(keys, Key(r))
	}
	return keys
}

// text is what the screen shows, without spaces at the ends of lines.
func (m *Model) text() string {
	var out strings.Builder
	for _, line := range m.Draw().Lines {
		out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return out.String()
}

// shows checks that the screen has some texts, and not those that begin with a !.
func shows(t *testing.T, m *Model, texts ...string) {
	t.Helper()
	screen := m.text()
	for _, text := range texts {
		without, not := strings.CutPrefix(text, "!")
		if strings.Contains(screen, without) == not {
			t.Errorf("want %q on the screen, which is\n%s", text, screen)
		}
	}
}

// names are the tubes of the table from top to bottom, the selected one in brackets.
func names(m *Model) string {
	all := make([]string, len(m.rows))
	for i, r := range m.rows {
		if all[i] = r.Name; i == m.at {
			all[i] = "[" + r.Name + "]"
		}
	}
	return strings.Join(all, " ")
}

func TestScreen(t *testing.T) {
	m := modelOf(100, 12, sampled(0, three()...))
	later := three()
	later[0].Puts, later[0].Deletes = 130, 3
	m.Update(sampled(2, later...))
	want := `haricot top  localhost  version 1.0  up 00:01:42  every 2s  05:06:09  on box
connections 0  workers 0  waiting 0  a second:  put 15.0  reserve 0  delete 0  producers 0
ready 15  urgent 0  reserved 0  delayed 0  buried 0  tubes 3

NAME             vREADY URGENT RESERVED DELAYED BURIED WAITING WATCHING  USING  PUT/S  DEL/S  PAUSED
charlie               9      0        0       0      0       0        0      0      0      0   1m00s
bravo                 5      0        0       0      0       0        0      0   15.0    1.5
alpha                 1      0        0       0      7       0        0      0      0      0



F1 Help  q Quit  / Filter  F6 Sort  < > Column  I Invert  Enter Open  Space Pause display
`
	if diff := cmp.Diff(want, m.text()); diff != "" {
		t.Error(diff)
	}
}

func TestSort(t *testing.T) {
	m := modelOf(100, 20, sampled(0, three()...))
	for _, step := range []struct {
		key  Key
		want string
	}{
		{"N", "alpha bravo [charlie]"},
		{"I", "[charlie] bravo alpha"},
		{"N", "[charlie] bravo alpha"}, // as it is already
		{"R", "[charlie] bravo alpha"},
		{"I", "alpha bravo [charlie]"},
		{"B", "alpha bravo [charlie]"},
		{"T", "[charlie] alpha bravo"},
		{">", "alpha bravo [charlie]"}, // from the last column to the first
		{"<", "[charlie] alpha bravo"},
		{"P", "alpha bravo [charlie]"}, // All rates are unknown.
	} {
		m.pressAll(step.key)
		if got := names(m); got != step.want {
			t.Errorf("%s: %s, want %s", step.key, got, step.want)
		}
	}
	m.pressAll(KeyF6)
	shows(t, m, "READY", "workers that wait for a job", "!alpha")
	m.pressAll(KeyHome, KeyUp, KeyUp, KeyUp, KeyUp, KeyUp, KeyUp, KeyUp, KeyUp, KeyUp, KeyDown, KeyEnter)
	shows(t, m, "vREADY")
	m.pressAll(KeyF6, KeyDown, KeyEscape)
	shows(t, m, "vREADY", "alpha")
	m.pressAll(KeyF6, "N")
	shows(t, m, "NAME^")
}

// TestEveryColumnSorts gives each column its own order, whatever it shows.
func TestEveryColumnSorts(t *testing.T) {
	for i, c := range columns {
		m := modelOf(200, 20)
		before, now := three(), three()
		for j := range now {
			n := uint64(j + 1)
			now[j] = Tube{
				Name: fmt.Sprint(3 - j), Ready: n, Urgent: n, Reserved: n, Delayed: n, Buried: n, Waiting: n, Watching: n, Using: n,
				Puts: n, Deletes: n, PauseLeft: time.Duration(n) * time.Second,
			}
			before[j] = Tube{Name: now[j].Name}
		}
		m.Update(sampled(0, before...))
		m.Update(sampled(1, now...))
		m.pressAll(c.key)
		if got := strings.NewReplacer("[", "", "]", "").Replace(names(m)); got != "1 2 3" {
			t.Errorf("by %s: %s", c.heading, got)
		}
		m.pressAll("I")
		if got := strings.NewReplacer("[", "", "]", "").Replace(names(m)); got != "3 2 1" {
			t.Errorf("by %s, inverted: %s", c.heading, got)
		}
		if m.order.column != i {
			t.Errorf("%s sorts by column %d, want %d", c.key, m.order.column, i)
		}
	}
}

func TestSelectionStaysOnTube(t *testing.T) {
	m := modelOf(100, 20, sampled(0, three()...))
	m.pressAll(KeyDown)
	if got, want := names(m), "charlie [bravo] alpha"; got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	changed := three()
	changed[0].Ready = 1000
	m.Update(sampled(2, append(changed, Tube{Name: "delta", Ready: 50})...))
	if got, want := names(m), "[bravo] delta charlie alpha"; got != want {
		t.Errorf("after a refresh: %s, want %s", got, want)
	}
	m.Update(sampled(4, three()[1:]...))
	if got, want := names(m), "[charlie] alpha"; got != want {
		t.Errorf("when it is gone: %s, want %s", got, want)
	}
	m.Update(sampled(6))
	if got := names(m); got != "" {
		t.Errorf("without tubes: %s", got)
	}
	if requests := m.pressAll(KeyEnter, KeyDown, KeyPageDown, KeyEnd, KeyUp); requests != nil {
		t.Errorf("without tubes: %v", requests)
	}
}

func TestFilter(t *testing.T) {
	m := modelOf(100, 20, sampled(0, three()...))
	m.pressAll("/")
	m.pressAll(typed("R")...)
	shows(t, m, "Filter: R", "filter R: 2 of 3", "!alpha") // at once, and whatever the case
	if c := m.Draw(); c.CursorX != len("Filter: R") || c.CursorY != 19 {
		t.Errorf("the cursor is at %d, %d", c.CursorX, c.CursorY)
	}
	m.pressAll(typed("q")...)
	shows(t, m, "filter Rq: 0 of 3")
	m.pressAll(KeyBackspace, KeyDown, KeyEnter)
	m.Update(sampled(2, append(three(), Tube{Name: "romeo"}, Tube{Name: "tango"})...))
	if got, want := names(m), "charlie [bravo] romeo"; got != want {
		t.Errorf("after a refresh: %s, want %s", got, want)
	}
	m.pressAll(KeyF4, KeyControlU)
	m.pressAll(typed("tango")...)
	m.pressAll(KeyEscape)
	shows(t, m, "!filter", "alpha", "tango")
	m.pressAll("/", "z", KeyEnter, KeyEscape)
	shows(t, m, "!filter", "alpha")
}

func TestScroll(t *testing.T) {
	var tubes []Tube
	for i := range 100 {
		tubes = append(tubes, Tube{Name: fmt.Sprintf("t%02d", i)})
	}
	m := modelOf(60, 12, sampled(0, tubes...)) // six rows
	for _, step := range []struct {
		key   Key
		at    int
		first int
	}{
		{KeyDown, 1, 0},
		{KeyPageDown, 7, 2},
		{KeyEnd, 99, 94},
		{"k", 98, 94},
		{KeyPageUp, 92, 92},
		{"j", 93, 92},
		{KeyHome, 0, 0},
		{KeyUp, 0, 0},
	} {
		if m.pressAll(step.key); m.at != step.at || m.first != step.first {
			t.Errorf("%s: row %d selected, %d on top, want %d and %d", step.key, m.at, m.first, step.at, step.first)
		}
	}
	m.pressAll(KeyEnd)
	m.Update(Resized{60, 50})
	shows(t, m, "t99", "t56", "!t55")
	m.Update(Resized{60, 5})
	shows(t, m, "t99", "t98", "!t97")
}

func TestTube(t *testing.T) {
	m := modelOf(100, 60, sampled(0, three()...))
	if got := m.pressAll(KeyDown, KeyEnter); !slices.Equal(got, []Request{Follow{"bravo"}}) {
		t.Fatalf("requests %v", got)
	}
	shows(t, m, "Tube bravo", "ready 5", "Looking at its jobs")
	m.Update(Peeked{Tube: "alpha"}) // of a tube that was looked into before
	shows(t, m, "Looking at its jobs")
	job := &remote.Job{ID: 17, Stats: remote.Stats{{Name: "pri", Value: "1024"}, {Name: "age", Value: "3"}}, Body: []byte("one\r\n\ntwo " + strings.Repeat("x", 3000))}
	m.Update(Peeked{"bravo", map[remote.State]*remote.Job{remote.Ready: job}})
	shows(t, m, "Next ready job: 17", "pri 1024", "bytes 3010", "\none\n\ntwo xxx", "962 bytes more: haricot job 17 --body", "No buried job", "No delayed job")
	m.Update(Resized{100, 12})
	shows(t, m, "Tube bravo", "!No buried job")
	m.pressAll(KeyEnd)
	shows(t, m, "!Tube bravo", "No buried job")
	m.pressAll(KeyHome)
	shows(t, m, "Tube bravo")

	if got := m.pressAll("p"); !slices.Equal(got, []Request{Pause{"bravo", pauseLength}}) {
		t.Errorf("requests %v", got)
	}
	m.Update(Answered{Text: "paused until it is resumed"})
	shows(t, m, "paused until it is resumed")
	paused := three()
	paused[0].PauseLeft = pauseLength - time.Second
	m.Update(sampled(2, paused...))
	shows(t, m, "Tube bravo  paused, left: forever")
	if got := m.pressAll("p"); !slices.Equal(got, []Request{Pause{"bravo", 0}}) {
		t.Errorf("requests %v", got)
	}
	m.Update(sampled(4, three()[1:]...))
	shows(t, m, "It is not there any more.")
	if got := m.pressAll("p", "k"); got != nil {
		t.Errorf("requests %v", got)
	}
	if got := m.pressAll(KeyEscape); !slices.Equal(got, []Request{Follow{}}) {
		t.Errorf("requests %v", got)
	}
	shows(t, m, "NAME", "charlie")
}

// TestBeginning cuts a long body between two characters, and one that is no text anywhere.
func TestBeginning(t *testing.T) {
	for body, want := range map[string]int{
		"short": 5, strings.Repeat("x", bodyShown+1): bodyShown, "x" + strings.Repeat("ü", bodyShown): bodyShown - 1, strings.Repeat("\x80", 2*bodyShown): bodyShown - 3,
	} {
		if got := len(beginning([]byte(body))); got != want {
			t.Errorf("%d bytes of %.10q, want %d", got, body, want)
		}
	}
}

func TestKick(t *testing.T) {
	m := modelOf(100, 40, sampled(0, three()...))
	m.pressAll(KeyEnd, KeyEnter, "k")
	shows(t, m, "Kick how many buried jobs? 7")
	if got := m.pressAll(KeyEscape); got != nil || m.prompt != nil || m.page != tubePage {
		t.Errorf("refused, it asks for %v", got)
	}
	if got := m.pressAll("k", KeyBackspace, "3", KeyEnter); !slices.Equal(got, []Request{Kick{"alpha", remote.Buried, 3}}) {
		t.Errorf("requests %v", got)
	}
	for _, answer := range []string{"", "0", "x", "-1", "99999999999"} {
		if got := m.pressAll(append(append([]Key{"k", KeyControlU}, typed(answer)...), KeyEnter)...); got != nil {
			t.Errorf("%q: requests %v", answer, got)
		}
		shows(t, m, "nothing kicked")
	}
	m.Update(sampled(2, Tube{Name: "alpha", Delayed: 2}))
	if got := m.pressAll("k", KeyEnter); !slices.Equal(got, []Request{Kick{"alpha", remote.Delayed, 2}}) {
		t.Errorf("requests %v", got)
	}
	m.Update(sampled(2, Tube{Name: "alpha", Ready: 2}))
	m.pressAll("k")
	shows(t, m, "no job is buried or delayed", "!Kick how many")
}

func TestInterval(t *testing.T) {
	m := modelOf(100, 20, sampled(0))
	if got := m.pressAll("d", "0", ".", "5", KeyEnter); !slices.Equal(got, []Request{Every{500 * time.Millisecond}}) {
		t.Errorf("requests %v", got)
	}
	shows(t, m, "every 500ms")
	for _, answer := range []string{"x", "0", "0.05", "2h", "-1"} {
		if got := m.pressAll(append(append([]Key{"s"}, typed(answer)...), KeyEnter)...); got != nil {
			t.Errorf("%q: requests %v", answer, got)
		}
		shows(t, m, "is no interval", "every 500ms")
	}
	if got := m.pressAll("d", KeyEnter); got != nil {
		t.Errorf("without an answer: requests %v", got)
	}
	if got := m.pressAll("d", KeyControlC); !slices.Equal(got, []Request{Quit{}}) {
		t.Errorf("requests %v", got)
	}
}

func TestPausedDisplay(t *testing.T) {
	m := modelOf(100, 20, sampled(0, three()...))
	m.pressAll(" ")
	m.Update(sampled(2, append(three(), Tube{Name: "delta"})...))
	shows(t, m, "display paused", "05:06:07", "!delta")
	m.pressAll(KeyEnter)
	m.Update(Peeked{"charlie", map[remote.State]*remote.Job{remote.Ready: {ID: 1}}})
	m.Update(Peeked{"charlie", map[remote.State]*remote.Job{remote.Ready: {ID: 2}}})
	shows(t, m, "Next ready job: 1")
	m.pressAll(KeyEscape, " ")
	shows(t, m, "!display paused", "05:06:09", "delta")
}

func TestLost(t *testing.T) {
	m := modelOf(100, 20)
	shows(t, m, "waiting for the server")
	m.Update(sampled(0, three()...))
	m.Update(Lost{errors.New("connection refused")})
	shows(t, m, "disconnected, trying again  connection refused", "alpha")
	m.Update(Resized{20, 5})
	shows(t, m, "disconnected")
	m.Update(Resized{100, 20})
	again := sampled(1, Tube{Name: "bravo", Puts: 1000})
	again.Sample.ID = "b" // another process
	m.Update(again)
	shows(t, m, "!disconnected", "put -")
	if got := m.shown.rows[0].puts; got != unknown {
		t.Errorf("the rate across a restart is %v", got)
	}
}

func TestHelp(t *testing.T) {
	for _, key := range []Key{"h", "?", KeyF1} {
		m := modelOf(100, 60, sampled(0, three()...))
		m.pressAll(KeyEnter, key)
		shows(t, m, "this help", "T PAUSED")
		m.pressAll("q")
		shows(t, m, "Tube charlie")
	}
	m := modelOf(20, 8, sampled(0, three()...))
	m.pressAll("h")
	shows(t, m, "Up Down j k")
	for range 100 {
		m.pressAll(KeyPageDown)
	}
	shows(t, m, "peeks.")
}

func TestQuit(t *testing.T) {
	for _, key := range []Key{"q", KeyF10, KeyControlC} {
		if got := modelOf(80, 24).pressAll(key); !slices.Equal(got, []Request{Quit{}}) {
			t.Errorf("%s: %v", key, got)
		}
	}
	if got := modelOf(80, 24).pressAll(KeyControlL); !slices.Equal(got, []Request{Redraw{}}) {
		t.Errorf("requests %v", got)
	}
}

// TestSizes draws every page in many sizes, with names and bodies that are hostile, long and wide.
func TestSizes(t *testing.T) {
	const evil = "\x1b]0;owned\x07\x1b[2J\u009b31m\u202e日本\xff\r\n\tsecond"
	tubes := []Tube{{Name: evil + strings.Repeat("長", 100), Ready: 1 << 63, Buried: 5, PauseLeft: time.Hour}, {Name: strings.Repeat("x", 200)}}
	s := sampled(0, tubes...)
	s.Sample.Version, s.Sample.Host, s.Sample.Draining = evil, evil, true
	job := &remote.Job{ID: 1<<64 - 1, Stats: remote.Stats{{Name: "pri", Value: evil}}, Body: []byte(strings.Repeat(evil, 50))}
	next := map[remote.State]*remote.Job{remote.Ready: job, remote.Buried: job}
	for _, keys := range [][]Key{
		nil, {KeyF6}, {"h"}, {"/", "x"}, {"/", "長"}, {"d", "1"}, {KeyEnter}, {KeyEnter, "h"}, {KeyEnter, "k"}, {" "},
	} {
		m := modelOf(80, 24, s)
		m.pressAll(keys...)
		m.Update(Peeked{tubes[0].Name, next})
		m.Update(Lost{errors.New(evil)})
		for width := 1; width < 130; width += 1 + width/6 {
			for height := 1; height < 40; height += 1 + height/4 {
				m.Update(Resized{width, height})
				checkFrame(t, m.Draw(), width, height)
				if t.Failed() {
					t.Fatalf("after %v, on a screen of %d by %d", keys, width, height)
				}
			}
		}
	}
}

// checkFrame checks that a frame fits a screen and can do it no harm.
func checkFrame(t *testing.T, frame Frame, width, height int) {
	t.Helper()
	if len(frame.Lines) != height {
		t.Errorf("%d lines", len(frame.Lines))
	}
	for _, line := range frame.Lines {
		text := line.String()
		if columnsOf(text) > width {
			t.Errorf("too wide: %q", text)
		}
		if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("not printable: %q", text)
		}
	}
	if frame.CursorY >= height || frame.CursorX > width {
		t.Errorf("the cursor is at %d, %d", frame.CursorX, frame.CursorY)
	}
}

func TestSmallestScreen(t *testing.T) {
	m := modelOf(20, 5, sampled(0, three()...))
	want := "ready 15  urgent 0\nNAME          vREADY\ncharlie            9\nbravo              5\nF1 Help  q Quit\n"
	if diff := cmp.Diff(want, m.text()); diff != "" {
		t.Error(diff)
	}
	m.pressAll("B", KeyHome) // What the table is sorted by is always there.
	shows(t, m, "vBURIED", "alpha              7")
}

func TestFigures(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 999_999: "999999", 1_000_000: "1.00M", 12_345_678: "12.3M", 999_600_000: "1.00G", 1<<64 - 1: "18.4E"} {
		if got := count(n); got != want {
			t.Errorf("count(%d) = %s, want %s", n, got, want)
		}
	}
	for r, want := range map[rate]string{unknown: "-", 0: "0", 0.04: "0.0", 1.25: "1.2", 99.96: "100", 123456.7: "123457", 2e6: "2.00M"} {
		if got := r.String(); got != want {
			t.Errorf("rate %v is %s, want %s", float64(r), got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "", 59 * time.Second: "59s", 61 * time.Second: "1m01s", 25*time.Hour - time.Hour - time.Minute: "23h59m", 25 * time.Hour: "1d01h",
		2000 * day: "2000d", pauseLength: "forever",
	} {
		if got := left(d); got != want || len(got) > 7 {
			t.Errorf("left(%v) = %s, want %s", d, got, want)
		}
	}
	if got := uptime(49*time.Hour + 3*time.Second); got != "2d 01:00:03" {
		t.Errorf("uptime: %s", got)
	}
	for text, want := range map[string]time.Duration{"2s": 2 * time.Second, "0.5": 500 * time.Millisecond, "1m": time.Minute, "": 0, "1d": 0, "NaN": 0} {
		if got, err := ParseInterval(text); got != want || (err == nil) != (want != 0) {
			t.Errorf("ParseInterval(%q) = %v, %v", text, got, err)
		}
	}
}
