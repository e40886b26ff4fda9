package server

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestRandomCuts sends the same input whole and in random pieces, to servers
// of their own: the replies are the same.
func TestRandomCuts(t *testing.T) {
	const seeds, cuts = 10, 4
	everywhere(t, func(t *testing.T, w setting) {
		for seed := range uint64(seeds) {
			chance := rand.New(rand.NewPCG(seed, 9))
			input := randomInput(chance)
			want := w.replies(t, [][]byte{input})
			for range cuts {
				most := 1 + chance.IntN(1000)
				var pieces [][]byte
				for rest := input; len(rest) > 0; {
					n := 1 + chance.IntN(min(len(rest), most))
					pieces = append(pieces, rest[:n])
					rest = rest[n:]
				}
				if got := w.replies(t, pieces); got != want {
					at := 0
					for at < min(len(got), len(want)) && got[at] == want[at] {
						at++
					}
					t.Fatalf("seed %d in pieces up to %d: after %d bytes got %.100q, want %.100q", seed, most, at, got[at:], want[at:])
				}
			}
		}
	})
}

// replies are all that a new server answers to an input.
func (w setting) replies(t *testing.T, pieces [][]byte) string {
	t.Helper()
	s := w.open(t, Config{MaxJobSize: 300})
	defer s.stop()
	c := s.client()
	go func() {
		for _, p := range pieces {
			if _, err := c.conn.Write(p); err != nil {
				return
			}
		}
		_ = c.conn.(interface{ CloseWrite() error }).CloseWrite()
	}()
	return c.rest()
}

// randomInput makes commands, and what looks like some, whose replies do not
// depend on the time.
func randomInput(chance *rand.Rand) []byte {
	var b bytes.Buffer
	word := func(words ...string) string { return words[chance.IntN(len(words))] }
	for range 300 {
		switch chance.IntN(8) {
		case 0, 1, 2:
			size := chance.IntN(310)
			fmt.Fprintf(&b, "put %d 0 4000 %d%s\r\n", chance.IntN(3), size, word("", "", "", " x"))
			b.WriteString(strings.Repeat(word("\r\n", "x\r", "\n", "kick 1\r\n")+"y", size)[:size])
			b.WriteString(word("\r\n", "\r\n", "\r\n", "\n\r", "ab"))
		case 3:
			fmt.Fprintf(&b, "%s %s\r\n", word("use", "watch", "ignore"), word("a", "b", "default", "-c"))
		case 4:
			fmt.Fprintf(&b, "%s %d%s\r\n", word("peek", "delete", "touch", "reserve-job", "kick-job", "kick"), chance.IntN(60), word("", "", " ", "\r"))
		case 5:
			fmt.Fprintf(&b, "%s %d %d%s\r\n", word("bury", "release"), chance.IntN(60), chance.IntN(9), word("", " 0"))
		case 6:
			b.WriteString(word("reserve-with-timeout 0\r\n", "peek-ready\r\n", "list-tubes\r\n", "list-tubes-watched\r\n", "list-tube-used\r\n"))
		case 7:
			b.WriteString(strings.Repeat(word("x", "\r", "\n", "\x00", "put "), chance.IntN(400)))
			b.WriteString(word("\r\n", "\r\r\n", "\n", "\r\n\r\n"))
		}
	}
	b.WriteString("\r\nlist-tube-used\r\n")
	return b.Bytes()
}

// TestWholeReplies holds a server to giving each byte of what was asked to a
// client that reads in small pieces.
func TestWholeReplies(t *testing.T) {
	everywhere(t, func(t *testing.T, w setting) {
		s := w.open(t, Config{})
		c := s.client()
		body := strings.Repeat("0123456789", 6000)
		c.ask(put(body), "INSERTED 1\r\n")
		const questions = 50
		go io.WriteString(c.conn, strings.Repeat("peek 1\r\n", questions)+"quit\r\n")
		want := strings.Repeat("FOUND 1 60000\r\n"+body+"\r\n", questions)
		chance := rand.New(rand.NewPCG(1, 1))
		for p := make([]byte, 5000); ; {
			n, err := c.conn.Read(p[:1+chance.IntN(len(p)-1)])
			if !strings.HasPrefix(want, string(p[:n])) {
				t.Fatalf("got %.100q, want %.100q", p[:n], want)
			}
			if want = want[n:]; err != nil {
				break
			}
		}
		if want != "" {
			t.Errorf("%d bytes are missing", len(want))
		}
	})
}
