package api

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// form are the parameters of a call: from the query of its URL, and members of
// its JSON object. It remembers which were asked for, so that it can tell which
// are not known, and collects what is wrong with them until check.
type form struct {
	path    string // before the names of members of an inner object
	values  map[string][]value
	objects map[string]*form
	asked   []string
	faults  []fault
}

// value is a value as text, and what it was in JSON.
type value struct {
	text string
	kind kind
}

// kind is what a value is.
type kind uint8

const (
	anyKind kind = iota // from the query, where all is text
	textKind
	numberKind
	flagKind
	otherKind // what no parameter is
)

func queryForm(query url.Values) *form {
	f := &form{values: make(map[string][]value)}
	for name, texts := range query {
		for _, text := range texts {
			f.values[name] = append(f.values[name], value{text, anyKind})
		}
	}
	return f
}

// fault notes what is wrong with a parameter.
func (f *form) fault(name, text, allowed string) {
	const most = 100
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	f.faults = append(f.faults, fault{f.path + name, text, allowed})
}

// check is what is wrong with the parameters, among it those that nobody has
// asked for.
func (f *form) check() error {
	f.unknown()
	if len(f.faults) == 0 {
		return nil
	}
	names := make([]string, 0, len(f.faults))
	for _, fault := range f.faults {
		names = append(names, fault.Parameter)
	}
	return &problem{
		Status: http.StatusBadRequest, Errors: f.faults,
		Detail: "The request has a fault in " + strings.Join(slices.Compact(names), ", ") + ".",
	}
}

// unknown notes the parameters that nobody has asked for.
func (f *form) unknown() {
	names := append(slices.Collect(maps.Keys(f.values)), slices.Collect(maps.Keys(f.objects))...)
	slices.Sort(names)
	for _, name := range names {
		if slices.Contains(f.asked, name) {
			continue
		}
		allowed := "not known here; this call takes no parameters"
		if len(f.asked) > 0 {
			allowed = "not known here; this call takes " + strings.Join(f.asked, ", ")
		}
		f.fault(name, "", allowed)
	}
}

// has tells whether a parameter is there.
func (f *form) has(name string) bool { return len(f.values[name]) > 0 }

// need notes if a parameter is missing.
func (f *form) need(name, allowed string) {
	if !f.has(name) {
		f.fault(name, "", "missing; it has to be "+allowed)
	}
}

// one is the value of a parameter that has at most one.
func (f *form) one(name, allowed string, kinds ...kind) (text string, ok bool) {
	f.asked = append(f.asked, name)
	list := f.values[name]
	switch {
	case f.objects[name] != nil:
		f.fault(name, "an object", allowed)
	case len(list) == 0:
	case len(list) > 1:
		f.fault(name, list[1].text, "one value, "+allowed)
	case list[0].kind != anyKind && !slices.Contains(kinds, list[0].kind):
		f.fault(name, list[0].text, allowed)
	default:
		return list[0].text, true
	}
	return "", false
}

// number reads a whole number.
func (f *form) number(name string, fallback, least, most uint64) uint64 {
	allowed := fmt.Sprintf("a whole number from %d to %d", least, most)
	text, ok := f.one(name, allowed, numberKind)
	if !ok {
		return fallback
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n < least || n > most {
		f.fault(name, text, allowed)
		return fallback
	}
	return n
}

// mostSeconds is the longest time of a parameter: what the protocol can say.
const mostSeconds = math.MaxUint32

// seconds reads a time in whole seconds.
func (f *form) seconds(name string, fallback, least uint64) time.Duration {
	return time.Duration(f.number(name, fallback, least, mostSeconds)) * time.Second
}

// age reads a time of more than 0, with fractions; 0 is none.
func (f *form) age(name string) time.Duration {
	allowed := fmt.Sprintf("a number of seconds above 0, up to %d", uint64(mostSeconds))
	text, ok := f.one(name, allowed, numberKind)
	if !ok {
		return 0
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0 && n <= mostSeconds) {
		f.fault(name, text, allowed)
		return 0
	}
	return max(1, time.Duration(n*float64(time.Second)))
}

// text reads a text.
func (f *form) text(name string) string {
	text, _ := f.one(name, "a text", textKind)
	return text
}

// flag reads true or false.
func (f *form) flag(name string) bool {
	const allowed = "true or false"
	text, ok := f.one(name, allowed, flagKind)
	if ok && text != "true" && text != "false" {
		f.fault(name, text, allowed)
	}
	return text == "true"
}

// choice reads one of some words.
func (f *form) choice(name, fallback string, words ...string) string {
	allowed := strings.Join(words, ", ")
	text, ok := f.one(name, allowed, textKind)
	if !ok {
		return fallback
	}
	if !slices.Contains(words, text) {
		f.fault(name, text, allowed)
		return fallback
	}
	return text
}

// tubeOf reads the name of a tube.
func (f *form) tubeOf(name string) string {
	text, ok := f.one(name, tubeRule, textKind)
	if ok {
		f.checkTube(name, text)
	}
	return text
}

// tubeRule is what the name of a tube may be.
var tubeRule = fmt.Sprintf("1 to %d letters, digits and -+/;.$_(), the first not a hyphen", protocol.MaxTubeName)

func (f *form) checkTube(name, text string) {
	if !protocol.ValidTube([]byte(text)) {
		f.fault(name, strings.ToValidUTF8(text, "\uFFFD"), tubeRule)
	}
}

// stateNames are the states that jobs are seen in.
var stateNames = []string{"ready", "reserved", "delayed", "buried"}

func stateOf(name string) queue.State {
	return map[string]queue.State{
		"ready": queue.Ready, "reserved": queue.Reserved, "delayed": queue.Delayed, "buried": queue.Buried,
	}[name]
}

// states reads a list of states.
func (f *form) states(name string) (set queue.States) {
	f.asked = append(f.asked, name)
	allowed := strings.Join(stateNames, ", ") + "; several if it is given several times, or as a list"
	if f.objects[name] != nil {
		f.fault(name, "an object", allowed)
	}
	for _, v := range f.values[name] {
		if v.kind > textKind || !slices.Contains(stateNames, v.text) {
			f.fault(name, v.text, allowed)
			continue
		}
		set |= queue.StatesOf(stateOf(v.text))
	}
	return set
}

// object is an inner object; ok is false if there is none.
func (f *form) object(name string) (inner *form, ok bool) {
	f.asked = append(f.asked, name)
	if f.has(name) {
		f.fault(name, f.values[name][0].text, "an object")
		return nil, false
	}
	inner, ok = f.objects[name]
	return inner, ok
}

// take brings what is wrong with an inner object to the outer one.
func (f *form) take(inner *form) {
	inner.unknown()
	f.faults = append(f.faults, inner.faults...)
}

// validText tells whether text is UTF-8, so that it reads as it was written.
func validText(p []byte) bool { return utf8.Valid(p) }
