package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Load parses every script in the folder and its folders, in order of names.
func Load(dir string) ([]*Script, error) {
	var scripts []*Script
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".txt" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		s, err := Parse(path, string(b))
		if err != nil {
			return err
		}
		scripts = append(scripts, s)
		return nil
	})
	return scripts, err
}

// Parse reads a script. A fault in it is reported with its line.
func Parse(name, content string) (*Script, error) {
	p := &parser{script: &Script{Name: name, lines: strings.Split(content, "\n")}}
	if err := p.header(); err != nil {
		return nil, p.fault(err)
	}
	steps, end, err := p.block()
	if err == nil && end != "" {
		err = fmt.Errorf("%q closes nothing", end)
	}
	if err != nil {
		return nil, p.fault(err)
	}
	p.script.Steps = steps
	return p.script, nil
}

type parser struct {
	script *Script
	next   int // index of the line to read next
}

func (p *parser) fault(err error) error {
	return &faultError{p.script.Name, p.next, err.Error()}
}

// line returns the next line that says something, without indentation.
func (p *parser) line() (string, bool) {
	for p.next < len(p.script.lines) {
		s := strings.TrimLeft(p.script.lines[p.next], " \t")
		p.next++
		if s != "" && s[0] != '#' {
			return s, true
		}
	}
	return "", false
}

// header reads the lines up to the one that is "---".
func (p *parser) header() error {
	s := p.script
	for {
		l, ok := p.line()
		if !ok {
			return fmt.Errorf("the header has no end: a line ---")
		}
		if l == "---" {
			break
		}
		key, value, ok := strings.Cut(l, ":")
		if !ok {
			return fmt.Errorf("a line of the header is not key: value: %q", l)
		}
		if err := s.set(key, strings.TrimSpace(value)); err != nil {
			return err
		}
	}
	if s.Title == "" || len(s.Covers) == 0 {
		return fmt.Errorf("the header needs a title and what it covers")
	}
	return nil
}

func (s *Script) set(key, value string) error {
	switch key {
	case "title":
		s.Title = value
	case "covers":
		s.Covers = append(s.Covers, strings.Fields(value)...)
	case "max-job-size":
		n, err := strconv.ParseUint(value, 10, 32)
		if err != nil {
			return fmt.Errorf("max-job-size: %w", err)
		}
		s.Setting.MaxJobSize, s.Setting.EmptyOnly = uint32(n), n == 0
	case "memory":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n <= 0 {
			return fmt.Errorf("memory: %q is not a number of bytes", value)
		}
		s.Setting.MemoryLimit = n
	case "only-haricot":
		s.OnlyHaricot = value
	case "heavy":
		s.Heavy = value == "yes"
	default:
		return fmt.Errorf("unknown key in the header: %q", key)
	}
	return nil
}

// block reads steps up to a line that ends a block, which it returns, or to the
// end of the file.
func (p *parser) block() (steps []Step, end string, err error) {
	for {
		l, ok := p.line()
		if !ok {
			return steps, "", nil
		}
		if slices.Contains([]string{"end", "reference:", "haricot:"}, l) {
			return steps, l, nil
		}
		st, err := p.step(l)
		if err != nil {
			return nil, "", err
		}
		steps = append(steps, st)
	}
}

func (p *parser) step(l string) (Step, error) {
	st := Step{Line: p.next}
	word, rest, _ := strings.Cut(l, " ")
	switch {
	case word == "why:":
		st.Kind, st.Why = Difference, strings.TrimSpace(rest)
		return p.difference(st)
	case word == "repeat":
		return p.repeat(st, rest)
	case word == "sleep":
		d, err := time.ParseDuration(rest)
		st.Kind, st.Time = Sleep, d
		return st, err
	case word == "drain" && (rest == "on" || rest == "off"):
		st.Kind, st.On = Drain, rest == "on"
		return st, nil
	case len(word) == 1 && word[0] >= 'A' && word[0] <= 'Z':
		st.Conn = word
		return st, st.verb(rest)
	}
	return st, fmt.Errorf("not a step: %q", l)
}

func (p *parser) difference(st Step) (Step, error) {
	if st.Why == "" {
		return st, fmt.Errorf("a difference needs its reason")
	}
	before, end, err := p.block()
	if err != nil {
		return st, err
	}
	if len(before) > 0 || end != "reference:" {
		return st, fmt.Errorf("reference: must follow why, and here it does not")
	}
	if st.Reference, end, err = p.block(); err != nil {
		return st, err
	}
	if end != "haricot:" {
		return st, fmt.Errorf("haricot: must follow the steps of the reference")
	}
	if st.Haricot, end, err = p.block(); err != nil {
		return st, err
	}
	if end != "end" {
		return st, fmt.Errorf("a difference closes with end")
	}
	return st, nil
}

func (p *parser) repeat(st Step, count string) (Step, error) {
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 {
		return st, fmt.Errorf("repeat needs a number: %q", count)
	}
	steps, end, err := p.block()
	if err == nil && end != "end" {
		err = fmt.Errorf("a repeat closes with end")
	}
	st.Kind, st.Count, st.Steps = Repeat, n, steps
	return st, err
}

// plain are the steps of a connection that have no argument.
var plain = map[string]Kind{
	"open":       Open,
	"cut":        Cut,
	"half-close": HalfClose,
	"close":      Close,
	"stop-read":  StopRead,
	"read-on":    ReadOn,
	"nothing":    Nothing,
	"closed":     Closed,
	"skip":       Skip,
}

var mark = regexp.MustCompile(`^([<>])([|.]?)(?: (.*))?$`)

// verb reads what stands after the name of a connection.
func (s *Step) verb(rest string) (err error) {
	if kind, ok := plain[rest]; ok {
		s.Kind = kind
		return nil
	}
	if fields, ok := strings.CutPrefix(rest, "fields "); ok {
		s.Kind = Fields
		s.Fields, err = parseFields(fields)
		return err
	}
	m := mark.FindStringSubmatch(rest)
	if m == nil {
		return fmt.Errorf("not a step of a connection: %q", rest)
	}
	if s.Text, err = parseText(m[3]); err != nil {
		return err
	}
	s.Ending = map[string]string{"": "\r\n", "|": "\n", ".": ""}[m[2]]
	if m[1] == "<" {
		s.Kind = Expect
		if s.Ending == "" && !s.Text.fixed() {
			return fmt.Errorf("a pattern needs a line that ends")
		}
		return nil
	}
	s.Kind = Send
	if !s.Text.fixed() {
		return fmt.Errorf("a pattern cannot be sent: %q", rest)
	}
	if s.Ending != "" {
		s.Text = append(s.Text, chunk{bytes: []byte(s.Ending), count: 1})
	}
	return nil
}

// field is one key=value; a space may stand in braces.
var field = regexp.MustCompile(`(?:[^ {]|\{[^}]*\})+`)

func parseFields(s string) ([]Field, error) {
	var fields []Field
	for _, part := range field.FindAllString(s, -1) {
		key, raw, ok := strings.Cut(part, "=")
		if !ok {
			return nil, fmt.Errorf("a field is key=value: %q", part)
		}
		value, err := parseText(raw)
		if err != nil {
			return nil, err
		}
		fields = append(fields, Field{Key: key, Value: value, raw: raw})
	}
	return fields, nil
}
