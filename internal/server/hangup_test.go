package server

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// manyCommands are more than a session keeps, and no more than the system keeps
// besides: of more, it would not see the end.
var manyCommands = strings.Repeat("touch 1\r\n", 11000)

// TestHangUpWhileWaiting has a worker go away while it waits, with commands
// sent in advance: it is noticed at once, and the next job is another's.
func TestHangUpWhileWaiting(t *testing.T) {
	ways := []struct {
		name string
		end  func(*client)
	}{
		{"close", func(c *client) { c.conn.Close() }},
		{"half-close", func(c *client) { c.halfClose() }},
		{"reset", func(c *client) { c.reset() }},
	}
	behind := []struct{ name, text string }{
		{"nothing behind", ""},
		{"half a command behind", "use a"},
		{"commands behind", "use a\r\nreserve\r\n"},
		{"many commands behind", manyCommands},
	}
	everywhere(t, func(t *testing.T, w setting) {
		s := w.open(t, Config{})
		producer := s.client()
		id := 0
		for _, way := range ways {
			for _, b := range behind {
				if w.portable && len(b.text) > 64<<10 {
					continue // see TestHangUpUnseen
				}
				t.Log(way.name, b.name)
				first, second := s.client(), s.client()
				first.send("reserve\r\n")
				producer.until("current-waiting", 1)
				second.send("reserve\r\n")
				producer.until("current-waiting", 2)
				first.push(b.text)
				way.end(first)
				producer.until("current-waiting", 1)
				id++
				producer.ask(put("x"), insertions(id, id))
				second.expect("RESERVED " + strconv.Itoa(id) + " 1\r\nx\r\n")
				second.ask("delete "+strconv.Itoa(id)+"\r\nquit\r\n", "DELETED\r\n")
				second.expectEnd()
				first.conn.Close()
				producer.until("current-connections", 1)
			}
		}
	})
}

// TestHangUpUnseen is about streams that have so much behind a reserve that
// they are not read. The job that the dead client gets goes on to the next.
func TestHangUpUnseen(t *testing.T) {
	everywhere(t, func(t *testing.T, w setting) {
		s := w.open(t, Config{})
		producer, first, second := s.client(), s.client(), s.client()
		first.send("reserve\r\n" + manyCommands)
		producer.until("current-waiting", 1)
		second.send("reserve\r\n")
		producer.until("current-waiting", 2)
		first.conn.Close()
		producer.ask(put("x"), insertions(1, 1))
		second.expect("RESERVED 1 1\r\nx\r\n")
		producer.until("current-connections", 2)
	})
}

func TestHalfClose(t *testing.T) {
	tests := []struct{ name, input, want string }{
		{"nothing", "", ""},
		{
			"commands", "use a\r\n" + put("x") + "peek 1\r\nwatch a\r\nreserve\r\n",
			"USING a\r\nINSERTED 1\r\nFOUND 1 1\r\nx\r\nWATCHING 2\r\nRESERVED 1 1\r\nx\r\n",
		},
		{"waits", "reserve\r\nreserve-with-timeout 100\r\nlist-tube-used\r\n", "TIMED_OUT\r\nTIMED_OUT\r\nUSING default\r\n"},
		{"half a line", "use a\r\nuse b", "USING a\r\n"},
		{"half a put", "use a\r\nput 0 0 1 5\r\n123", "USING a\r\n"},
		{"many commands", strings.Repeat("use a\r\n", 50000), strings.Repeat("USING a\r\n", 50000)},
	}
	everywhere(t, func(t *testing.T, w setting) {
		for _, test := range tests {
			s := w.open(t, Config{})
			c := s.client()
			go func() {
				c.conn.Write([]byte(test.input))
				c.halfClose()
			}()
			if got := c.rest(); got != test.want {
				t.Errorf("%s: got %.300q, want %.300q", test.name, got, test.want)
			}
			other := s.client()
			if got := other.stat("current-jobs-reserved") + other.stat("current-connections"); got != 1 {
				t.Errorf("%s: %d jobs and connections, want 1", test.name, got)
			}
			s.stop()
		}
	})
}

// TestHalfCloseLater ends a wait that is under way.
func TestHalfCloseLater(t *testing.T) {
	everywhere(t, func(t *testing.T, w setting) {
		s := w.open(t, Config{})
		a, b := s.client(), s.client()
		a.send("reserve\r\nlist-tube-used\r\n")
		b.until("current-waiting", 1)
		start := time.Now()
		a.halfClose()
		a.expect("TIMED_OUT\r\nUSING default\r\n")
		a.expectEnd()
		if w.fakeTime() && time.Since(start) > 0 {
			t.Errorf("the answer took %v", time.Since(start))
		}
	})
}

// TestCloseWithoutReading has a client send puts, and go without having read a
// reply. Those puts that arrive count in full or not at all.
func TestCloseWithoutReading(t *testing.T) {
	const puts = 3000
	everywhere(t, func(t *testing.T, w setting) {
		s := w.open(t, Config{})
		a, b := s.client(), s.client()
		b.ask("list-tube-used\r\n", "USING default\r\n")
		a.send("use a\r\n" + strings.Repeat(put("body"), puts) + "put 0 0 1 4\r\nbo")
		a.conn.Close()
		b.until("current-connections", 1)
		jobs := b.stat("total-jobs")
		if ready := b.stat("current-jobs-ready"); jobs != ready || jobs > puts {
			t.Errorf("%d jobs were put and %d are ready, of %d", jobs, ready, puts)
		}
		if jobs == 0 {
			t.Error("no put was carried out")
		}
		b.ask("use a\r\npeek-ready\r\n", "USING a\r\nFOUND 1 4\r\nbody\r\n")
		t.Logf("%d of %d puts were carried out", jobs, puts)
	})
}

// TestJobsOfTheGone go back in the order in which they were reserved.
func TestJobsOfTheGone(t *testing.T) {
	everywhere(t, func(t *testing.T, w setting) {
		s := w.open(t, Config{})
		a, b := s.client(), s.client()
		a.ask(put("x")+put("y")+"reserve\r\nreserve\r\n", insertions(1, 2)+"RESERVED 1 1\r\nx\r\nRESERVED 2 1\r\ny\r\n")
		b.send("reserve\r\nreserve\r\n")
		a.until("current-waiting", 1)
		a.reset()
		b.expect("RESERVED 1 1\r\nx\r\nRESERVED 2 1\r\ny\r\n")
	})
}
