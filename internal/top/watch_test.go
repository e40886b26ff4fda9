package top

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/haricotq/haricot/client"
	"github.com/haricotq/haricot/client/clienttest"
	"github.com/haricotq/haricot/internal/remote"
)

// watched is a watcher at work in a bubble, and a model that is told what it says.
type watched struct {
	t *testing.T
	*Model
	w *watcher
}

// watchServer watches a server of the test, from the bubble of the test.
func watchServer(t *testing.T, server *clienttest.Server) *watched {
	t.Helper()
	dial := func(ctx context.Context) (io.ReadWriteCloser, error) { return server.Dial(ctx, "", "") }
	conn, err := dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := newWatcher(dial, 2*time.Second)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.run(ctx, conn)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return &watched{t, modelOf(100, 40), w}
}

// until lets time pass, and events come, until a text is on the screen.
func (w *watched) until(text string) {
	w.t.Helper()
	late := time.After(time.Minute)
	for !strings.Contains(w.text(), text) {
		select {
		case e := <-w.w.events:
			w.Update(e)
		case <-late:
			w.t.Fatalf("%q never is on the screen, which is\n%s", text, w.text())
		}
	}
}

// keys presses keys, and has done what they ask for.
func (w *watched) keys(keys ...Key) {
	for _, r := range w.pressAll(keys...) {
		w.w.ask(r)
	}
}

// fill puts jobs into tubes.
func fill(t *testing.T, c *client.Conn, tubes map[string]int) {
	t.Helper()
	for tube, n := range tubes {
		if err := c.Use(t.Context(), tube); err != nil {
			t.Fatal(err)
		}
		for range n {
			if _, err := c.Put(t.Context(), []byte("body of "+tube)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := clienttest.NewServer(t)
		c := server.Conn(t)
		fill(t, c, map[string]int{"mail": 3, "print": 7})
		w := watchServer(t, server)
		w.until("ready 10")
		shows(t, w.Model, "print", "mail", "connections 2")

		fill(t, c, map[string]int{"mail": 20}) // in no time, and so in two seconds
		w.until("put 10.0")
		w.keys("d", "5", KeyEnter)
		w.until("every 5s")
		at := w.newest.At
		w.Update(<-w.w.events) // The interval being changed has it look at once.
		w.Update(<-w.w.events)
		if got := w.newest.At.Sub(at); got < 5*time.Second || got > 7*time.Second {
			t.Errorf("two looks take %v, want 5s and a little", got)
		}
	})
}

func TestWatchTube(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := clienttest.NewServer(t)
		c := server.Conn(t)
		fill(t, c, map[string]int{"mail": 3})
		for range 2 {
			if _, err := c.Put(t.Context(), []byte("later"), client.WithDelay(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		w := watchServer(t, server)
		w.until("ready 3")
		w.keys("/", "m", KeyEnter, KeyEnter)
		w.until("body of mail")
		shows(t, w.Model, "Next ready job: 1", "Next delayed job: 4", "later", "No buried job")
		w.keys("p")
		w.until("paused, left: forever")
		w.keys("p")
		w.until("resumed")
		w.keys("k", KeyBackspace, "1", KeyEnter)
		w.until("1 delayed jobs kicked")
		w.until("ready 4")
		w.keys("p", "k", KeyEnter)
		w.until("ready 5")
		w.keys(KeyEscape, KeyHome)

		// A tube without jobs goes when nobody uses it, the watcher neither.
		s := server.Conn(t)
		if err := s.Use(t.Context(), "mail"); err != nil {
			t.Fatal(err)
		}
		for {
			job, err := s.PeekReady(t.Context())
			if errors.Is(err, client.ErrNotFound) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Delete(t.Context(), job.ID); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(s.Close(), c.Close()); err != nil {
			t.Fatal(err)
		}
		w.until("0 of 1")
	})
}

func TestWatchRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := clienttest.NewServer(t)
		fill(t, server.Conn(t), map[string]int{"mail": 3})
		w := watchServer(t, server)
		w.until("ready 3")
		w.keys("N", "/", "m", KeyEnter, KeyEnter)
		w.until("body of mail")
		server.Stop()
		w.until("disconnected, trying again")
		w.keys("p")
		w.until("nothing done: there is no connection")
		w.keys("d", "1", KeyEnter)
		server.Start()
		w.until("not there any more")
		shows(t, w.Model, "!disconnected", "every 1s")
		fill(t, server.Conn(t), map[string]int{"mail": 1})
		w.until("body of mail") // It goes on looking into the tube.
		w.keys(KeyEscape)
		shows(t, w.Model, "NAME^", "filter m: 1 of 2")
	})
}

// TestWatchQuitsWhileServerIsSilent ends at once, though a reply is due.
func TestWatchQuitsWhileServerIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer there.Close()
		go io.Copy(io.Discard, there)
		w := newWatcher(nil, time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			w.run(ctx, here)
		}()
		synctest.Wait()
		cancel()
		<-ended
	})
}

// TestWatchManyTubes reads ten thousand of them; a thousand where time is short.
func TestWatchManyTubes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := clienttest.NewServer(t)
		conn, err := server.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		s := remote.New(conn)
		many := 10_000
		if testing.Short() {
			many = 1000
		}
		for i := range many {
			if _, err := s.Put(fmt.Sprintf("tube-%04d", i), remote.Properties{TTR: time.Minute}, nil); err != nil {
				t.Fatal(err)
			}
		}
		s.Close()
		w := watchServer(t, server)
		w.until(fmt.Sprintf("tubes %d", many+1))
		w.keys("N", KeyEnd)
		shows(t, w.Model, fmt.Sprintf("tube-%04d", many-1))
	})
}

func TestRefused(t *testing.T) {
	if !refused(fmt.Errorf("so: %w", remote.ErrNotFound)) || refused(io.ErrUnexpectedEOF) || refused(nil) {
		t.Error("refusals are taken for faults of the connection, or the other way round")
	}
}
