package service

import (
	"strings"
	"testing"
)

func TestParseAddress(t *testing.T) {
	longest := strings.Repeat("x", maxSocketPath)
	for in, want := range map[string]string{
		"127.0.0.1":       "tcp4 127.0.0.1:7",
		"0.0.0.0":         "tcp4 0.0.0.0:7",
		"::":              "tcp [::]:7",
		"[::1]":           "tcp [::1]:7",
		"fe80::1%lo":      "tcp [fe80::1%lo]:7",
		"localhost":       "tcp localhost:7",
		"unix:s":          "tcp unix:s",
		"unix:/run/a b":   "tcp unix:/run/a b",
		"unix:@s":         "tcp unix:@s",
		"unix:" + longest: "tcp unix:" + longest,
	} {
		a, err := ParseAddress(in, 7)
		if got := a.network() + " " + a.String(); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "unix:", "unix:x" + longest, "[::1", "[::1]:7", "[127.0.0.1]", "[localhost]", "[]"} {
		if a, err := ParseAddress(in, 7); err == nil {
			t.Errorf("%q is taken for %v", in, a)
		}
	}
}

func TestParsePort(t *testing.T) {
	for in, want := range map[string]int{"0": 0, "11300": 11300, "65535": 65535, "http": 80} {
		if got, err := ParsePort(t.Context(), in); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "-1", "65536", "99999", "11300x", "1e3", "nosuchservice"} {
		if got, err := ParsePort(t.Context(), in); err == nil {
			t.Errorf("%q is taken for %d", in, got)
		}
	}
}
