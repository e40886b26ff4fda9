package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"
)

// converse sends a long text while it reads as many bytes as the answer has,
// and compares.
func (c *client) converse(text, want string) {
	c.t.Helper()
	c.conn.SetWriteDeadline(time.Now().Add(patience))
	failed := make(chan error, 1)
	go func() {
		_, err := io.WriteString(c.conn, text)
		failed <- err
	}()
	c.expect(want)
	if err := <-failed; err != nil {
		c.t.Fatal(err)
	}
}

// TestManyTubes makes a hundred thousand tubes, each with a job, uses them, and
// empties them, with which they are gone.
func TestManyTubes(t *testing.T) {
	const tubes = 100000
	everywhere(t, func(t *testing.T, w setting) {
		s := w.open(t, Config{})
		c := s.client()
		var commands, answers bytes.Buffer
		for i := range tubes {
			fmt.Fprintf(&commands, "use tube%d\r\n%s", i, put("x"))
			fmt.Fprintf(&answers, "USING tube%d\r\nINSERTED %d\r\n", i, i+1)
		}
		c.converse(commands.String(), answers.String())
		if got := c.stat("current-tubes"); got != tubes+1 {
			t.Errorf("%d tubes, want %d", got, tubes+1)
		}
		if got := strings.Count(c.document("list-tubes"), "\n- tube"); got != tubes {
			t.Errorf("%d tubes are listed, want %d", got, tubes)
		}

		commands.Reset()
		answers.Reset()
		chance := rand.New(rand.NewPCG(3, 4))
		for range 2000 {
			i := chance.IntN(tubes)
			fmt.Fprintf(&commands, "use tube%d\r\npeek-ready\r\nwatch tube%d\r\nignore default\r\nreserve\r\n", i, i)
			fmt.Fprintf(&answers, "USING tube%d\r\nFOUND %d 1\r\nx\r\nWATCHING 2\r\nWATCHING 1\r\nRESERVED %d 1\r\nx\r\n", i, i+1, i+1)
			fmt.Fprintf(&commands, "release %d 0 0\r\nwatch default\r\nignore tube%d\r\n", i+1, i)
			fmt.Fprintf(&answers, "RELEASED\r\nWATCHING 2\r\nWATCHING 1\r\n")
		}
		c.converse(commands.String()+"use default\r\n", answers.String()+"USING default\r\n")

		commands.Reset()
		answers.Reset()
		for _, i := range chance.Perm(tubes) {
			fmt.Fprintf(&commands, "delete %d\r\n", i+1)
			answers.WriteString("DELETED\r\n")
		}
		c.converse(commands.String(), answers.String())
		if got := c.document("list-tubes"); got != "---\n- default\n" {
			t.Errorf("%d bytes of tubes are left: %.100q", len(got), got)
		}
	}, func(w setting) bool { return w.network == "tcp" })
}

// BenchmarkTubes puts, reserves and deletes in one of many tubes, each of which
// has a job that stays.
func BenchmarkTubes(b *testing.B) {
	for _, tubes := range []int{10, 100000} {
		b.Run(fmt.Sprint(tubes), func(b *testing.B) {
			server, err := New(Config{MaxJobSize: 100})
			if err != nil {
				b.Fatal(err)
			}
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			if err := server.Serve(ln); err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(b.Context())
			ended := make(chan error)
			go func() { ended <- server.Run(ctx) }()
			defer func() {
				cancel()
				if err := <-ended; err != nil {
					b.Error(err)
				}
			}()
			makeTubes(b, ln.Addr().String(), tubes)
			worker, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			defer worker.Close()
			useTubes(b, worker, tubes)
		})
	}
}

// makeTubes puts a job into each of so many tubes.
func makeTubes(b *testing.B, address string, tubes int) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	go func() {
		var text bytes.Buffer
		for i := range tubes {
			fmt.Fprintf(&text, "use tube%d\r\nput 9 0 60 1\r\nx\r\n", i)
		}
		_, _ = conn.Write(text.Bytes()) // what is missing shows in the answers
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	answers, err := io.ReadAll(conn)
	if got := bytes.Count(answers, []byte("INSERTED")); got != tubes {
		b.Fatalf("%d of %d tubes: %v", got, tubes, err)
	}
}

// useTubes goes through cycles in random tubes, a hundred in flight.
func useTubes(b *testing.B, conn net.Conn, tubes int) {
	const batch = 100
	chance := rand.New(rand.NewPCG(5, 6))
	next := tubes + 1
	for b.Loop() {
		var text bytes.Buffer
		for range batch {
			i := chance.IntN(tubes)
			fmt.Fprintf(&text, "use tube%d\r\nput 0 0 60 0\r\n\r\n", i)
			fmt.Fprintf(&text, "watch tube%d\r\nignore default\r\nreserve\r\ndelete %d\r\nwatch default\r\nignore tube%d\r\n", i, next, i)
			next++
		}
		if _, err := conn.Write(text.Bytes()); err != nil {
			b.Fatal(err)
		}
		readReplies(b, conn, 9*batch) // a reserved job has two lines
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch), "ns/cycle")
}

func readReplies(b *testing.B, conn net.Conn, lines int) {
	p := make([]byte, 64<<10)
	for lines > 0 {
		n, err := conn.Read(p)
		if err != nil {
			b.Fatal(err)
		}
		if bytes.Contains(p[:n], []byte("NOT_FOUND")) {
			b.Fatal("a job that was reserved is not found")
		}
		lines -= bytes.Count(p[:n], []byte("\n"))
	}
}
