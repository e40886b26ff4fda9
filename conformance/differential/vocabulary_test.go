//go:build linux

package differential

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// A vocabulary makes random commands. Its numbers of seconds are chosen so that nothing depends on how long a session takes: in a
// lockstep session they are either nothing or far apart and far away, in a timed one they are few and whole (timed_test.go).
type vocabulary struct {
	rng        *rand.Rand
	maxJobSize int
	delays     []string
	ttrs       []string
	timeouts   []string
	pauses     []string
	// malformed is the share of malformed lines in percent.
	malformed int
}

// Two delays of one list differ by more than a session can last, since otherwise the order in which jobs become ready would depend on
// the pace of the session.
func lockstepVocabulary(rng *rand.Rand, maxJobSize int) *vocabulary {
	return &vocabulary{
		rng: rng, maxJobSize: maxJobSize, malformed: 12,
		delays:   []string{"0", "0", "0", "0", "5000", "5000", "1000000", "4294967295", "00"},
		ttrs:     []string{"5000", "60000", "4294967295", "0005000"},
		timeouts: []string{"100000", "2147483647", "99999999"},
		pauses:   []string{"0", "0", "0", "5000", "4294967295"},
	}
}

// verbs are all that the reference knows, but for quit, which is not answered.
var verbs = []string{
	"put", "use", "reserve", "reserve-with-timeout", "reserve-job", "delete", "release", "bury", "touch", "watch", "ignore",
	"peek", "peek-ready", "peek-delayed", "peek-buried", "kick", "kick-job", "stats", "stats-job", "stats-tube",
	"list-tubes", "list-tube-used", "list-tubes-watched", "pause-tube",
}

// tubes are few, so that connections meet. The last ones need care in YAML or are the longest possible.
var tubes = []string{
	"default", "default", "a", "a", "b", "b", "c", "d", "e-+/;.$_()", "123", "true", "null", "0x1F", "1.5", "x",
	strings.Repeat("n", 200),
}

// badTubes are refused as names.
var badTubes = []string{
	"", "-", "-a", " a", "a ", "a b", "a\tb", "a\x00", "caf\xc3\xa9", "a!", "a\nb", "a:b", "\"a\"", "*", strings.Repeat("n", 201),
}

// badNumbers are refused wherever a number of 32 or 64 bits must end the line.
var badNumbers = []string{
	"", "-1", "+1", "1.0", "0x1", "1e3", "x", "1x", "1 ", "\t1", "1\t", "18446744073709551616", "99999999999999999999999999",
	"--1", "1\x00", "\n1", "1\n", "²", "1,", "1 1 1 1 1",
}

var priorities = []string{"0", "1", "1", "2", "1023", "1024", "4294967294", "4294967295", "007", "  5"}

func (v *vocabulary) one(words []string) string { return words[v.rng.IntN(len(words))] }

// chance is true in percent of the cases.
func (v *vocabulary) chance(percent int) bool { return v.rng.IntN(100) < percent }

func (v *vocabulary) tube() string { return v.one(tubes) }

// priority is sometimes the number of few digits that sorts the jobs, sometimes a limit.
func (v *vocabulary) priority() string { return v.one(priorities) }

// fault breaks one of the words of a line that would be right.
func (v *vocabulary) fault(words []string) string {
	words = slices.Clone(words)
	i := 1 + v.rng.IntN(len(words)-1)
	switch v.rng.IntN(4) {
	case 0: // A number of 32 bits overflows where ids do not, so ids are spared.
		if words[0] == "put" {
			words[i] = "4294967296"
			break
		}
		fallthrough
	case 1, 2:
		words[i] = strings.TrimSuffix(v.one(badNumbers), " ")
		if _, err := strconv.Atoi(words[i]); err == nil && words[i][0] >= '0' {
			words[i] += "x"
		}
	case 3: // One word is missing; a keyword must stay followed by a space to be recognised.
		words = slices.Delete(words, i, i+1)
		if len(words) == 1 {
			words = append(words, "")
		}
	}
	return strings.Join(words, " ")
}

// put makes a put of every kind: accepted, too big, with a bad end, with garbage on its line.
func (v *vocabulary) put() command {
	words := []string{"put", v.priority(), v.one(v.delays), v.one(v.ttrs)}
	size := v.one([]string{"0", "1", "1", "5", "20", "small", "small", "limit"})
	n, err := strconv.Atoi(size)
	switch {
	case size == "small":
		n = v.rng.IntN(300)
	case err != nil && v.chance(20):
		n = v.maxJobSize
	}
	n = min(n, v.maxJobSize)
	words = append(words, strconv.Itoa(n))
	line := strings.Join(words, " ")
	if v.chance(10) {
		line = strings.Replace(line, " ", strings.Repeat(" ", 1+v.rng.IntN(4)), v.rng.IntN(5))
	}
	body := v.bytes(n)
	switch v.rng.IntN(30) {
	case 0:
		return v.putTooBig(words)
	case 1: // The two bytes after the body are not CRLF; what follows them is a line of its own.
		end := v.one([]string{"xx", "\n\n", "\r\r", "\n\r", "\rx"})
		return command{text: line + "\r\n" + body + end + "\r\n", replies: 2, body: len(line) + 2}
	case 2: // The body is longer than said: the rest of it is read as a command.
		return command{text: line + "\r\n" + body + "abcdef\r\n", replies: 2, body: len(line) + 2}
	case 3, 4: // A line that is refused is not followed by a body: whatever comes is a command.
		line = v.one([]string{line + " ", line + "x", line + " 1", line + "\t", line + "\n", v.fault(words)})
		if v.chance(50) {
			return command{text: line + "\r\nnot a body\r\n", replies: 2}
		}
		return said(line)
	}
	return command{text: line + "\r\n" + body + "\r\n", replies: 1, body: len(line) + 2}
}

// putTooBig is a put above the limit: its body is skipped whatever it holds, and garbage after the size is not looked at.
func (v *vocabulary) putTooBig(words []string) command {
	n := v.maxJobSize + []int{1, 1 + v.rng.IntN(2000)}[v.rng.IntN(2)]
	words[4] = strconv.Itoa(n) + v.one([]string{"", "", " foo", "foo", " "})
	line := strings.Join(words, " ")
	return command{text: line + "\r\n" + v.bytes(n+2), replies: 1}
}

// bytes are n bytes that look like commands, line ends, or anything.
func (v *vocabulary) bytes(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(v.one([]string{"\r\n", "\x00", "a", "bc", "delete 1\r\n", "\r", "\n", "\xff", "quit\r\n", "0123456789abcdef"}))
	}
	return b.String()[:n]
}

func (v *vocabulary) reserve() command {
	switch v.rng.IntN(10) {
	case 0, 1, 2:
		return command{text: "reserve\r\n", replies: 1, waits: true}
	case 3, 4:
		return command{text: "reserve-with-timeout " + v.one(v.timeouts) + v.one([]string{"", "", "x", " 1"}) + "\r\n", replies: 1, waits: true}
	default:
		return said("reserve-with-timeout " + v.one([]string{"0", "0", "0", "000", "  0", "0 ", "0foo", "0 0", "0x10", "0\t", "0.5"}))
	}
}

// about makes a command that has a job id and perhaps a priority and a delay.
func (v *vocabulary) about(verb string, id uint64) command {
	words := []string{verb, strconv.FormatUint(id, 10)}
	switch verb {
	case "release":
		words = append(words, v.priority(), v.one(v.delays))
	case "bury":
		words = append(words, v.priority())
	}
	if v.chance(4) {
		c := said(v.fault(words))
		c.looks = ^uint64(0) // A fault may turn out to be a number after all.
		return c
	}
	if v.chance(4) {
		words[1] = strings.Repeat("0", v.rng.IntN(5)) + words[1]
		words[1] = strings.Repeat(" ", v.rng.IntN(3)) + words[1]
	}
	c := said(strings.Join(words, " "))
	c.job = id
	c.delays = verb == "release" && strings.Trim(words[3], "0") != ""
	if verb == "peek" || verb == "stats-job" {
		c.looks = id
	}
	return c
}

func (v *vocabulary) named(verb string) command {
	if v.chance(8) {
		return said(verb + " " + v.one(badTubes))
	}
	name := v.tube()
	c := said(verb + " " + name)
	switch verb {
	case "watch":
		c.watches = name
	case "ignore":
		c.ignores = name
	}
	return c
}

func (v *vocabulary) pause() command {
	name, seconds := v.tube(), v.one(v.pauses)
	line := "pause-tube " + name + " " + seconds
	switch v.rng.IntN(12) {
	case 0:
		line = "pause-tube" + name + " " + seconds
	case 1:
		line = "pause-tube   " + name + "   " + seconds
	case 2:
		line = "pause-tube " + v.one(badTubes) + " 5000"
	case 3:
		line = "pause-tube " + name + v.one([]string{"", " ", "  ", " x", "5000x ", " 4294967296", " -1", " 1 ", " 1 1", "\t5000"})
	}
	c := said(line)
	c.ticks = true
	return c
}

func (v *vocabulary) kick() command {
	if v.chance(60) {
		return said("kick " + v.one([]string{"1", "2", "3", "10", "10"}))
	}
	return said("kick " + v.one([]string{
		"0", "1", "1", "2", "3", "10", "4294967295", "4294967296", "4294967297", "18446744073709551615", "18446744073709551616",
		"-1", "+2", " 2", "\t2", "1abc", "0x10", "1 2", "1 ", "x", "", " ", "-", "99999999999999999999999", "\n3", "-4294967295",
	}))
}

// lines that are refused, each with one BAD_FORMAT or UNKNOWN_COMMAND.
var malformed = []string{
	"", " ", " stats", "PUT 0 0 1 1", "Stats", "put", "peek", "peekx", "kick", "kick-job", "use", "watch", "ignore", "delete", "release",
	"bury", "touch", "list-tube", "put\t0 0 1 1", "reserve ", "reservex", "reserve-job", "reserve-with-timeout", "reserve-mode weighted",
	"statsx", "stats-foo", "stats-job", "stats-tube", "stats ", "list-tubesx", "list-tube-usedx", "list-tubes-watchedx", "list-tubes ",
	"peek-readyx", "peek-ready ", "peek-delayed 1", "peek-buried\t", "pause-tube", "pause-tube ", "pause-tube  5000", "\x00", "stats\x00",
	"\x00stats", "nonsense\x00", "list-tube-used\nstats", "\n", "\nstats", "stats\n", "list-tubes\n\n", "reserve\n", "\xff\xfe", "{}",
	"GET / HTTP/1.1", "Host: localhost", "peek-", "peek-ready-", "p", "reserv", "kick-jobs 1", "delete  ", "release 1", "release 1 1",
	"bury 1", "touch 1 1", "delete 1 1", "stats-job 1 1", "reserve-job 1 1", "reserve-job x", "kick-job 1x", "peek 1x", "put ",
	"put 1", "put 1 1", "put 1 1 1", "put 1 1 1 ", "put  ", "uit", "release 0 0 0 0", "release 1 1 1 ", "bury 1 1 ",
}

func (v *vocabulary) malformedLine() command {
	switch v.rng.IntN(8) {
	case 0: // Too long, by a little or by far; the lengths 224k+1 with CRLF are among the differences (leeway_test.go).
		n := 223 + v.rng.IntN(60)
		if v.chance(40) {
			n = 223 + v.rng.IntN(3000)
		}
		if (n+2)%224 == 1 {
			n++
		}
		line := v.one([]string{"", "list-tube-used", "put 0 0 5000 1", "stats ", "quit", "use "}) + strings.Repeat(v.one([]string{"a", " ", "\n", "0", "\x00"}), n)
		return said(line[:n])
	case 1: // As long as a line may be, and wrong or right.
		return said(v.one([]string{
			"pause-tube " + strings.Repeat("z", 200) + " 4294967295",
			strings.Repeat("x", 222), strings.Repeat("x", 221), "peek " + strings.Repeat("0", 216) + "x", "stats" + strings.Repeat(" ", 217),
			"delete " + strings.Repeat("0", 215), "touch" + strings.Repeat(" ", 216) + "0", "bury 0" + strings.Repeat(" ", 215) + "0",
		}))
	case 2: // A command broken in one byte.
		line := []byte(v.one([]string{"reserve-job 0", "peek-delayed", "list-tubes-watched", "touch 0", "kick-job 0", "delete 0", "bury 0 0"}))
		line[v.rng.IntN(len(line))] = v.one([]string{"\x00", "\n", "\xff", "?", "\x7f"})[0]
		return said(string(line))
	}
	return said(v.one(malformed))
}

func (v *vocabulary) quit() command {
	return command{text: v.one([]string{"quit", "quitfoo", "quit 1", "quit "}) + "\r\n", closes: true}
}

func (c command) String() string {
	if len(c.text) > 300 {
		return fmt.Sprintf("%q… (%d bytes)", c.text[:120], len(c.text))
	}
	return strconv.Quote(c.text)
}
