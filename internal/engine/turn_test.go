package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// TestOneSendPerTurn answers a thousand puts in one piece.
func TestOneSendPerTurn(t *testing.T) {
	const puts = 1000
	s := newScene(t, Config{Limits: Limits{MaxJobSize: 10}})
	s.hasty = true
	a, b := s.connect(), s.connect()
	var want strings.Builder
	for i := range puts {
		fmt.Fprintf(&want, "INSERTED %d\r\n", i+1)
	}
	batch := strings.Repeat(put("x"), puts)
	half := len(batch)/2 + 3
	s.turn(a.hears(batch[:half]), a.hears(batch[half:]), b.hears("reserve\r\nreserve\r\n"))
	a.expect(want.String())
	b.expect("RESERVED 1 1\r\nx\r\n", "RESERVED 2 1\r\nx\r\n")
	if a.sends != 1 || b.sends != 1 {
		t.Errorf("%d and %d Sends in a turn, want 1 each", a.sends, b.sends)
	}
}

// TestNoReplyBeforeFinish is what durability will stand on.
func TestNoReplyBeforeFinish(t *testing.T) {
	s := newScene(t, Config{Limits: Limits{MaxJobSize: 10}})
	a, b := s.connect(), s.connect()
	s.turn(a.hears("reserve\r\n"))
	s.engine.Begin(s.now)
	b.hears(put("job") + "quit\r\n")()
	b.End()
	if a.sends+b.sends+b.closes > 0 {
		t.Errorf("something was sent or closed before Finish")
	}
	if err := s.engine.Finish(); err != nil {
		t.Fatal(err)
	}
	a.expect("RESERVED 1 3\r\njob\r\n")
	b.expect("INSERTED 1\r\n")
	b.expectClosed(true)
}

// TestWait tells how long the engine can be left alone.
func TestWait(t *testing.T) {
	s := newScene(t, Config{Limits: Limits{MaxJobSize: 10}})
	wait := func(want time.Duration, wantOK bool) {
		t.Helper()
		if got, ok := s.engine.Wait(s.now); got != want && ok || ok != wantOK {
			t.Fatalf("Wait is %v, %t, want %v, %t", got, ok, want, wantOK)
		}
	}
	wait(0, false)
	a, b := s.connect(), s.connect()
	s.turn(a.hears("list-tube-used\r\n"))
	wait(0, false)
	s.turn(a.hears("reserve-with-timeout 20\r\n"))
	wait(20*time.Second, true)
	s.turn(b.hears("use other\r\nput 0 7 60 0\r\n\r\n"))
	wait(7*time.Second, true)
	s.pass(3 * time.Second)
	wait(4*time.Second, true)
	s.pass(4 * time.Second)
	wait(13*time.Second, true)
	s.now += queue.Instant(14 * time.Second)
	wait(0, true)
	s.turn()
	wait(0, false)
	s.turn(b.hears("reserve\r\n"))
	wait(0, false)
}

// TestTimeIsTold holds the engine to the time it is told, from the dawn of time
// to its end.
func TestTimeIsTold(t *testing.T) {
	s := newScene(t, Config{Limits: Limits{MaxJobSize: 10}})
	a, b := s.connect(), s.connect()
	s.turn(a.hears("put 0 100 5 1\r\nx\r\n"), b.hears("reserve\r\n"))
	s.pass(100*time.Second - 1)
	b.expect()
	s.pass(1)
	b.expect("RESERVED 1 1\r\nx\r\n")
	s.turn(b.hears("reserve\r\n"), a.hears("reserve\r\n"))
	s.pass(4*time.Second - 1)
	b.expect()
	s.pass(1)
	b.expect("DEADLINE_SOON\r\n")
	a.expect("INSERTED 1\r\n")
	s.pass(time.Second)
	a.expect("RESERVED 1 1\r\nx\r\n")
	s.turn(a.hears("release 1 0 4294967295\r\n"))
	s.pass(4294967294 * time.Second)
	s.turn(a.hears("reserve-with-timeout 0\r\n"))
	a.expect("RELEASED\r\n", "TIMED_OUT\r\n")
	s.pass(time.Second)
	s.turn(a.hears("reserve-with-timeout 0\r\n"))
	a.expect("RESERVED 1 1\r\nx\r\n")
}

// TestStormInPortions has many jobs fall due at once: each turn attends to a
// thousand, clients are answered between, and in the end all are ready.
func TestStormInPortions(t *testing.T) {
	const storm = 10 * dueBudget
	s := newScene(t, Config{Limits: Limits{MaxJobSize: 10}})
	s.hasty = true
	a, b := s.connect(), s.connect()
	s.turn(b.hears("watch storm\r\nignore default\r\n"), a.hears("use storm\r\n"+strings.Repeat("put 9 10 60 0\r\n\r\n", storm)))
	s.settle()
	b.got, a.got = nil, nil
	s.now += queue.Instant(10 * time.Second)
	for turn := 1; turn <= storm/dueBudget; turn++ {
		if d, ok := s.engine.Wait(s.now); !ok || d != 0 {
			t.Fatalf("Wait is %v, %t with a storm under way", d, ok)
		}
		s.turn(a.hears("stats-tube storm\r\n"))
		if ready := fmt.Sprintf("\ncurrent-jobs-ready: %d\n", turn*dueBudget); !strings.Contains(string(a.got), ready) {
			t.Fatalf("turn %d: want %q in\n%s", turn, ready, a.got)
		}
		a.got = nil
	}
	s.settle()
	var want strings.Builder
	for i := range storm {
		fmt.Fprintf(&want, "RESERVED %d 0\r\n\r\n", i+1)
	}
	s.turn(b.hears(strings.Repeat("reserve\r\n", storm)))
	s.settle()
	b.expect(want.String())
}

// TestStormOfWaits has more clients' time run out at once than a turn attends to.
func TestStormOfWaits(t *testing.T) {
	const clients = 2*dueBudget + 10
	s := newScene(t, Config{})
	s.hasty = true
	var all []*wire
	for range clients {
		w := s.connect()
		s.turn(w.hears("reserve-with-timeout 3\r\nlist-tube-used\r\n"))
		all = append(all, w)
	}
	s.now += queue.Instant(3 * time.Second)
	s.turn()
	answered := 0
	for _, w := range all {
		answered += w.sends
	}
	if answered != dueBudget {
		t.Errorf("a turn answered %d, want %d", answered, dueBudget)
	}
	s.settle()
	for _, w := range all {
		w.expect("TIMED_OUT\r\n", "USING default\r\n")
	}
}

// TestStatsDocument asks for the process's part at each stats, and once.
func TestStatsDocument(t *testing.T) {
	asked := 0
	s := newScene(t, Config{Process: func() protocol.ProcessStats {
		asked++
		return protocol.ProcessStats{PID: 4711, Hostname: "here", Uptime: time.Duration(asked) * time.Second}
	}})
	a := s.connect()
	s.turn(a.hears("stats\r\nlist-tube-used\r\nstats\r\n"))
	text := string(a.got)
	for _, want := range []string{"\npid: 4711\n", "\nhostname: here\n", "\nuptime: 1\n", "\nuptime: 2\n", "\ncmd-stats: 2\n", "\r\nUSING default\r\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if asked != 2 {
		t.Errorf("the process was asked %d times, want 2", asked)
	}
}

// TestDraining refuses puts as long as it lasts, and reads their bodies.
func TestDraining(t *testing.T) {
	s := newScene(t, Config{Limits: Limits{MaxJobSize: 10}})
	a := s.connect()
	s.engine.SetDraining(true)
	s.turn(a.hears(put("list-tubes") + "list-tube-used\r\n"))
	a.expect("DRAINING\r\n", "USING default\r\n")
	s.engine.SetDraining(false)
	s.turn(a.hears(put("job")))
	a.expect("INSERTED 2\r\n")
}

// TestHugePutRefused counts all 4 GiB of a put that is refused, and not one
// byte more.
func TestHugePutRefused(t *testing.T) {
	s := newScene(t, Config{Limits: Limits{MaxJobSize: protocol.DefaultMaxJobSize}})
	a := s.connect()
	s.turn(a.hears("put 0 0 60 4294967295\r\n"))
	piece := make([]byte, 64<<10)
	const whole = 1<<32 - 1 + len("\r\n")
	left := whole
	for ; left > len(piece); left -= len(piece) {
		a.Receive(piece)
	}
	s.turn(a.hears(string(piece[:left-1])))
	a.expect()
	if a.input != nil {
		t.Errorf("%d bytes kept of a put that is thrown away", len(a.input))
	}
	s.turn(a.hears("xlist-tube-used\r\n"))
	a.expect("JOB_TOO_BIG\r\n", "USING default\r\n")
}
