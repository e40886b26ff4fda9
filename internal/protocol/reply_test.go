package protocol

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestAppendReply(t *testing.T) {
	for _, c := range []struct {
		reply Reply
		want  string
	}{
		{Reply{Word: Deleted}, "DELETED\r\n"},
		{Reply{Form: WithNumber, Word: Inserted, Number: 7}, "INSERTED 7\r\n"},
		{Reply{Form: WithNumber, Word: Kicked}, "KICKED 0\r\n"},
		{Reply{Form: WithNumber, Word: Inserted, Number: 1<<64 - 1}, "INSERTED 18446744073709551615\r\n"},
		{Reply{Form: WithText, Word: Using, Text: "default"}, "USING default\r\n"},
		{Reply{Form: WithJob, Word: Reserved, Number: 7, Data: []byte("hello")}, "RESERVED 7 5\r\nhello\r\n"},
		{Reply{Form: WithJob, Word: Found, Number: 7}, "FOUND 7 0\r\n\r\n"},
		{Reply{Form: WithJob, Word: Found, Number: 7, Data: []byte("\r\n\x00")}, "FOUND 7 3\r\n\r\n\x00\r\n"},
		{Reply{Form: Document, Word: OK, Data: ListEntry(ListStart(nil), "foo")}, "OK 10\r\n---\n- foo\n\r\n"},
		{Reply{Form: Document, Word: OK}, "OK 0\r\n\r\n"},
	} {
		if got := string(AppendReply([]byte("before "), &c.reply)); got != "before "+c.want {
			t.Errorf("%+v is %q, want %q", c.reply, got, c.want)
		}
	}
}

// The document of stats is not the queue's to put together.
func TestServerDocumentIsNoReply(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("it was written")
		}
	}()
	AppendReply(nil, &Reply{Form: ServerDocument, Word: OK})
}

func TestWords(t *testing.T) {
	want := []string{
		"OUT_OF_MEMORY", "INTERNAL_ERROR", "BAD_FORMAT", "UNKNOWN_COMMAND", "INSERTED", "BURIED", "EXPECTED_CRLF", "JOB_TOO_BIG", "DRAINING", "USING",
		"RESERVED", "DEADLINE_SOON", "TIMED_OUT", "DELETED", "RELEASED", "TOUCHED", "KICKED", "WATCHING", "NOT_IGNORED", "NOT_FOUND", "FOUND", "OK", "PAUSED",
	}
	list := Words()
	if len(list) != len(want) {
		t.Fatalf("%d words, want %d", len(list), len(want))
	}
	for i, w := range list {
		if w.String() != want[i] {
			t.Errorf("word %d is %q, want %q", i, w, want[i])
		}
		if got := string(AppendReply(nil, &Reply{Word: w})); got != want[i]+crlf {
			t.Errorf("%v is sent as %q", w, got)
		}
	}
	if Word(0).String() != "no word" || words.String() != "no word" {
		t.Error("what is no word has a text")
	}
}

func TestVerbs(t *testing.T) {
	list := Verbs()
	if len(list) != len(rules) {
		t.Fatalf("%d verbs and %d rules", len(list), len(rules))
	}
	seen := make(map[string]bool)
	for _, v := range list {
		if ruleOf[v] == nil || ruleOf[v].verb != v {
			t.Fatalf("verb %d has no rule", v)
		}
		if w := v.String(); w == "" || seen[w] {
			t.Errorf("verb %d has the word %q, which is empty or another's", v, w)
		}
		seen[v.String()] = true
	}
	// A word that begins with another, which nothing need follow, stands before it.
	for i := range rules {
		for j := range i {
			if first, then := &rules[j], &rules[i]; first.match != spaced && strings.HasPrefix(then.word, first.word) {
				t.Errorf("%q can never be reached behind %q", then.word, first.word)
			}
		}
	}
	if Verb(0).String() != "no verb" || verbs.String() != "no verb" {
		t.Error("what is no verb has a word")
	}
}

// Clients read the version as a decimal number, and want 1.8 at least.
func TestVersion(t *testing.T) {
	if !regexp.MustCompile(`^[0-9]+\.[0-9]+$`).MatchString(Version) {
		t.Fatalf("version %q is not of two parts", Version)
	}
	if v, err := strconv.ParseFloat(Version, 64); err != nil || v < 1.8 {
		t.Errorf("version %q reads as %v", Version, v)
	}
}
