package terminal

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "",
		"plain ü 日本":              "plain ü 日本",
		`say "hello" 'x'`:         `say "hello" 'x'`,
		`C:\new`:                  `C:\\new`,
		"two\nlines\ttab\r\n":     `two\nlines\ttab\r\n`,
		"\x1b]0;owned\x07\x1b[2J": `\x1b]0;owned\a\x1b[2J`,
		"\u009b31m":               `\u009b31m`, // a control sequence in one rune
		"abc\u202edef":            `abc\u202edef`,
		"no\xfftext":              `no\xfftext`,
		"\x00":                    `\x00`,
		"\"\n":                    `"\n`,
	} {
		if got := Clean(text); got != want {
			t.Errorf("Clean(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestTableForPeople(t *testing.T) {
	table := &Table{width: 26, columns: Columns("name", "#ready", "body")}
	table.Row("emails", 12, "short")
	table.Row("x", 5, "much longer\x1b than the window")
	var out strings.Builder
	if err := table.Write(&out); err != nil {
		t.Fatal(err)
	}
	want := "NAME    READY  BODY\n" +
		"emails     12  short\n" +
		"x           5  much longe…\n"
	if got := out.String(); got != want {
		t.Errorf("the table is\n%s, want\n%s", got, want)
	}
}

func TestTableForPrograms(t *testing.T) {
	var out strings.Builder
	table := NewTable(&out, Columns("name", "#ready", "body"))
	table.Row("emails", 12, "tab\there\nand a line")
	if err := table.Write(&out); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "emails\t12\ttab\\there\\nand a line\n"; got != want {
		t.Errorf("the table is %q, want %q", got, want)
	}
}

func TestJSONIsPrintableAndSame(t *testing.T) {
	for _, text := range []string{"plain <b>&", "\x1b[2J\x7f", "\u009b31m\u202e", "\U000e0001", "line\nline", "\u2028"} {
		var out strings.Builder
		if err := WriteJSON(&out, NewBody([]byte(text))); err != nil {
			t.Fatal(err)
		}
		line, ended := strings.CutSuffix(out.String(), "\n")
		if !ended || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("of %q becomes %q", text, line)
		}
		var back Body
		if err := json.Unmarshal([]byte(line), &back); err != nil || back.Text == nil || *back.Text != text {
			t.Errorf("of %q comes back %+v (%v)", text, back, err)
		}
	}
}

func TestBodyThatIsNoText(t *testing.T) {
	var out strings.Builder
	if err := WriteJSON(&out, NewBody([]byte{0xff, 0xfe})); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "{\"body_base64\":\"//4=\"}\n"; got != want {
		t.Errorf("the line is %s, want %s", got, want)
	}
	out.Reset()
	if err := WriteJSON(&out, NewBody(nil)); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "{\"body\":\"\"}\n"; got != want {
		t.Errorf("an empty body is %s, want %s", got, want)
	}
}

func TestWidthOfNoTerminal(t *testing.T) {
	var out strings.Builder
	if Is(&out) || Width(&out) != 0 {
		t.Error("a buffer is taken for a terminal")
	}
	if got := Cut("abcdef", 4); got != "abc…" {
		t.Errorf("Cut = %q", got)
	}
}
