//go:build unix

package clienttest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/haricotq/haricot/client"
	"github.com/haricotq/haricot/client/clienttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a T whose failures are looked at.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failures []string
	cleanups []func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}
func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }

// record runs a test that may fail, and returns how it did.
func record(test func(tb testing.TB)) []string {
	r := &recorder{}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			for i := len(r.cleanups) - 1; i >= 0; i-- {
				r.cleanups[i]()
			}
		}()
		test(r)
	}()
	<-ended
	return r.failures
}

func TestServerInFakeTime(t *testing.T) {
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		pool := clienttest.NewServer(t).Pool(t, client.Config{})
		if _, err := pool.Put(t.Context(), "x", []byte("later"), client.WithDelay(24*time.Hour)); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		job, err := pool.Reserve(t.Context(), "x")
		if err != nil || time.Since(start) != 24*time.Hour {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if err := job.Delete(t.Context()); err != nil {
			t.Error(err)
		}
	})
	t.Logf("a day took %v", time.Since(began))
}

func TestServerStopsAndStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServerSize(t, 10)
		c := s.Conn(t)
		if _, err := c.Put(t.Context(), make([]byte, 11)); !errors.Is(err, client.ErrJobTooBig) {
			t.Error(err)
		}
		s.Stop()
		s.Stop()
		if _, err := c.Put(t.Context(), nil); !errors.Is(err, client.ErrClosed) {
			t.Error(err)
		}
		if failures := record(func(tb testing.TB) { s.Conn(tb) }); len(failures) != 1 {
			t.Errorf("connecting to a stopped server: %q", failures)
		}
		s.Start()
		s.Start()
		if _, err := s.Conn(t).Put(t.Context(), nil); err != nil {
			t.Error(err)
		}
	})
}

// BenchmarkServer says how long a server takes to start and end.
func BenchmarkServer(b *testing.B) {
	for b.Loop() {
		if failures := record(func(tb testing.TB) { clienttest.NewServer(tb) }); len(failures) > 0 {
			b.Fatal(failures)
		}
	}
}

func TestScript(t *testing.T) {
	s := clienttest.NewScript(t, `
		# The server fails once, and then the job comes.
		> use emails
		< USING emails
		> put 1024 0 60 7
		> a\x00 "b"\\
		cut

		> use emails
		< USING emails
		> put 1024 0 60 7
		> a\x00 "b"\\
		< INSERTED 12
	`)
	pool := s.Pool(t, client.Config{RepeatUncertainPuts: true})
	ref, err := pool.Put(t.Context(), "emails", []byte("a\x00 \"b\"\\"))
	if err != nil || ref.ID != 12 {
		t.Errorf("%v, %v", ref, err)
	}
}

func TestScriptOfACancelledReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewScript(t, "> reserve\neof")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		if _, err := s.Conn(t).Reserve(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func TestScriptFails(t *testing.T) {
	ctx := t.Context()
	for name, c := range map[string]struct {
		script string
		use    func(c *client.Conn)
		want   string
	}{
		"another command":  {"> delete 1\n< DELETED", func(c *client.Conn) { _ = c.Delete(ctx, 2) }, `line 1 of the script, > "delete 1\r\n": the client sent "delete 2\r\n"`},
		"left over":        {"> delete 1\n< DELETED\n> delete 2\n< DELETED", func(c *client.Conn) { _ = c.Delete(ctx, 1) }, `line 3 of the script, > "delete 2\r\n": EOF`},
		"more than wanted": {"> delete 1\n< DELETED", func(c *client.Conn) { _, _ = c.Delete(ctx, 1), c.Delete(ctx, 2) }, `behind the end of the script the client sent "delete 2\r\n"`},
		"malformed":        {"delete 1", func(*client.Conn) {}, "line 1 of the script"},
		"bad escape":       {`> \q`, func(*client.Conn) {}, "line 1 of the script"},
		"no connection":    {"", func(*client.Conn) {}, "expects no connection"},
	} {
		t.Run(name, func(t *testing.T) {
			short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			defer cancel()
			failures := record(func(tb testing.TB) {
				conn := clienttest.NewScript(tb, c.script).Conn(tb)
				stop := context.AfterFunc(short, func() { _ = conn.Close() })
				defer stop()
				c.use(conn)
				if name == "more than wanted" || name == "another command" {
					<-short.Done()
				}
			})
			if len(failures) == 0 || !strings.Contains(strings.Join(failures, "\n"), c.want) {
				t.Errorf("failures %q, want one with %q", failures, c.want)
			}
		})
	}
}
