package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestQuit(t *testing.T) {
	s := newScene(t, Config{Limits: Limits{MaxJobSize: 10}})
	a, b := s.connect(), s.connect()
	s.turn(a.hears(put("job")+"reserve\r\nquit\r\nuse behind\r\n"), b.hears("reserve\r\n"))
	s.settle()
	a.expect("INSERTED 1\r\n", "RESERVED 1 3\r\njob\r\n")
	a.expectClosed(true)
	b.expect("RESERVED 1 3\r\njob\r\n")
}

// TestQuitUnsent closes only when the last reply is sent.
func TestQuitUnsent(t *testing.T) {
	s := newScene(t, Config{})
	a := s.connect()
	a.room = 5
	s.turn(a.hears("list-tube-used\r\nquit\r\n"))
	a.expect("USING")
	a.expectClosed(false)
	if a.Wants() {
		t.Error("input is wanted after quit")
	}
	if got := s.engine.Sessions(); got != 1 {
		t.Errorf("%d sessions while output is left, want 1", got)
	}
	s.turn(a.takes(endless))
	a.expect(" default\r\n")
	a.expectClosed(true)
	if got := s.engine.Sessions(); got != 0 {
		t.Errorf("%d sessions, want 0", got)
	}
}

func TestEnd(t *testing.T) {
	s := newScene(t, Config{Limits: Limits{MaxJobSize: 10}})
	job := s.connect()
	tests := []struct{ name, before, want string }{
		{"idle", "", ""},
		{"behind commands", "use a\r\nlist-tube-used\r\n", "USING a\r\nUSING a\r\n"},
		{"in a line", "use a\r\nlist-tube-u", "USING a\r\n"},
		{"in a body", "put 0 0 1 5\r\nhel", ""},
		{"behind a body", "put 0 0 1 5\r\nhello\r", ""},
		{"in a refused body", "put 0 0 1 11\r\nhel", ""},
		{"in a wait", "reserve\r\n", "TIMED_OUT\r\n"},
		{
			"in a wait, commands behind", "reserve\r\nuse b\r\nreserve-with-timeout 9\r\nlist-tubes\r\nquit\r\nuse c\r\n",
			"TIMED_OUT\r\nUSING b\r\nTIMED_OUT\r\nOK 18\r\n---\n- default\n- b\n\r\n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, together := range []bool{true, false} {
				a := s.connect()
				a.t = t
				if together {
					s.turn(a.hears(test.before), a.End)
				} else {
					s.turn(a.hears(test.before))
					s.turn(a.End)
				}
				s.settle()
				a.expect(test.want)
				a.expectClosed(true)
			}
		})
	}
	s.turn(job.hears("peek 1\r\n" + put("first")))
	job.t = t
	job.expect("NOT_FOUND\r\n", "INSERTED 5\r\n") // the bodies that did not come took 1 to 4
}

// TestEndHeldUp ends a session whose client does not read, with commands left:
// they are carried out and answered as it reads.
func TestEndHeldUp(t *testing.T) {
	const size, questions = 50000, 20
	s := newScene(t, Config{Limits: Limits{MaxJobSize: size}})
	a := s.connect()
	body := strings.Repeat("b", size)
	a.room = 0
	s.turn(a.hears(put(body)), a.hears(strings.Repeat("peek 1\r\n", questions)+"use last\r\n"), a.End)
	s.settle()
	a.expectClosed(false)
	if a.Wants() {
		t.Error("input is wanted after the end")
	}
	for a.closes == 0 {
		s.turn(a.takes(size))
		s.settle()
	}
	a.expect("INSERTED 1\r\n", strings.Repeat("FOUND 1 50000\r\n"+body+"\r\n", questions), "USING last\r\n")
	if a.resumes != 0 {
		t.Error("input is asked for after the end")
	}
}

// TestHalfClose ends a wait at once, and no later reserve waits; what was sent
// before the client closed its side and arrives later is carried out.
func TestHalfClose(t *testing.T) {
	s := newScene(t, Config{Limits: Limits{MaxJobSize: 10}})
	a, b := s.connect(), s.connect()
	s.turn(a.hears("reserve\r\nuse b\r\n"))
	s.turn(a.HalfClose)
	a.expect("TIMED_OUT\r\n", "USING b\r\n")
	s.turn(a.HalfClose)
	s.turn(a.hears("reserve\r\n"), b.hears(put("job")))
	a.expect("TIMED_OUT\r\n")
	s.turn(a.hears("reserve\r\n"))
	a.expect("RESERVED 1 3\r\njob\r\n")
	a.expectClosed(false)
	s.turn(a.End, b.hears("reserve\r\n"))
	s.settle()
	a.expectClosed(true)
	b.expect("INSERTED 1\r\n", "RESERVED 1 3\r\njob\r\n")
}

func TestStop(t *testing.T) {
	s := newScene(t, Config{Limits: Limits{MaxJobSize: 10}})
	tests := []struct{ name, before, soon, after, later string }{
		{"idle", "use a\r\n", "USING a\r\n", "", ""},
		{"in a wait", "reserve\r\n", "TIMED_OUT\r\n", "", ""},
		{"in a wait, commands behind", "reserve\r\nuse a\r\nreserve\r\n", "TIMED_OUT\r\nUSING a\r\nTIMED_OUT\r\n", "", ""},
		{"in a wait, half a command behind", "reserve\r\nlist-tu", "TIMED_OUT\r\n", "be-used\r\n", "USING default\r\n"},
		{"in a line", "list-tube", "", "-used\r\n", "USING default\r\n"},
		{"in a refused body", "put 0 0 1 11\r\n12345", "", "678901\r\n", "JOB_TOO_BIG\r\n"},
		{"before a CRLF", "put 0 0 1 3\r\n123", "", "45", "EXPECTED_CRLF\r\n"},
		{"in an overlong line", strings.Repeat("x", 500), "", "x\r\n", "BAD_FORMAT\r\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := s.connect()
			a.t = t
			s.turn(a.hears(test.before))
			s.turn(a.Stop)
			s.settle()
			a.expect(test.soon)
			a.expectClosed(test.after == "")
			if test.after != "" {
				s.turn(a.Stop) // told again, as it is whenever nothing is left to read
				a.expectClosed(false)
				s.turn(a.hears(test.after))
				a.expect(test.later)
				a.expectClosed(true)
			}
		})
	}
}

// TestStopMidwayOfPut completes the put, answers it, and then closes.
func TestStopMidwayOfPut(t *testing.T) {
	s := newScene(t, Config{Limits: Limits{MaxJobSize: 10}})
	a, b := s.connect(), s.connect()
	s.turn(a.hears("put 0 0 60 6\r\nabc"))
	s.turn(a.Stop)
	if !a.Wants() {
		t.Error("the rest of the put is not wanted")
	}
	s.turn(a.hears("def"))
	a.expect()
	a.expectClosed(false)
	s.turn(a.hears("\r\n"))
	a.expect("INSERTED 1\r\n")
	a.expectClosed(true)
	s.turn(b.hears("peek 1\r\n"))
	b.expect("FOUND 1 6\r\nabcdef\r\n")
}

// TestDropMidwayOfPut forgets the put and gives its memory back.
func TestDropMidwayOfPut(t *testing.T) {
	const limit = 1 << 20
	s := newScene(t, Config{Limits: Limits{MaxJobSize: limit, Memory: 8 << 20}})
	for range 100 { // far more than there is room for
		a := s.connect()
		s.turn(a.hears(fmt.Sprintf("put 0 0 60 %d\r\n%s", limit, strings.Repeat("x", 100))))
		a.expect()
		s.turn(a.Drop)
		a.expect()
		a.expectClosed(true)
		if a.decoder.Midway() {
			t.Fatal("the decoder still has the memory of the body")
		}
	}
	b := s.connect()
	s.turn(b.hears("peek 1\r\npeek 100\r\n" + put(strings.Repeat("y", 100)) + "peek-ready\r\n"))
	b.expect("NOT_FOUND\r\n", "NOT_FOUND\r\n", "INSERTED 101\r\n", "FOUND 101 100\r\n", strings.Repeat("y", 100), "\r\n")
}

// TestDropForgetsReplies sends nothing that was said in the turn of the drop.
func TestDropForgetsReplies(t *testing.T) {
	s := newScene(t, Config{Limits: Limits{MaxJobSize: 10}})
	a, b := s.connect(), s.connect()
	s.turn(b.hears("reserve\r\n"))
	s.turn(a.hears(put("job")+"list-tube-used\r\n"), b.Drop, a.Drop)
	a.expect()
	b.expect()
	if a.output != nil || b.output != nil {
		t.Error("output of a session that has ended is kept")
	}
	s.settle()
	c := s.connect()
	s.turn(c.hears("reserve\r\n"))
	c.expect("RESERVED 1 3\r\njob\r\n")
	a.expect()
}

// TestDropsWhileOthersAreSent breaks every second of many connections in the
// turn in which all have something to be sent.
func TestDropsWhileOthersAreSent(t *testing.T) {
	const pairs = 50
	s := newScene(t, Config{Limits: Limits{MaxJobSize: 10}})
	producer := s.connect()
	var holders, waiters []*wire
	for range pairs {
		h, w := s.connect(), s.connect()
		s.turn(producer.hears(put("job")))
		s.turn(h.hears("reserve\r\n"))
		h.got = nil
		holders, waiters = append(holders, h), append(waiters, w)
	}
	events := []func(){}
	for i := range pairs {
		events = append(events, holders[i].hears("list-tube-used\r\n"), waiters[i].hears("list-tube-used\r\nreserve\r\n"))
		holders[i].fault = fmt.Errorf("broken %d", i)
	}
	s.turn(events...)
	s.settle()
	for i := range pairs {
		holders[i].expectClosed(true)
		waiters[i].expect("USING default\r\n", fmt.Sprintf("RESERVED %d 3\r\njob\r\n", i+1))
	}
	if got := s.engine.Sessions(); got != pairs+1 {
		t.Errorf("%d sessions, want %d", got, pairs+1)
	}
}

// TestNumbersUsedAgain gives a session the number of one that has gone while
// that one still has something to send.
func TestNumbersUsedAgain(t *testing.T) {
	s := newScene(t, Config{})
	a := s.connect()
	a.room = 0
	s.turn(a.hears("list-tube-used\r\nquit\r\n"))
	b := s.connect()
	s.turn(b.hears("use b\r\nreserve-with-timeout 1\r\n"))
	s.turn(a.takes(endless))
	s.pass(time.Second)
	a.expect("USING default\r\n")
	b.expect("USING b\r\n", "TIMED_OUT\r\n")
}
