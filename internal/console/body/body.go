// Package body finds out what the body of a job is and shows it to people.
//
// Bodies are hostile: every view has a limit to its work and its size, however
// the bytes are made up, and what comes out is text in pieces that the caller
// has to escape. Characters that would be invisible, or change how others are
// read, are written out.
package body

import (
	"bytes"
	"unicode/utf8"
)

// View is a way to show a body.
type View string

// The views. Text and Hex can show every body.
const (
	JSON        View = "json"
	YAML        View = "yaml"
	MessagePack View = "msgpack"
	Unpacked    View = "unpacked"
	Text        View = "text"
	Hex         View = "hex"
)

// Name is what people call the view.
func (v View) Name() string {
	switch v {
	case JSON:
		return "JSON"
	case YAML:
		return "YAML"
	case MessagePack:
		return "MessagePack"
	case Unpacked:
		return "Unpacked"
	case Hex:
		return "Hex"
	default:
		return "Text"
	}
}

// Mark says what a piece of a picture is, so that it can be coloured.
type Mark string

// The marks. Escaped is what stands for a character or byte that cannot be
// shown, Aside is what does not belong to the body.
const (
	Plain   Mark = ""
	Key     Mark = "key"
	String  Mark = "string"
	Number  Mark = "number"
	Word    Mark = "word"
	Escaped Mark = "escaped"
	Aside   Mark = "aside"
)

// Span is a piece of a picture.
type Span struct {
	Mark Mark
	Text string
}

// Picture is a body as a view shows it.
type Picture struct {
	Spans []Span
	// Cut tells that the limit of the view has been reached, and that there is
	// more of the body.
	Cut bool
}

// String is the picture without its marks.
func (p *Picture) String() string {
	var text []byte
	for _, s := range p.Spans {
		text = append(text, s.Text...)
	}
	return string(text)
}

// Body is a body that has been looked at.
type Body struct {
	bytes  []byte
	whole  bool
	format string
	views  []View
	inner  *Body // what is packed in it
}

// Read looks at a body. If it is not whole, bytes are its beginning.
func Read(b []byte, whole bool) *Body {
	return read(b, whole, true)
}

func read(b []byte, whole, unpacks bool) *Body {
	r := &Body{bytes: b, whole: whole}
	text := isText(b, whole)
	switch {
	case len(b) == 0:
		r.format = "empty"
	case text && whole && isJSON(b):
		r.format, r.views = "JSON", []View{JSON}
	case text:
		if r.format = formatOf(b, whole); r.format != "" {
			break
		}
		r.format = "text"
		if whole && isYAML(b) {
			r.format, r.views = "YAML", []View{YAML}
		}
	case mostlyText(b):
		if r.format = formatOf(b, whole); r.format == "" {
			r.format, text = "text with control characters", true
		}
	default:
		r.readBinary(unpacks)
	}
	if text {
		r.views = append(r.views, Text, Hex)
	} else {
		r.views = append(r.views, Hex, Text)
	}
	return r
}

func (b *Body) readBinary(unpacks bool) {
	if unpacks {
		if content, kind, whole := unpack(b.bytes); kind != "" {
			b.inner = read(content, whole, false)
			b.format, b.views = kind+", in it "+b.inner.format, []View{Unpacked}
			return
		}
	}
	if b.format = formatOf(b.bytes, b.whole); b.format != "" {
		return
	}
	b.format = "binary"
	if b.whole && isMessagePack(b.bytes) {
		b.format, b.views = "MessagePack", []View{MessagePack}
	}
}

// Format is what the body seems to be, in words.
func (b *Body) Format() string { return b.format }

// Views lists the views that can show the body, the best first.
func (b *Body) Views() []View { return b.views }

// Pick is the view of a name if it can show the body, else the best.
func (b *Body) Pick(name string) View {
	for _, v := range b.views {
		if string(v) == name {
			return v
		}
	}
	return b.views[0]
}

// Show makes a picture of the body. The view must be one of Views.
func (b *Body) Show(v View) Picture {
	var p painter
	switch v {
	case JSON:
		p.json(b.bytes)
	case YAML:
		p.yaml(b.bytes)
	case MessagePack:
		p.messagePack(b.bytes)
	case Hex:
		p.hex(b.bytes)
	case Unpacked:
		if b.inner != nil {
			inner := b.inner.Show(b.inner.views[0])
			inner.Cut = inner.Cut || !b.inner.whole
			return inner
		}
	case Text:
		p.text(Plain, b.bytes)
	}
	picture := p.picture()
	picture.Cut = picture.Cut || !b.whole
	return picture
}

// Editable tells whether a person can edit the body as text and nothing else of
// it changes: a browser's text field knows one kind of line end only.
func Editable(b []byte) bool {
	if !isText(b, true) {
		return false
	}
	lineFeeds, returns, both := bytes.Count(b, []byte("\n")), bytes.Count(b, []byte("\r")), bytes.Count(b, []byte("\r\n"))
	return returns == both && (both == 0 || both == lineFeeds)
}

// mostlyText tells whether bytes are UTF-8 in which here and there is a
// character that controls something, such as the colours of a terminal.
func mostlyText(b []byte) bool {
	controls := 0
	for _, c := range b {
		switch {
		case c == 0:
			return false
		case c < ' ' && c != '\n' && c != '\r' && c != '\t', c == 0x7f:
			controls++
		}
	}
	return controls <= len(b)/8 && utf8.Valid(b)
}

// isText tells whether bytes are UTF-8 with nothing in it but what is written
// and the characters that lay it out. A beginning may end within a character.
func isText(b []byte, whole bool) bool {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n == 1:
			return !whole && len(b) < utf8.UTFMax && !utf8.FullRune(b)
		case r < ' ' && r != '\n' && r != '\r' && r != '\t', r == 0x7f:
			return false
		}
		b = b[n:]
	}
	return true
}
