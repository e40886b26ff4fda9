package protocol

import (
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func scalarText(value string) string {
	y := yaml{}
	y.text("k", value)
	return strings.TrimSuffix(strings.TrimPrefix(string(y.dst), "k: "), "\n")
}

// Values that YAML 1.1 or 1.2 reads as the text they are stay as they are.
func TestPlainScalars(t *testing.T) {
	for _, v := range []string{
		"default", "a", "1.2.3", "1abc", "abc1", "a-b", "a+b/c;d.e$f_g(h)", "yes-no", "Truely", "nil", "none", "NaN", "nan", "inf", "Inf",
		"infinity", "+", ".", "..", "+a", "+-1", ".a", ".e3", "e3", "1e", "1e+", "1ex", "0x", "0xg", "0b", "0b2", "0o8", "0o", "x1f", "_", "$", "/", ";", "(", ")",
		"(1)", "1/2", "1;2", "1-2", "2020-01", "20-01-01", "2020-01-01x", "2020/01/01", "1.5s", "10m", "3x", "a1e3", ".infx", ".Nanny", "x86_64", "host.example.org",
		"192.168.1.1", "2.0.1", "#1"[1:] + "#", "a#b", "a:b", "http://x", "a b", "Linux 6.1", "#1 SMP"[1:], "a'b", "a\"b", "a,b", "a]b", "a&b",
		"y1", "nn", "onn", "offf", "a=b", "a?", "a-", "a*", "a!", "a|", "a>", "a%", "a@", "a`", "a{}",
	} {
		if got := scalarText(v); got != v {
			t.Errorf("%s is written %s", v, got)
		}
	}
}

// All others are quoted, and with the escapes of YAML's double quotes.
func TestQuotedScalars(t *testing.T) {
	for _, v := range []string{
		// Numbers: decimal, octal in both styles, hexadecimal, binary, with underscores and base 60, and floats.
		"0", "1", "123", "007", "089", "+1", "+123", "1_000", "1__0", "0x1f", "0xFF", "+0x1f", "0x_1", "0b1", "0b1_0", "0o17", "017", "0_7", "1:30", "12:30:45", "1:30.5",
		"1.5", "1.", "+1.5", ".5", "+.5", "1e3", "1E3", "1e+3", "1e-3", "1.5e3", ".5e3", "1.e3", "1_0.5", "685230.15", "6.8523015e+5",
		".inf", ".Inf", ".INF", "+.inf", ".nan", ".NaN", ".NAN",
		// Dates.
		"2020-01-01", "2020-1-1", "2001-12-14t21:59:43.10-05:00", "2001-12-14 21:59:43.10 -5",
		// Words.
		"y", "Y", "yes", "Yes", "YES", "n", "N", "no", "No", "NO", "true", "True", "TRUE", "false", "False", "FALSE", "on", "On", "ON", "off", "Off", "OFF",
		"null", "Null", "NULL", "truE", "yEs", "nULL", "~", "", "=", "<<",
		// What only the parsers of Ruby and Node misread.
		"_1", "+_1", ".e+1", ".Nan",
		// Indicators.
		"-", "-1", "-a", "- a", "---", "?", "? a", ":", ":a", ",", "[a]", "]", "{a}", "}", "#1", "#", "&a", "*a", "!a", "|", ">", "'a'", "\"a\"", "%a", "@a", "`a`", " a", "a ",
		// Structure within the text.
		"a: b", "#1 SMP Debian 6.1.90-1 (2024-05-03)", "a #b", "a:", "Darwin Kernel: root", "a\nb", "a\tb", "a\rb", "\x00", "a\x7f", "ä", "a\xff",
	} {
		got := scalarText(v)
		if len(got) < 2 || got[0] != '"' || got[len(got)-1] != '"' {
			t.Errorf("%q is written %s, without quotes", v, got)
			continue
		}
		if back, err := strconv.Unquote(got); err != nil || back != v {
			t.Errorf("%q is written %s, which is %q", v, got, back)
		}
	}
}

// FuzzYAML asks Go's own parsers of numbers and dates, which know nothing of
// our expression, whether a plain value could be read as something else.
func FuzzYAML(f *testing.F) {
	for _, v := range []string{"123", "0x1f", "1_000", "0o17", "1e3", ".5", "+1", "2020-01-01", "true", "a: b", "a #b", "1.2.3", "default", "a\"b\\c", "\x00ä\xff"} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v string) {
		got := scalarText(v)
		if strings.ContainsAny(got, "\n\r\x00") || !utf8.ValidString(got) {
			t.Fatalf("%q breaks the line: %q", v, got)
		}
		if got != v {
			if back, err := strconv.Unquote(got); err != nil || back != v {
				t.Fatalf("%q is written %s", v, got)
			}
			return
		}
		if _, err := strconv.ParseInt(v, 0, 64); err == nil && !strings.HasPrefix(v, "0B") && !strings.HasPrefix(v, "0O") && !strings.HasPrefix(v, "0X") {
			t.Fatalf("the number %s is plain", v)
		}
		if _, err := strconv.ParseFloat(v, 64); err == nil && !strings.ContainsAny(v, "iInNxXpP") {
			t.Fatalf("the number %s is plain", v)
		}
		if _, err := time.Parse(time.DateOnly, v); err == nil {
			t.Fatalf("the date %s is plain", v)
		}
		if v == "" || strings.TrimSpace(v) != v || strings.Contains(v, ": ") || strings.Contains(v, " #") || v[len(v)-1] == ':' {
			t.Fatalf("%q is plain", v)
		}
	})
}
