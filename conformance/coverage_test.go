package conformance

import (
	"os"
	"strings"
	"testing"

	"github.com/haricotq/haricot/internal/protocol"
)

// TestEveryRuleHasAScript compares rules.txt with what the scripts cover, both
// ways.
func TestEveryRuleHasAScript(t *testing.T) {
	content, err := os.ReadFile("rules.txt")
	if err != nil {
		t.Fatal(err)
	}
	covered := map[string]bool{}
	for line := range strings.Lines(string(content)) {
		number, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if number == "" || number[0] == '#' || number == "-" {
			continue
		}
		if _, twice := covered[number]; twice || text == "" {
			t.Errorf("rules.txt: %s stands there twice or says nothing", number)
		}
		covered[number] = false
	}
	for _, s := range scripts(t) {
		for _, number := range s.Covers {
			if _, ok := covered[number]; !ok {
				t.Errorf("%s covers %s, which is not in rules.txt", s.Name, number)
			}
			covered[number] = true
		}
	}
	for number, ok := range covered {
		if !ok {
			t.Errorf("no script covers %s", number)
		}
	}
}

// TestEveryVerbHasAScript fails when the language has a verb that no script
// sends in a form that succeeds or is at least understood.
func TestEveryVerbHasAScript(t *testing.T) {
	sent := map[string]bool{}
	for _, s := range scripts(t) {
		for _, l := range s.Sent() {
			word, _, _ := strings.Cut(l, " ")
			sent[word] = true
		}
	}
	for _, v := range protocol.Verbs() {
		if !sent[v.String()] {
			t.Errorf("no script sends %s", v)
		}
	}
}

// unseen are the words that no script can bring about.
var unseen = map[string]string{
	"INTERNAL_ERROR": "haricot never sends it: a fault inside ends the process and does not become a reply",
}

// TestEveryReplyHasAScript fails when the language has a reply that no script
// expects of haricot.
func TestEveryReplyHasAScript(t *testing.T) {
	expected := map[string]bool{}
	for _, s := range scripts(t) {
		for _, l := range s.Expected() {
			word, _, _ := strings.Cut(l, " ")
			expected[word] = true
		}
	}
	for _, w := range protocol.Words() {
		reason := unseen[w.String()]
		switch {
		case !expected[w.String()] && reason == "":
			t.Errorf("no script expects %s", w)
		case expected[w.String()] && reason != "":
			t.Errorf("a script expects %s, so it needs no exception", w)
		}
	}
}
