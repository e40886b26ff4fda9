package body

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"

	"go.yaml.in/yaml/v3"
)

// yamlMost is up to which size text is tried as YAML, whose parser takes long.
const yamlMost = 128 << 10

// yamlStart is how YAML begins that is more than a line of text: with its mark,
// a list, or a key.
var yamlStart = regexp.MustCompile(`\A(?:[ \t]*(?:#[^\n]*)?\n)*(?:%YAML|---|[ \t]*- +\S|[ \t]*(?:[\w.$/-]+|"[^"\n]*"|'[^'\n]*')[ \t]*:(?:[ \t]|\r?\n|\z))`)

var errYAML = errors.New("body: this is not YAML")

// isYAML tells whether text is mappings or lists in YAML.
func isYAML(b []byte) bool {
	return len(b) <= yamlMost && yamlStart.Match(b) && parseYAML(b) == nil
}

// parseYAML reads documents without following what they refer to. The parser is
// other people's and the text hostile, so that a panic is taken for an error.
func parseYAML(b []byte) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%w: %v", errYAML, fault)
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(b))
	for documents := 0; ; documents++ {
		var document yaml.Node
		err := decoder.Decode(&document)
		switch {
		case errors.Is(err, io.EOF) && documents > 0:
			return nil
		case err != nil:
			return fmt.Errorf("%w: %w", errYAML, err)
		case document.Kind != yaml.DocumentNode || len(document.Content) != 1:
			return errYAML
		}
		if kind := document.Content[0].Kind; kind != yaml.MappingNode && kind != yaml.SequenceNode {
			return errYAML // a single value
		}
	}
}

// yamlLine is a line that has a key: what is before it, the key, what follows.
var yamlLine = regexp.MustCompile(`\A([ \t]*(?:- +)*)([\w.$/-]+|"[^"\n]*"|'[^'\n]*')([ \t]*:(?:[ \t].*)?\r?\n?)\z`)

// yamlWord and yamlNumber are values that are no text.
var (
	yamlWord   = regexp.MustCompile(`\A(?:true|false|null|~|yes|no|on|off)\z`)
	yamlNumber = regexp.MustCompile(`\A[-+]?(?:\d[\d_]*(?:\.\d*)?(?:[eE][-+]?\d+)?|0x[\da-fA-F]+)\z`)
)

// yaml shows YAML, which is laid out for people as it is, with its keys marked.
func (p *painter) yaml(b []byte) {
	for line := range bytes.Lines(b) {
		if p.full {
			return
		}
		if trimmed := bytes.TrimLeft(line, " \t"); len(trimmed) > 0 && trimmed[0] == '#' {
			p.text(Aside, line)
			continue
		}
		parts := yamlLine.FindSubmatch(line)
		if parts == nil {
			p.text(Plain, line)
			continue
		}
		p.text(Plain, parts[1])
		p.text(Key, parts[2])
		p.yamlValue(parts[3])
	}
}

// yamlValue shows what follows a key, from its colon to the end of the line.
func (p *painter) yamlValue(rest []byte) {
	value := bytes.TrimSpace(bytes.TrimLeft(rest, " \t:"))
	mark := String
	switch {
	case len(value) == 0 || bytes.ContainsAny(value[:1], "|>&*!{[#"):
		mark = Plain
	case yamlWord.Match(value):
		mark = Word
	case yamlNumber.Match(value):
		mark = Number
	}
	at := bytes.Index(rest, value)
	p.text(Plain, rest[:at])
	p.text(mark, value)
	p.text(Plain, rest[at+len(value):])
}
