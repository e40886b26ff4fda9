package conformance

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haricotq/haricot/internal/memnet"
)

func TestText(t *testing.T) {
	for written, want := range map[string]string{
		`plain`:             "plain",
		`\r\n\t\\\{\}\x00A`: "\r\n\t\\{}\x00A",
		`a{3 x bc}d`:        "abcbcbcd",
		`{2 x \x00}`:        "\x00\x00",
		``:                  "",
	} {
		got, err := parseText(written)
		if err != nil || string(got.all()) != want {
			t.Errorf("%q is %q, %v; want %q", written, got.all(), err, want)
		}
	}
	for _, faulty := range []string{`\`, `\q`, `\x0`, `\xzz`, `{`, `{nobody}`, `{x y}`} {
		if got, err := parseText(faulty); err == nil {
			t.Errorf("%q is taken for %q", faulty, got.all())
		}
	}
}

func TestFormatTextIsReadBack(t *testing.T) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for _, b := range []string{string(every), "", " ", "a ", strings.Repeat("x", 100) + "y" + strings.Repeat("{", 19), strings.Repeat(" ", 30)} {
		written := formatText([]byte(b))
		got, err := parseText(written)
		if err != nil || string(got.all()) != b {
			t.Errorf("%q was written as %s and read back as %q, %v", b, written, got.all(), err)
		}
		if strings.HasSuffix(written, " ") || strings.ContainsAny(written, "\r\n\t") {
			t.Errorf("%q was written with blanks that an editor may spoil: %q", b, written)
		}
	}
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"pid: {uint}", "pid: 17", true},
		{"pid: {uint}", "pid: 17 ", false},
		{"pid: {uint}", "pid: ", false},
		{"{seconds}", "0.000123", true},
		{"{seconds}", "0.123", false},
		{"{id}", "0123456789abcdef", true},
		{"{id}", "0123456789ABCDEF", false},
		{"{version}", `"2.0"`, true},
		{"{version}", `2.0`, false},
		{"{0|1}", "1", true},
		{"{0|1}", "2", false},
		{"os: {any}", "os: #1 SMP", true},
		{"a.c", "abc", false},
	} {
		p, err := parseText(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := p.match([]byte(c.text)); got != c.want {
			t.Errorf("%q matches %q: %t", c.pattern, c.text, got)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	const header = "title: t\ncovers: 1\n---\n"
	for _, faulty := range []string{
		"title: t\ncovers: 1\n",
		"title: t\n---\n",
		"title: t\ncovers: 1\ncolour: red\n---\n",
		"title: t\ncovers: 1\nmax-job-size: -1\n---\n",
		header + "A ? x\n",
		header + "AB > x\n",
		header + "A > {uint}\n",
		header + "A <. {uint}\n",
		header + "A fields state\n",
		header + "sleep soon\n",
		header + "drain maybe\n",
		header + "repeat 0\nend\n",
		header + "repeat 2\nA > x\n",
		header + "end\n",
		header + "why:\nreference:\nharicot:\nend\n",
		header + "why: x\nharicot:\nend\n",
		header + "why: x\nreference:\nend\n",
		header + "why: x\nreference:\nharicot:\n",
	} {
		if _, err := Parse("faulty", faulty); err == nil {
			t.Errorf("this was taken for a script:\n%s", faulty)
		}
	}
}

// parrot is a server that answers each line with what it is told to say: "echo
// x" with x, "yaml" with a document, "bye" by closing, and others not at all.
type parrot struct{ ln *memnet.Listener }

func startParrot(t *testing.T) parrot {
	ln := memnet.Listen()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go speak(c)
		}
	}()
	t.Cleanup(func() { ln.Close() })
	return parrot{ln}
}

func speak(c net.Conn) {
	defer c.Close()
	for s := bufio.NewScanner(c); s.Scan(); {
		verb, rest, _ := strings.Cut(s.Text(), " ")
		switch verb {
		case "echo":
			io.WriteString(c, rest+"\r\n")
		case "yaml":
			io.WriteString(c, "OK 21\r\n---\nstate: a\npri: 10\n\r\n")
		case "bye":
			return
		}
	}
}

func (p parrot) Dial() (net.Conn, error) { return p.ln.Dial() }
func (parrot) Drain(bool) error          { return nil }
func (parrot) Settle()                   { synctest.Wait() }
func (parrot) Patience() time.Duration   { return 0 }

// playSteps plays steps against a parrot.
func playSteps(t *testing.T, steps string) (err error) {
	synctest.Test(t, func(t *testing.T) {
		s, parseErr := Parse("s", "title: t\ncovers: 1\n---\n"+steps)
		if parseErr != nil {
			t.Fatal(parseErr)
		}
		err = s.Play(Haricot, startParrot(t))
	})
	return err
}

func TestPlayAgrees(t *testing.T) {
	for _, steps := range []string{
		"A > echo hello\nA < hello\n",
		"A >. ec\nA nothing\nA > ho hello\nA < hello\n",
		"A > echo 1\nA > echo 2\nA < 1\nA < 2\nB > echo 3\nB < 3\nA nothing\n",
		"A > yaml\nA fields pri={uint} state=a\n",
		"A > yaml\nA < OK {size}\nA <| ---\nA <| state: a\nA <| pri: 10\nA <\n",
		"A > bye\nA closed\n",
		"A > echo x\nA half-close\nA < x\nA closed\n",
		"A > echo x\nA skip\nA nothing\n",
		"A > echo x\nA close\n",
		"repeat 3\nA > echo {turn}\nend\nA < 1\nA < 2\nA < 3\n",
		"why: reasons differ\nreference:\nA < x\nharicot:\nA nothing\nend\n",
		"A > echo {300 x ab}\nA < {300 x ab}\n",
		"A > echo partly\nA <. part\nA < ly\n",
	} {
		if err := playSteps(t, steps); err != nil {
			t.Errorf("%s%v", steps, err)
		}
	}
}

func TestPlayObjects(t *testing.T) {
	for _, steps := range []string{
		"A > echo hello\nA < hell\n",
		"A > echo hello\nA < hello!\n",
		"A > echo hello\nA <| hello\n",
		"A > echo hello\n",
		"A > echo hello\nA nothing\n",
		"A > echo hello\nA closed\n",
		"A > silence\nA < hello\n",
		"A > silence\nA closed\n",
		"A > bye\nA nothing\n",
		"A > bye\n",
		"A > echo hello\nA < hello\nA < hello\n",
		"A > yaml\nA fields state=b\n",
		"A > yaml\nA fields ttr=1\n",
		"A > echo OK\nA fields state=a\n",
		"A > echo OK 3\nA < OK {size}\nA > echo\nA <\n",
	} {
		if err := playSteps(t, steps); err == nil {
			t.Errorf("nothing was found wrong with:\n%s", steps)
		}
	}
}

func TestRecord(t *testing.T) {
	const before = `title: t
covers: 1
---
A > echo one
A > echo two
A < ?
# Kept, as it agrees.
A > echo 17
A < {uint}
A > echo new
A < old
A < older
A > silence
A < ?
A > echo sudden
A nothing
A > yaml
A fields state=? pri={uint}
why: reasons differ
  reference:
    A > echo reference
    A < ?
  haricot:
    A < haricot
end
repeat 2
  A > echo {turn}
  A < {turn}
end
B > bye
B < ?
`
	const after = `title: t
covers: 1
---
A > echo one
A > echo two
A < one
A < two
# Kept, as it agrees.
A > echo 17
A < {uint}
A > echo new
A < new
A > silence
A nothing
A > echo sudden
A < sudden
A > yaml
A fields state=a pri={uint}
why: reasons differ
  reference:
    A > echo reference
    A < reference
  haricot:
    A < haricot
end
repeat 2
  A > echo {turn}
  A < {turn}
end
B > bye
B closed
`
	for _, source := range []string{before, after} {
		synctest.Test(t, func(t *testing.T) {
			s, err := Parse("s", source)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Record(startParrot(t))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(after, got); d != "" {
				t.Errorf("recorded (-want +got):\n%s", d)
			}
		})
	}
}
