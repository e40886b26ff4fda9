package server

import (
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"
)

// flood is how much a client that means no good sends at least. It goes on
// until another client has been served many times.
const flood = 64 << 20

// served is how many answers that other client gets while the flood lasts.
const served = 200

// leeway is how much the heap may grow meanwhile. The client's own buffers and
// whatever is not collected yet are in it.
const leeway = 16 << 20

// unlessUnix leaves out unix sockets, where a flood would only show the same as
// over TCP.
func unlessUnix(w setting) bool { return w.network != "unix" }

// heap is how many bytes of Go's heap are in use.
func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapInuse)
}

// withstand floods the server with what next returns, and holds it to serving
// another client and to not growing. The flood may stop moving if stuck.
func (s *site) withstand(bully net.Conn, next func() []byte, stuck bool) {
	s.t.Helper()
	polite := s.client()
	id := polite.stat("total-jobs") + 1
	polite.ask("use polite\r\nwatch polite\r\nignore default\r\n"+put("job"),
		"USING polite\r\nWATCHING 2\r\nWATCHING 1\r\n"+insertions(id, id))
	question := fmt.Sprintf("peek %d\r\nreserve\r\nrelease %d 0 0\r\n", id, id)
	answer := fmt.Sprintf("FOUND %d 3\r\njob\r\nRESERVED %d 3\r\njob\r\nRELEASED\r\n", id, id)
	before := heap()
	enough := make(chan struct{}) // the flood has had its length, or is stuck
	stop := make(chan struct{})
	over := make(chan struct{})
	go func() {
		defer close(over)
		sent := 0
		for {
			n, err := bully.Write(next())
			if sent += n; sent >= flood && sent-n < flood || err != nil && sent < flood {
				close(enough)
			}
			if err != nil {
				return
			}
			select {
			case <-stop:
				if sent >= flood {
					return
				}
			default:
			}
		}
	}()
	for i := range served {
		polite.ask(question, answer)
		if i%50 == 0 {
			s.expectHeap(before)
		}
	}
	close(stop)
	if stuck {
		// It has been sending for a while without getting on, or soon will be.
		bully.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
	}
	<-enough
	s.expectHeap(before)
	polite.ask("list-tube-used\r\n", "USING polite\r\n")
	<-over
	bully.Close()
	polite.until("current-connections", 1)
	s.expectHeap(before)
}

func (s *site) expectHeap(before int) {
	s.t.Helper()
	if now := heap(); now-before > leeway {
		s.t.Fatalf("the heap has grown from %d to %d bytes", before, now)
	}
}

// drain reads and forgets what arrives.
func drain(conn net.Conn) {
	p := make([]byte, 64<<10)
	for {
		if _, err := conn.Read(p); err != nil {
			return
		}
	}
}

// TestForbiddenHugePut sends a put of 4 GiB to a server that takes 64 KiB.
func TestForbiddenHugePut(t *testing.T) {
	everywhere(t, func(t *testing.T, w setting) {
		s := w.open(t, Config{})
		c := s.client()
		c.send("put 0 0 60 4294967295\r\n")
		piece := make([]byte, 256<<10)
		s.withstand(c.conn, func() []byte { return piece }, false)
	})
}

// TestEndlessLine sends a line that does not end, but for lone CRs and LFs.
func TestEndlessLine(t *testing.T) {
	everywhere(t, func(t *testing.T, w setting) {
		s := w.open(t, Config{})
		c := s.client()
		piece := []byte(strings.Repeat("put 0 0 60 5\n", 20000) + "\r")
		s.withstand(c.conn, func() []byte { return piece }, false)
	}, unlessUnix)
}

// garbage makes lines of random bytes and random words, from a seed.
func garbage() func() []byte {
	chance := rand.New(rand.NewPCG(1, 2))
	pieces := make([][]byte, 16)
	for i := range pieces {
		var p []byte
		for len(p) < 256<<10 {
			switch chance.IntN(4) {
			case 0:
				p = append(p, "reserve-with-timeout 0 \r\n"...)
			case 1:
				p = append(p, "kick"...)
			default:
				for range chance.IntN(300) {
					p = append(p, byte(chance.Uint32()))
				}
			}
			p = append(p, "\r\n"...)
		}
		pieces[i] = p
	}
	return func() []byte { return pieces[chance.IntN(len(pieces))] }
}

// TestGarbage sends random lines and reads what the server has to say to them.
func TestGarbage(t *testing.T) {
	everywhere(t, func(t *testing.T, w setting) {
		s := w.open(t, Config{})
		c := s.client()
		done := make(chan struct{})
		go func() { drain(c.conn); close(done) }()
		s.withstand(c.conn, garbage(), false)
		<-done
	}, unlessUnix)
}

// TestGarbageUnread sends random lines and reads no reply.
func TestGarbageUnread(t *testing.T) {
	everywhere(t, func(t *testing.T, w setting) {
		s := w.open(t, Config{})
		s.withstand(s.client().conn, garbage(), true)
	}, unlessUnix)
}

// TestAnswersUnread asks for large bodies, again and again, and reads none.
func TestAnswersUnread(t *testing.T) {
	const size = 1 << 20
	everywhere(t, func(t *testing.T, w setting) {
		s := w.open(t, Config{MaxJobSize: size})
		c := s.client()
		c.ask("use large\r\n"+put(strings.Repeat("b", size)), "USING large\r\nINSERTED 1\r\n")
		questions := []byte(strings.Repeat("peek 1\r\n", 32<<10))
		s.withstand(c.conn, func() []byte { return questions }, true)
	})
}

// TestByteByByte has a client that takes its time for each byte. In the bubble
// that is a second.
func TestByteByByte(t *testing.T) {
	everywhere(t, func(t *testing.T, w setting) {
		s := w.open(t, Config{MaxJobSize: 20})
		slow, polite := s.client(), s.client()
		start := time.Now()
		send := func(text string) {
			t.Helper()
			for i := range len(text) {
				slow.send(text[i : i+1])
				polite.ask("reserve-with-timeout 0\r\nlist-tube-used\r\n", "TIMED_OUT\r\nUSING default\r\n")
				if w.fakeTime() {
					time.Sleep(time.Second) //nolint:forbidigo // Fake time passes by this.
				}
			}
		}
		send("use slow\r\n")
		slow.expect("USING slow\r\n")
		send("put 0 0 60 9\r\nslow\r\njob\r\n")
		slow.expect("INSERTED 1\r\n")
		send("put 0 0 60 21\r\n" + strings.Repeat("\r\n", 10) + "x\r\n")
		slow.expect("JOB_TOO_BIG\r\n")
		send(strings.Repeat("x", 300) + "\r\r\n")
		slow.expect("BAD_FORMAT\r\n")
		send("peek-ready\r\n")
		slow.expect("FOUND 1 9\r\nslow\r\njob\r\n")
		if took := time.Since(start); w.fakeTime() && took != 388*time.Second {
			t.Errorf("it took %v, want a second for each byte", took)
		}
	})
}
