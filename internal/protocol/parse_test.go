package protocol

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// read gives the decoder one line, to which it adds the CRLF, and returns what
// came of it.
func read(t *testing.T, line string) (Event, Command) {
	t.Helper()
	var d Decoder
	n, event := d.Next([]byte(line + crlf))
	if n != len(line)+len(crlf) {
		t.Fatalf("%q: %d bytes taken", line, n)
	}
	if d.Midway() {
		t.Fatalf("%q: the decoder waits for more", line)
	}
	return event, d.Command
}

// understood is a line that is a command.
type understood struct {
	line string
	want Command
}

func checkUnderstood(t *testing.T, table []understood) {
	t.Helper()
	for _, c := range table {
		event, got := read(t, c.line)
		if event != CommandLine {
			t.Errorf("%q: event %d, want a command", c.line, event)
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q: (-want +got)\n%s", c.line, diff)
		}
	}
}

func checkRefused(t *testing.T, want Event, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if event, got := read(t, line); event != want {
			t.Errorf("%q: event %d (%+v), want %d", line, event, got, want)
		}
	}
}

func TestEveryVerb(t *testing.T) {
	table := []understood{
		{"put 1 2 3 4", Command{Verb: Put, Priority: 1, Delay: 2 * time.Second, TTR: 3 * time.Second, Size: 4}},
		{"peek 7", Command{Verb: Peek, ID: 7}},
		{"peek-ready", Command{Verb: PeekReady}},
		{"peek-delayed", Command{Verb: PeekDelayed}},
		{"peek-buried", Command{Verb: PeekBuried}},
		{"reserve", Command{Verb: Reserve}},
		{"reserve-with-timeout 7", Command{Verb: ReserveWithTimeout, Timeout: 7 * time.Second}},
		{"reserve-job 7", Command{Verb: ReserveJob, ID: 7}},
		{"delete 7", Command{Verb: Delete, ID: 7}},
		{"release 7 8 9", Command{Verb: Release, ID: 7, Priority: 8, Delay: 9 * time.Second}},
		{"bury 7 8", Command{Verb: Bury, ID: 7, Priority: 8}},
		{"kick 7", Command{Verb: Kick, Count: 7}},
		{"kick-job 7", Command{Verb: KickJob, ID: 7}},
		{"touch 7", Command{Verb: Touch, ID: 7}},
		{"stats", Command{Verb: Stats}},
		{"stats-job 7", Command{Verb: StatsJob, ID: 7}},
		{"stats-tube a", Command{Verb: StatsTube, Tube: []byte("a")}},
		{"use a", Command{Verb: Use, Tube: []byte("a")}},
		{"watch a", Command{Verb: Watch, Tube: []byte("a")}},
		{"ignore a", Command{Verb: Ignore, Tube: []byte("a")}},
		{"list-tubes", Command{Verb: ListTubes}},
		{"list-tube-used", Command{Verb: ListTubeUsed}},
		{"list-tubes-watched", Command{Verb: ListTubesWatched}},
		{"pause-tube a 7", Command{Verb: PauseTube, Tube: []byte("a"), Delay: 7 * time.Second}},
		{"quit", Command{Verb: Quit}},
	}
	checkUnderstood(t, table)
	inTable := make(map[Verb]bool)
	for _, c := range table {
		inTable[c.want.Verb] = true
		if word, _, _ := strings.Cut(c.line, " "); word != c.want.Verb.String() {
			t.Errorf("the word of %q is %q", c.line, c.want.Verb)
		}
	}
	for _, v := range Verbs() {
		if !inTable[v] {
			t.Errorf("no line for %v", v)
		}
	}
}

// A line belongs to the first word that it begins with; what follows a word
// that takes no arguments makes it malformed, and a word without its space is
// no word.
func TestRecognition(t *testing.T) {
	checkRefused(t, UnknownLine,
		"", " ", " stats", "PUT 0 0 1 1", "Stats", "put", "put\t0 0 1 1", "putx", "peek", "peekx", "peek-", "peek-read", "peek-job 1",
		"kick", "kickx", "kick-job", "kick-jobs 1", "use", "use\ta", "watch", "ignore", "delete", "release", "bury", "touch", "list-tube", "list-",
		"reserv", "stat", "qui", "quiT", "pause-tub", "hello", "stats\n"[:4], "\n", "\r", "\xff", "zzz 1")
	checkRefused(t, BadLine,
		"reserve ", "reservex", "reserve 1", "reserve-job", "reserve-with-timeout", "reserve-mode fifo", "reserve\t", "reserve-",
		"statsx", "stats-foo", "stats-job", "stats-tube", "stats ", "stats 1", "stats\nfoo",
		"list-tubesx", "list-tubes ", "list-tubes-", "list-tube-usedx", "list-tube-used ", "list-tubes-watchedx", "list-tubes-watched ",
		"peek-readyx", "peek-ready ", "peek-delayedx", "peek-delayed 1", "peek-buried ", "pause-tube", "list-tube-used\nlist-tubes")
	checkUnderstood(t, []understood{
		{"quitfoo", Command{Verb: Quit}},
		{"quit 1", Command{Verb: Quit}},
		{"quit ", Command{Verb: Quit}},
	})
}

func TestZeroByte(t *testing.T) {
	checkRefused(t, BadLine, "\x00", "stats\x00", "\x00stats", "hello\x00", "use a\x00", "quit\x00", "kick 1\x00", "reserve-with-timeout 0\x00",
		"put 0 0 1 1\x00", "put 0 0 1 99999999\x00")
}

// Numbers of 32 and of 64 bits follow the same grammar.
func TestNumbers(t *testing.T) {
	for _, verb := range []Verb{Peek, Delete, Touch, StatsJob, ReserveJob, KickJob} {
		word := verb.String()
		checkUnderstood(t, []understood{
			{word + " 0", Command{Verb: verb}},
			{word + " 1", Command{Verb: verb, ID: 1}},
			{word + "     1", Command{Verb: verb, ID: 1}},
			{word + " 0001", Command{Verb: verb, ID: 1}},
			{word + " " + strings.Repeat("0", 150) + "42", Command{Verb: verb, ID: 42}},
			{word + " 4294967296", Command{Verb: verb, ID: 1 << 32}},
			{word + " 18446744073709551615", Command{Verb: verb, ID: 1<<64 - 1}},
		})
		checkRefused(t, BadLine, word+" ", word+"   ", word+" +1", word+" -1", word+" \t1", word+" 1 ", word+" 1\t", word+" 0x1", word+" 1.0", word+" 1a",
			word+" a", word+" 1 1", word+" 18446744073709551616", word+" 18446744073709551620", word+" 99999999999999999999999", word+" 1\n", word+" 1\r", word+" \n1")
	}
	checkUnderstood(t, []understood{
		{"bury 1 4294967295", Command{Verb: Bury, ID: 1, Priority: 1<<32 - 1}},
		{"bury  1  0007", Command{Verb: Bury, ID: 1, Priority: 7}},
		{"release 1 4294967295 4294967295", Command{Verb: Release, ID: 1, Priority: 1<<32 - 1, Delay: (1<<32 - 1) * time.Second}},
		{"release   1   2   3", Command{Verb: Release, ID: 1, Priority: 2, Delay: 3 * time.Second}},
	})
	checkRefused(t, BadLine, "bury 1", "bury 1 ", "bury 1 4294967296", "bury 1 2 ", "bury 1 2 3", "bury 1\t2", "bury 1 -2", "bury a 2", "bury 1a 2", "bury  ",
		"release 1", "release 1 2", "release 1 2 ", "release 1 2 4294967296", "release 1 4294967296 0", "release 1 2 3 ", "release 1 2 3 4", "release 1 2 3.5")
}

func TestPut(t *testing.T) {
	checkUnderstood(t, []understood{
		{"put 0 0 0 0", Command{Verb: Put}},
		{"put   1   2   3   4", Command{Verb: Put, Priority: 1, Delay: 2 * time.Second, TTR: 3 * time.Second, Size: 4}},
		{"put 4294967295 4294967295 4294967295 4294967295", Command{
			Verb: Put, Priority: 1<<32 - 1, Delay: (1<<32 - 1) * time.Second, TTR: (1<<32 - 1) * time.Second, Size: 1<<32 - 1,
		}},
		// What follows the size is a fault that is found after the counting, and not at all if the size is too large.
		{"put 0 0 1 2 ", Command{Verb: Put, TTR: time.Second, Size: 2, Malformed: true}},
		{"put 0 0 1 2 3", Command{Verb: Put, TTR: time.Second, Size: 2, Malformed: true}},
		{"put 0 0 1 2foo", Command{Verb: Put, TTR: time.Second, Size: 2, Malformed: true}},
		{"put 0 0 1 65536foo", Command{Verb: Put, TTR: time.Second, Size: 65536, Malformed: true}},
		{"put 0 0 1 2\r", Command{Verb: Put, TTR: time.Second, Size: 2, Malformed: true}},
	})
	checkRefused(t, BadLine, "put ", "put 0", "put 0 0", "put 0 0 1", "put 0 0 1 ", "put a 0 1 1", "put 0 a 1 1", "put 0 0 a 1", "put 0 0 1 a", "put 0 0 1 -1",
		"put -1 0 1 1", "put 0 -1 1 1", "put 0 0 -1 1", "put 4294967296 0 1 1", "put 0 4294967296 1 1", "put 0 0 4294967296 1", "put 0 0 1 4294967296",
		"put 0\t0 1 1", "put 0 0 1\t1", "put 1.5 0 1 1", "put 0, 0, 1, 1", "put 0x1 0 1 1")
}

// The time of reserve-with-timeout ends where its number does.
func TestReserveWithTimeout(t *testing.T) {
	for line, n := range map[string]int{
		"0": 0, "10": 10, "   10": 10, "2147483647": 2147483647, "0foo": 0, "0 0": 0, "0 ": 0, "7 x": 7, "1.9": 1, "0x10": 0, "3\t": 3, "0010": 10,
	} {
		checkUnderstood(t, []understood{{"reserve-with-timeout " + line, Command{Verb: ReserveWithTimeout, Timeout: time.Duration(n) * time.Second}}})
	}
	for _, line := range []string{"", " ", "-1", "+0", "x", "2147483648", "4294967296", "99999999999999999999", "\t1", "-0"} {
		checkRefused(t, BadLine, "reserve-with-timeout "+line)
	}
}

// The number of kick is what C's strtoul reads, cut to 32 bits.
func TestKick(t *testing.T) {
	for line, count := range map[string]uint32{
		"0": 0, "1": 1, "  1": 1, "\t1": 1, "\n\v\f\r 1": 1, "+1": 1, "-1": 4294967295, "-2": 4294967294, "-0": 0, "1abc": 1, "1 ": 1, "1 2": 1, "0x10": 0,
		"007": 7, "4294967295": 4294967295, "4294967296": 0, "4294967297": 1, "18446744073709551615": 4294967295, "-18446744073709551615": 1,
		"-4294967296": 0, "1.5": 1, "1-": 1,
	} {
		checkUnderstood(t, []understood{{"kick " + line, Command{Verb: Kick, Count: count}}})
	}
	for _, line := range []string{"", " ", "\t", "a", "+", "-", "- 1", "+ 1", "--1", "+-1", "-\t1", "18446744073709551616", "-18446744073709551616", "\x011"} {
		checkRefused(t, BadLine, "kick "+line)
	}
}

func TestTubeNames(t *testing.T) {
	long := strings.Repeat("x", MaxTubeName)
	for _, verb := range []Verb{Use, Watch, Ignore, StatsTube} {
		word := verb.String() + " "
		for _, name := range []string{"a", "9", "A-Z+a/z;0.9$_()", "+", "/", ";", ".", "$", "_", "(", ")", "a-", "default", long} {
			checkUnderstood(t, []understood{{word + name, Command{Verb: verb, Tube: []byte(name)}}})
		}
		for _, name := range []string{"", " a", "a ", "a b", "-", "-a", long + "x", "a\tb", "a\rb", "a\nb", "a:b", "a,b", "a*b", "a\"b", "a'b", "a=b", "a@b", "\x80", "ä", "a%", "a[", "a{", "a~"} {
			checkRefused(t, BadLine, word+name)
		}
	}
	for b := range 256 {
		want := strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-+/;.$_()", byte(b)) >= 0
		if got := ValidTube([]byte{'a', byte(b)}); got != want {
			t.Errorf("byte %#x in a name: %v", b, got)
		}
	}
	if ValidTube(nil) || ValidTube([]byte(long+"x")) || ValidTube([]byte("-")) || !ValidTube([]byte(long)) {
		t.Error("lengths and the leading hyphen are not held")
	}
}

// The name of pause-tube may stand at once behind the word, and what is wrong
// with it is found after the counting.
func TestPauseTube(t *testing.T) {
	long := strings.Repeat("x", MaxTubeName)
	paused := func(name string, n int, malformed bool) Command {
		return Command{Verb: PauseTube, Tube: []byte(name), Delay: time.Duration(n) * time.Second, Malformed: malformed}
	}
	checkUnderstood(t, []understood{
		{"pause-tube default 0", paused("default", 0, false)},
		{"pause-tubedefault 0", paused("default", 0, false)},
		{"pause-tube    default    10", paused("default", 10, false)},
		{"pause-tube a 4294967295", paused("a", 4294967295, false)},
		{"pause-tube " + long + " 4294967295", paused(long, 4294967295, false)},
		{"pause-tube " + long + "x 1", paused(long+"x", 1, true)},
		{"pause-tube -x 1", paused("-x", 1, true)},
		{"pause-tube-x 1", paused("-x", 1, true)},
		{"pause-tube 1 2", paused("1", 2, false)},
	})
	checkRefused(t, BadLine, "pause-tube ", "pause-tube  ", "pause-tube default", "pause-tube default ", "pause-tube default0", "pause-tube 0", "pause-tube a 0 ",
		"pause-tube a 0x", "pause-tube a 0 1", "pause-tube a -1", "pause-tube a 4294967296", "pause-tube a\t1", "pause-tube\ta 1", "pause-tube a b 1",
		"pause-tube a:1", "pause-tube -x", "pause-tube "+long+"x")
}
