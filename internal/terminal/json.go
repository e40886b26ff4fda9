package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// WriteJSON writes a value as one line of JSON. What is not printable in its
// strings is escaped, also where JSON would not ask for it.
func WriteJSON(w io.Writer, value any) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	_, err := w.Write(printable(line.Bytes()))
	return err
}

// printable escapes the runes of JSON that are not to reach a terminal.
func printable(line []byte) []byte {
	text := bytes.TrimSuffix(line, []byte("\n"))
	if !bytes.ContainsFunc(text, hidden) {
		return line
	}
	var out strings.Builder
	for _, r := range string(text) {
		switch {
		case !hidden(r):
			out.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	out.WriteByte('\n')
	return []byte(out.String())
}

func hidden(r rune) bool { return !unicode.IsPrint(r) }

// Body is the body of a job in JSON: text if it is text, else in base64, as
// haricot export writes it.
type Body struct {
	Text   *string `json:"body,omitempty"`
	Base64 []byte  `json:"body_base64,omitempty"`
}

// NewBody makes one of a job's body.
func NewBody(body []byte) Body {
	if !utf8.Valid(body) {
		return Body{Base64: body}
	}
	text := string(body)
	return Body{Text: &text}
}
