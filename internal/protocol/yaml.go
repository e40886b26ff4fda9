package protocol

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// yamlStart begins every document.
const yamlStart = "---\n"

// yaml writes the statistics. Many clients cut the lines at ": " instead of
// parsing YAML, others parse it, so a value is a plain scalar wherever YAML
// reads it as the text it is, and quoted only where it would not.
type yaml struct{ dst []byte }

func (y *yaml) key(key string) {
	y.dst = append(y.dst, key...)
	y.dst = append(y.dst, ": "...)
}

func (y *yaml) raw(key, value string) {
	y.key(key)
	y.dst = append(y.dst, value...)
	y.dst = append(y.dst, '\n')
}

func (y *yaml) uint(key string, n uint64) {
	y.key(key)
	y.dst = strconv.AppendUint(y.dst, n, 10)
	y.dst = append(y.dst, '\n')
}

// seconds writes a duration cut to whole seconds.
func (y *yaml) seconds(key string, d time.Duration) {
	y.key(key)
	y.dst = strconv.AppendInt(y.dst, int64(d/time.Second), 10)
	y.dst = append(y.dst, '\n')
}

// microseconds writes a duration as seconds with six decimals.
func (y *yaml) microseconds(key string, d time.Duration) {
	fraction := strconv.FormatInt(int64(d%time.Second/time.Microsecond), 10)
	y.raw(key, strconv.FormatInt(int64(d/time.Second), 10)+"."+strings.Repeat("0", 6-len(fraction))+fraction)
}

func (y *yaml) text(key, value string) {
	if misread(value) {
		value = strconv.Quote(value)
	}
	y.raw(key, value)
}

func (y *yaml) jobCounts(c *JobCounts) {
	y.uint("current-jobs-urgent", c.Urgent)
	y.uint("current-jobs-ready", c.Ready)
	y.uint("current-jobs-reserved", c.Reserved)
	y.uint("current-jobs-delayed", c.Delayed)
	y.uint("current-jobs-buried", c.Buried)
}

// scalar matches the plain scalars that YAML 1.1 or 1.2 resolves to a number
// or a date, after the types in the YAML type repository and the core schema.
// Those that look like words are in yamlWords.
var scalar = regexp.MustCompile(`^(?i:` + strings.Join([]string{
	`[-+]?_*0_*b[01_]+`,
	`[-+]?0o?[0-7_]+`,
	`[-+]?_*0_*x[0-9a-f_]+`,
	`[-+]?_*[0-9][0-9_]*(?::[0-5]?[0-9])*(?:\.[0-9_]*)?(?:e[-+]?[0-9]+)?`,
	`[-+]?\.[0-9_]+(?:e[-+]?[0-9]+)?`,
	`[-+]?\.e[-+][0-9]+`, // Ruby's parser fails on it.
	`[-+]?\.inf`,
	`\.nan`,
	`[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[t \t].*)?`,
}, "|") + `)$`)

var yamlWords = map[string]bool{
	"y": true, "yes": true, "n": true, "no": true, "true": true, "false": true, "on": true, "off": true,
	"null": true, "~": true, "": true, "=": true, "<<": true,
}

// misread tells whether YAML would read s, written plain as a value, as
// anything but the text s.
func misread(s string) bool {
	if yamlWords[strings.ToLower(s)] || strings.ContainsAny(s[:1], "-?:,[]{}#&*!|>'\"%@` ") {
		return true
	}
	if strings.Contains(s, ": ") || strings.Contains(s, " #") || strings.HasSuffix(s, ":") || strings.HasSuffix(s, " ") {
		return true
	}
	for _, r := range s {
		if r < ' ' || r > '~' {
			return true
		}
	}
	return strings.ContainsAny(s[:1], "0123456789+._") && scalar.MatchString(s)
}

// Unquote takes off the quotes that some servers put around some texts of their
// statistics. Those of beanstalkd are without escapes, in contrast to haricot's.
func Unquote(text string) string {
	if len(text) < 2 || text[0] != '"' || text[len(text)-1] != '"' {
		return text
	}
	if plain, err := strconv.Unquote(text); err == nil {
		return plain
	}
	return text[1 : len(text)-1]
}
