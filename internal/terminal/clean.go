package terminal

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes text of strangers fit to be shown in one line: what is printable
// stays, all else becomes an escape as in a string of Go, such as \n, \x1b or
// \u202e, and a backslash becomes two, so that nothing is ambiguous.
func Clean[T string | []byte](text T) string {
	s := string(text)
	if !strings.ContainsFunc(s, needsEscape) && utf8.ValidString(s) {
		return s
	}
	quoted := strconv.Quote(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

func needsEscape(r rune) bool { return r == '\\' || !unicode.IsPrint(r) }

// Cut shortens text to a width in columns; what was cut shows as an ellipsis.
// Every character is taken to be one column wide.
func Cut(text string, width int) string {
	if width <= 0 || utf8.RuneCountInString(text) <= width {
		return text
	}
	runes := []rune(text)
	return string(runes[:width-1]) + "…"
}
