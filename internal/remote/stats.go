package remote

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/haricotq/haricot/internal/protocol"
)

// Stats are statistics in the order in which the server gives them.
type Stats []Stat

// Stat is one of them, under the protocol's name for it.
type Stat struct{ Name, Value string }

// parseStats reads the data of stats, stats-tube or stats-job.
func parseStats(data []byte) Stats {
	var s Stats
	for line := range strings.Lines(string(data)) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		if !ok {
			continue // the line that begins the document
		}
		s = append(s, Stat{name, protocol.Unquote(strings.TrimSpace(value))})
	}
	return s
}

// Value is the value of a name; empty if it is not there.
func (s Stats) Value(name string) string {
	for i := range s {
		if s[i].Name == name {
			return s[i].Value
		}
	}
	return ""
}

// Number is a value that is a number; 0 if it is none.
func (s Stats) Number(name string) uint64 {
	n, err := strconv.ParseUint(s.Value(name), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// texts are the statistics that are text, also where they look like numbers. The id is a job's number,
// or a server's text: only servers have a hostname.
func (s Stats) texts(name string) bool {
	switch name {
	case "name", "tube", "state", "version", "hostname", "os", "platform":
		return true
	case "id":
		return s.Value("hostname") != ""
	}
	return false
}

// Key is a name as JSON has it: with _ where the protocol has -.
func Key(name string) string { return strings.ReplaceAll(name, "-", "_") }

// MarshalJSON makes an object of them, in their order. Numbers are numbers, and true and false are themselves.
func (s Stats) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, stat := range s {
		if i > 0 {
			out.WriteByte(',')
		}
		key, err := json.Marshal(Key(stat.Name))
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(s.typed(stat))
		if err != nil {
			return nil, err
		}
		out.Write(key)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

func (s Stats) typed(stat Stat) any {
	if s.texts(stat.Name) {
		return stat.Value
	}
	if n, err := strconv.ParseUint(stat.Value, 10, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(stat.Value, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
		return f
	}
	switch stat.Value {
	case "true", "false":
		return stat.Value == "true"
	}
	return stat.Value
}
