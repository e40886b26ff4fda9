package queue

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haricotq/haricot/internal/protocol"
)

var update = flag.Bool("update", false, "write the replies in testdata anew")

// TestScripts plays the scripts in testdata. In them
//
//	# text           is a comment
//	a: text          is a line of client a, its CRLF left out; \r\n stands for one within
//	a+ text          the same, but nothing is left out: the line or body goes on
//	a leaves         closes a's connection
//	a half-closes    says that a will send no more
//	drain on         turns the drain mode on, or off
//	pass 2s          lets time go by, and everything is done at its moment
//	stall 2s         lets time go by, and what is due is done only then
//
// and below each step stands, indented, what is said to whom because of it.
// Bodies may have up to 10 bytes. Of stats only what is not 0 is shown.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	said, played := make(map[protocol.Word]bool), 0
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			played++
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := newScene(t, New(Config{Limits: Limits{MaxJobSize: 10}}))
			s.words = said
			got := s.play(string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(string(text), got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	if played < len(files) {
		return // only some were asked for
	}
	// The first is for faults that this queue has not; the others are for lines
	// that are no commands and for memory, of which other tests speak.
	elsewhere := []protocol.Word{protocol.InternalError, protocol.UnknownCommand, protocol.OutOfMemory}
	for _, w := range elsewhere {
		said[w] = true
	}
	for _, w := range protocol.Words() {
		if !said[w] {
			t.Errorf("no script has the reply %v", w)
		}
	}
}

// play plays a script and returns it with the replies as they are.
func (s *scene) play(script string) string {
	s.t.Helper()
	var out strings.Builder
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "\t") {
			continue
		}
		out.WriteString(line + "\n")
		if line != "" && line[0] != '#' {
			s.step(line)
			out.WriteString(s.heard())
		}
	}
	return out.String()
}

func (s *scene) step(line string) {
	s.t.Helper()
	subject, rest, ok := strings.Cut(line, " ")
	if !ok {
		s.t.Fatalf("not a step: %q", line)
	}
	text := strings.ReplaceAll(rest, `\r\n`, "\r\n")
	switch name := subject[:len(subject)-1]; {
	case strings.HasSuffix(subject, ":"):
		s.send(name, text+"\r\n")
	case strings.HasSuffix(subject, "+"):
		s.send(name, text)
	case rest == "leaves":
		s.leave(subject)
	case rest == "half-closes":
		s.halfClose(subject)
	case subject == "drain":
		s.machine.SetDraining(rest == "on")
	case subject == "pass" || subject == "stall":
		d, err := time.ParseDuration(rest)
		if err != nil {
			s.t.Fatal(err)
		}
		if subject == "pass" {
			s.pass(d)
		} else {
			s.stall(d)
		}
	default:
		s.t.Fatalf("not a step: %q", line)
	}
}
