package top

import (
	"unicode"
	"unicode/utf8"
)

// prompt is a question in the last line.
type prompt struct {
	label  string
	text   string // text is what was typed.
	accept func(text string) []Request
	typed  func(text string) // typed, if not nil, is called when the text has changed.
	other  func(key Key)     // other, if not nil, is called with keys that mean nothing here.
	cancel func()            // cancel, if not nil, is called when there is no answer.
}

// longestAnswer is how long a text can be typed: as long as the name of a tube.
const longestAnswer = 200

// answer does what a key is for while something is asked.
func (m *Model) answer(key Key) []Request {
	p := m.prompt
	before := p.text
	switch {
	case key == KeyEnter:
		m.prompt = nil
		return p.accept(p.text)
	case key == KeyEscape:
		m.prompt = nil
		if p.cancel != nil {
			p.cancel()
		}
		return nil
	case key == KeyBackspace:
		_, n := utf8.DecodeLastRuneInString(p.text)
		p.text = p.text[:len(p.text)-n]
	case key == KeyControlU:
		p.text = ""
	case typing(key):
		if len(p.text) < longestAnswer {
			p.text += string(key)
		}
	case p.other != nil:
		p.other(key)
	}
	if p.text != before && p.typed != nil {
		p.typed(p.text)
	}
	return nil
}

// typing tells whether a key types a character that can be shown.
func typing(key Key) bool {
	r, n := utf8.DecodeRuneInString(string(key))
	return n == len(key) && r != utf8.RuneError && unicode.IsPrint(r)
}
