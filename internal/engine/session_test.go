package engine

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestRepliesInOrder(t *testing.T) {
	s := newScene(t, Config{Limits: Limits{MaxJobSize: 10}})
	a := s.connect()
	s.turn(a.hears("use x\r\n" + put("one") + "nonsense\r\n" + put("far too long") + "kick\x00 1\r\nreserve\r\nwatch x\r\nres"))
	a.expect("USING x\r\n", "INSERTED 1\r\n", "UNKNOWN_COMMAND\r\n", "JOB_TOO_BIG\r\n", "BAD_FORMAT\r\n")
	s.turn(a.HalfClose)
	s.settle()
	a.expect("TIMED_OUT\r\n", "WATCHING 2\r\n")
	s.turn(a.hears("erve\r\n"))
	a.expect("RESERVED 1 3\r\none\r\n")
}

// TestPiecesTaken holds a session to sending all, once and in order, whatever
// its connection takes at a time.
func TestPiecesTaken(t *testing.T) {
	for _, room := range []int{1, 2, 7, 64 << 10} {
		t.Run(fmt.Sprint(room), func(t *testing.T) {
			s := newScene(t, Config{Limits: Limits{MaxJobSize: 1000}})
			a := s.connect()
			body := strings.Repeat("b", 1000)
			a.room = 0
			s.turn(a.hears(put(body) + "peek 1\r\nlist-tube-used\r\n"))
			a.expect()
			for range 1100 {
				s.turn(a.takes(room))
			}
			a.expect("INSERTED 1\r\n", "FOUND 1 1000\r\n", body, "\r\n", "USING default\r\n")
			s.turn(a.takes(endless), a.hears("list-tube-used\r\n"))
			a.expect("USING default\r\n")
		})
	}
}

// TestBrokenConnection has sending fail: the session ends, and what its client
// held goes to the next, though that one is served before it in the turn.
func TestBrokenConnection(t *testing.T) {
	s := newScene(t, Config{Limits: Limits{MaxJobSize: 10}})
	a, b := s.connect(), s.connect()
	s.turn(a.hears(put("job") + "reserve\r\n"))
	a.expect("INSERTED 1\r\n", "RESERVED 1 3\r\njob\r\n")
	a.fault = fmt.Errorf("broken")
	s.turn(b.hears("list-tube-used\r\nreserve\r\n"), a.hears("list-tube-used\r\nuse somewhere\r\n"))
	a.expectClosed(true)
	s.settle()
	b.expect("USING default\r\n", "RESERVED 1 3\r\njob\r\n")
	if got := s.engine.Sessions(); got != 1 {
		t.Errorf("%d sessions, want 1", got)
	}
	a.Receive([]byte("list-tube-used\r\n")) // what its loop may still do to it
	a.Writable()
	a.HalfClose()
	a.End()
	a.Stop()
	s.turn()
	a.expect()
}

// TestNothingBehindWait holds back what stands behind a reserve that waits.
func TestNothingBehindWait(t *testing.T) {
	s := newScene(t, Config{Limits: Limits{MaxJobSize: 10}})
	a, b := s.connect(), s.connect()
	s.turn(a.hears("reserve\r\nuse later\r\n" + put("1")[:5]))
	s.turn(a.hears(put("1")[5:] + "reserve-with-timeout 5\r\n"))
	s.turn(a.hears("list-tubes\r\n"))
	a.expect()
	s.turn(b.hears("list-tubes\r\n"))
	b.expect("OK 14\r\n---\n- default\n\r\n")
	s.turn(b.hears(put("job")))
	a.expect("RESERVED 1 3\r\njob\r\n", "USING later\r\n", "INSERTED 2\r\n")
	if a.sends != 1 {
		t.Errorf("%d Sends for what one turn answered, want 1", a.sends)
	}
	s.pass(5*time.Second - 1)
	a.expect()
	s.pass(1)
	a.expect("TIMED_OUT\r\n", "OK 22\r\n---\n- default\n- later\n\r\n")
}

// TestChainOfWaits has one turn set free a whole row of sessions, each by what
// the one before had in store.
func TestChainOfWaits(t *testing.T) {
	s := newScene(t, Config{Limits: Limits{MaxJobSize: 10}})
	const length = 100
	var row []*wire
	for i := range length {
		w := s.connect()
		s.turn(w.hears(fmt.Sprintf("watch t%d\r\nignore default\r\nuse t%d\r\nreserve\r\n%s", i, i+1, put("x"))))
		w.expect("WATCHING 2\r\n", "WATCHING 1\r\n", fmt.Sprintf("USING t%d\r\n", i+1))
		row = append(row, w)
	}
	first := s.connect()
	s.turn(first.hears("use t0\r\n" + put("x")))
	for i, w := range row {
		w.expect(fmt.Sprintf("RESERVED %d 1\r\nx\r\n", i+1), fmt.Sprintf("INSERTED %d\r\n", i+2))
	}
}

// TestKeptInputBounded has a client send on and on behind a reserve.
func TestKeptInputBounded(t *testing.T) {
	s := newScene(t, Config{Limits: Limits{MaxJobSize: 10}})
	a, b := s.connect(), s.connect()
	s.turn(a.hears("reserve\r\n"))
	const piece = 1 << 10
	line := "touch " + strings.Repeat("0", 58) + "\r\n" // 66 bytes, so pieces end within lines
	stream := strings.Repeat(line, 2*keptInput/len(line))
	taken := 0
	for a.Wants() {
		s.turn(a.hears(stream[taken : taken+piece]))
		taken += piece
	}
	if taken < keptInput || taken > keptInput+piece {
		t.Errorf("%d bytes were wanted, want about %d", taken, keptInput)
	}
	a.expect()
	if a.resumes != 0 {
		t.Error("Resume though nothing has changed")
	}
	s.turn(b.hears(put("job")))
	s.settle()
	if a.resumes != 1 || !a.Wants() {
		t.Errorf("%d calls of Resume, Wants is %t, want 1 and true", a.resumes, a.Wants())
	}
	if a.input != nil {
		t.Errorf("%d bytes kept, want none", cap(a.input))
	}
	s.turn(a.hears(stream[taken : (taken/len(line)+1)*len(line)]))
	a.expect("RESERVED 1 3\r\njob\r\n", strings.Repeat("NOT_FOUND\r\n", taken/len(line)+1))
}

// TestUnreadRepliesBounded has a client pipeline questions with large answers
// and read none. Later it reads, slowly, and gets every answer.
func TestUnreadRepliesBounded(t *testing.T) {
	const size, questions, bound = 50000, 200, 1 << 20
	s := newScene(t, Config{Limits: Limits{MaxJobSize: size}})
	s.hasty = true
	a, b := s.connect(), s.connect()
	body := strings.Repeat("b", size)
	s.turn(b.hears(put(body)))
	b.expect("INSERTED 1\r\n")
	a.room = 0
	input := strings.Repeat("peek 1\r\n", questions)
	for len(input) > 0 && a.Wants() {
		n := min(len(input), 100)
		s.turn(a.hears(input[:n]))
		input = input[n:]
		if len(a.output) > bound {
			t.Fatalf("%d bytes of output wait, want at most %d", len(a.output), bound)
		}
	}
	s.settle()
	a.expect()
	s.turn(b.hears("list-tube-used\r\n"))
	b.expect("USING default\r\n")

	want := "FOUND 1 50000\r\n" + body + "\r\n"
	answered := 0
	for turns := 0; answered < questions; turns++ {
		if turns > questions*size/9999+questions {
			t.Fatalf("%d of %d answers after %d turns", answered, questions, turns)
		}
		s.turn(a.takes(9999))
		s.settle()
		if cap(a.output) > 2*bound {
			t.Fatalf("a buffer of %d bytes, want at most %d", cap(a.output), 2*bound)
		}
		for len(a.got) >= len(want) {
			if string(a.got[:len(want)]) != want {
				t.Fatalf("answer %d is %s", answered, shorten(string(a.got[:len(want)])))
			}
			a.got = append(a.got[:0], a.got[len(want):]...)
			answered++
		}
	}
	a.expect()
	if a.output != nil || a.input != nil {
		t.Errorf("buffers of %d and %d bytes are left, want none", cap(a.output), cap(a.input))
	}
}

// TestIdleSessionSmall bounds what a session takes that has nothing to say,
// after much has gone through it.
func TestIdleSessionSmall(t *testing.T) {
	const sessions, most = 2000, 1500
	s := newScene(t, Config{Limits: Limits{MaxJobSize: 1 << 20}})
	s.hasty = true
	heap := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := heap()
	var all []*wire
	for range sessions {
		w := s.connect()
		s.turn(w.hears("list-tubes\r\nlist-"), w.hears("tubes\r\nreserve-with-timeout 0\r\n"))
		w.got = nil
		all = append(all, w)
	}
	if each := (heap() - before) / sessions; each > most {
		t.Errorf("an idle session takes %d bytes, want at most %d", each, most)
	}
	runtime.KeepAlive(all)
}
