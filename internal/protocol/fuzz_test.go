package protocol

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// FuzzDecoder holds the decoder to four things: it takes all input that it has
// no event for; what it hears is what a reader of the whole input would; it
// hears the same however the input is cut up; and after whatever came, a line
// end is followed by understanding.
func FuzzDecoder(f *testing.F) {
	for _, seed := range []string{
		"stats\r\nlist-tubes\r\nquit\r\n",
		"put 0 0 1 5\r\nhello\r\nreserve\r\n",
		"put 0 0 1 0\r\n\r\nput 1 2 3 4\r\n\r\n\r\n\r\n",
		"put 0 0 1 1\r\nabc\r\nstats\r\n",
		"put 0 0 1 5 x\r\nstats\r\n",
		"put 0 0 1 20 x\r\n0123456789\r\n\r\n\r\nlist-tube-used\r\n",
		"put 0 0 1 4294967295\r\nxyz",
		"put 0 0 1 4294967296\r\nxyz\r\n",
		"list-\rtubes\r\nstats\n\r\r\nuse a\r\r\n",
		strings.Repeat("x", 222) + "\r\n" + strings.Repeat("x", 223) + "\r\nstats\r\n",
		strings.Repeat("x", 447) + "\r\nkick 1\r\n" + strings.Repeat("\r", 300) + "\nstats\r\n",
		"pause-tube " + strings.Repeat("x", 200) + " 4294967295\r\n",
		"pause-tubedefault 0\r\npause-tube -x 1\r\nreserve-with-timeout 0foo\r\nkick \t-1abc\r\n",
		"use a\x00\r\nwatch \xff\r\nignore -a\r\nstats-tube a b\r\n",
		"release 1 2 3\r\nbury 1 2\r\ntouch 18446744073709551615\r\nkick-job 18446744073709551616\r\n",
		"", "\r", "\r\n", "\n", "put 0 0 1 2\r\n\r\n\r", "PUT\r\n peek 1\r\nreserve-mode x\r\n",
	} {
		f.Add([]byte(seed), uint64(len(seed)))
	}
	f.Fuzz(func(t *testing.T, input []byte, seed uint64) {
		if len(input) > 4096 {
			return
		}
		want := lines(input)
		whole := checkCut(t, want, input)
		single := make([][]byte, 0, len(input))
		for i := range input {
			single = append(single, input[i:i+1])
		}
		checkCut(t, want, single...)
		for _, i := range boundaries(input) {
			checkCut(t, want, input[:i], input[i:])
		}
		chance := rand.New(rand.NewPCG(seed, 0))
		for range 4 {
			var pieces [][]byte
			for rest := input; len(rest) > 0; {
				n := 1 + chance.IntN(min(len(rest), 300))
				pieces = append(pieces, rest[:n])
				rest = rest[n:]
			}
			checkCut(t, want, pieces...)
		}
		checkResync(t, whole)
	})
}

// boundaries are the places to cut an input in two: all of a short one, and of
// a long one those near a CR, a LF or the end of a block.
func boundaries(input []byte) (at []int) {
	for i := range len(input) + 1 {
		near := input[max(0, i-2):min(len(input), i+2)]
		if len(input) <= 300 || bytes.ContainsAny(near, crlf) && i <= 600 || i%MaxLine <= 1 {
			at = append(at, i)
		}
	}
	return at
}

func checkCut(t *testing.T, want []heard, pieces ...[]byte) *listener {
	t.Helper()
	l := &listener{}
	for _, p := range pieces {
		if fault := l.hear(p); fault != "" {
			t.Fatalf("%q: %s", pieces, fault)
		}
	}
	if diff := differ(want, l.heard); diff != "" {
		t.Fatalf("%q: (-want +got)\n%s", pieces, diff)
	}
	return l
}

// checkResync ends the body that may be under way, ends the line, which may
// have begun another body, and then expects to be understood.
func checkResync(t *testing.T, l *listener) {
	t.Helper()
	endBody := func() {
		d := &l.decoder
		switch d.state {
		case inBody:
			l.hear(bytes.Repeat([]byte("x"), len(d.body)-d.filled+len(crlf)-d.tail))
		case discarding:
			d.discard = min(d.discard, 3) // nobody waits for 4 GiB
			l.hear([]byte("xxx")[:d.discard])
		case inLine, overlong:
		}
	}
	endBody()
	l.hear([]byte(crlf))
	endBody()
	if l.decoder.Midway() {
		t.Fatalf("state %d after a line end", l.decoder.state)
	}
	l.heard = nil
	l.hear([]byte("touch 4711\r\n"))
	if diff := differ([]heard{{event: CommandLine, command: Command{Verb: Touch, ID: 4711}}}, l.heard); diff != "" {
		t.Fatalf("a command after a line end: (-want +got)\n%s", diff)
	}
}
