//go:build unix

package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/haricotq/haricot/client"
	"github.com/haricotq/haricot/client/clienttest"
)

// TestConcurrentPuts has many goroutines put to many tubes over one pool, and looks
// for every job in its tube, once.
func TestConcurrentPuts(t *testing.T) {
	eachServer(t, func(t *testing.T, s *target) {
		ctx := patient(t)
		pr := startProxy(t, s)
		p := newPool(t, client.Config{Servers: []string{pr.address()}})
		const producers, each, tubes = 40, 50, 3
		var wg sync.WaitGroup
		refs := make(chan client.Ref, producers*each)
		for i := range producers {
			wg.Go(func() {
				for n := range each {
					tube := "t" + strconv.Itoa((i+n)%tubes)
					ref, err := p.Put(ctx, tube, []byte(tube+" "+strconv.Itoa(i*each+n)))
					if err != nil {
						t.Error(err)
					}
					refs <- ref
				}
			})
		}
		wg.Wait()
		close(refs)
		if n := pr.connections(); n != 1 {
			t.Errorf("%d connections, want the puts to share one", n)
		}
		ids, bodies := make(map[uint64]bool), make(map[string]bool)
		for ref := range refs {
			ids[ref.ID] = true
		}
		for i := range tubes {
			tube := "t" + strconv.Itoa(i)
			for {
				job, err := reserveNow(ctx, p, tube)
				if errors.Is(err, client.ErrTimedOut) {
					break
				}
				must(t, err)
				if !ids[job.ID] || bodies[string(job.Body)] || !bytes.HasPrefix(job.Body, []byte(tube+" ")) {
					t.Errorf("job %d %q in tube %s", job.ID, job.Body, tube)
				}
				bodies[string(job.Body)] = true
				must(t, job.Delete(ctx))
			}
		}
		if len(bodies) != producers*each {
			t.Errorf("%d jobs, want %d", len(bodies), producers*each)
		}
	})
}

// reserveNow takes a job that is ready, or hardly waits.
func reserveNow(ctx context.Context, p *client.Pool, tubes ...string) (*client.Job, error) {
	ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	return p.Reserve(ctx, tubes...)
}

func TestSeveralServers(t *testing.T) {
	eachServer(t, func(t *testing.T, one *target) {
		ctx := patient(t)
		two := startHaricot(t)
		p := newPool(t, client.Config{Servers: []string{one.address(), two.address()}})
		at := make(map[string]int)
		refs := make(map[client.Ref]bool)
		for range 10 {
			ref, err := p.Put(ctx, "x", []byte("job"))
			must(t, err)
			at[ref.Server]++
			refs[ref] = true
			if peeked, err := p.Peek(ctx, ref); err != nil || peeked.ID != ref.ID {
				t.Errorf("%v: %v, %v", ref, peeked, err)
			}
		}
		if at[one.address()] != 5 || at[two.address()] != 5 {
			t.Errorf("jobs at servers: %v", at)
		}
		for range 10 {
			job, err := p.Reserve(ctx, "x")
			must(t, err)
			if !refs[job.Ref()] {
				t.Errorf("reserved %v, which was not put", job.Ref())
			}
			delete(refs, job.Ref())
			must(t, job.Delete(ctx))
		}
		// Waiting at both, the job may come at either.
		for _, s := range []*target{one, two} {
			producer := dial(t, s.address())
			must(t, producer.Use(ctx, "x"))
			time.AfterFunc(30*time.Millisecond, func() { _, _ = producer.Put(ctx, []byte("job")) })
			job, err := p.Reserve(ctx, "x")
			must(t, err)
			if job.Server() != s.address() {
				t.Errorf("reserved from %s, want %s", job.Server(), s.address())
			}
			must(t, job.Delete(ctx))
		}
		_, err := reserveNow(ctx, p, "x")
		wantError(t, err, client.ErrTimedOut)
		// One server down: everything goes to the other one.
		two.stop()
		for range 4 {
			ref, err := p.Put(ctx, "x", []byte("job"))
			if errors.Is(err, client.ErrUncertain) {
				continue // it was on its way when the server went down
			}
			must(t, err)
			if ref.Server != one.address() {
				t.Errorf("put to %s", ref.Server)
			}
			job, err := p.Reserve(ctx, "x")
			must(t, err)
			must(t, job.Delete(ctx))
		}
	})
}

// TestJobsOfTwoServersAtOnce has both servers hand out a job to the same Reserve: the
// one that is not returned is there for the next.
func TestJobsOfTwoServersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := []*clienttest.Server{clienttest.NewServer(t), clienttest.NewServer(t)}
		p := clienttest.Pool(t, client.Config{}, servers...)
		var producers []*client.Conn
		for _, s := range servers {
			producers = append(producers, s.Conn(t))
		}
		for range 30 {
			for _, producer := range producers {
				time.AfterFunc(time.Second, func() { _, _ = producer.Put(t.Context(), nil) })
			}
			began := time.Now()
			from := make(map[string]bool)
			for range 2 {
				job, err := p.Reserve(t.Context())
				must(t, err)
				from[job.Server()] = true
				must(t, job.Delete(t.Context()))
			}
			if took := time.Since(began); len(from) != 2 || took != time.Second {
				t.Fatalf("jobs from %v after %v", from, took)
			}
		}
	})
}

func TestPoolThroughRestart(t *testing.T) {
	eachServer(t, func(t *testing.T, s *target) {
		ctx := patient(t)
		p := newPool(t, client.Config{Servers: []string{s.address()}, Reconnect: client.Backoff{Max: 50 * time.Millisecond}})
		_, err := p.Put(ctx, "x", []byte("before"))
		must(t, err)
		waited := make(chan *client.Job, 1)
		go func() {
			job, err := p.Reserve(ctx, "y", "z")
			if err != nil {
				t.Error(err)
			}
			waited <- job
		}()
		time.Sleep(80 * time.Millisecond) //nolint:forbidigo // longer than the silence after which a socket is looked at
		s.stop()
		// While it is down, a put waits as long as its context and is then withdrawn.
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		_, err = p.Put(short, "x", []byte("withdrawn"))
		cancel()
		wantError(t, err, context.DeadlineExceeded)
		if errors.Is(err, client.ErrUncertain) {
			t.Errorf("%v, though nothing was sent", err)
		}
		put := make(chan error, 1)
		go func() {
			_, err := p.Put(ctx, "z", []byte("after"))
			put <- err
		}()
		s.start()
		must(t, <-put)
		job := <-waited
		if job == nil || string(job.Body) != "after" {
			t.Fatalf("reserved %+v", job)
		}
		must(t, job.Delete(ctx))
		if !s.lasting {
			return
		}
		job, err = p.Reserve(ctx, "x")
		must(t, err)
		if string(job.Body) != "before" {
			t.Errorf("reserved %q", job.Body)
		}
		must(t, job.Delete(ctx))
		_, err = reserveNow(ctx, p, "x")
		wantError(t, err, client.ErrTimedOut)
	})
}

func TestPutsWithoutReply(t *testing.T) {
	eachServer(t, func(t *testing.T, s *target) {
		ctx := patient(t)
		for _, repeat := range []bool{false, true} {
			pr := startProxy(t, s)
			p := newPool(t, client.Config{Servers: []string{pr.address()}, RepeatUncertainPuts: repeat})
			tube := fmt.Sprint(repeat)
			_, err := p.Put(ctx, tube, []byte("warm up"))
			must(t, err)
			pr.mute.Store(true)
			time.AfterFunc(50*time.Millisecond, func() {
				pr.mute.Store(false)
				pr.cut()
			})
			_, err = p.Put(ctx, tube, []byte("job"))
			if repeat {
				must(t, err)
			} else {
				wantError(t, err, client.ErrUncertain)
			}
			want := uint64(2) // the warm-up and the one without a reply
			if repeat {
				want = 3
			}
			if stats, err := dial(t, s.address()).StatsTube(ctx, tube); err != nil || stats.Jobs.Ready != want {
				t.Errorf("repeat %v: %+v jobs, %v, want %d", repeat, stats, err, want)
			}
		}
	})
}

func TestLargeBodiesAndPutAll(t *testing.T) {
	eachServer(t, func(t *testing.T, s *target) {
		ctx := patient(t)
		p := newPool(t, client.Config{Servers: []string{s.address()}})
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				body := bytes.Repeat([]byte{byte(i)}, 60000)
				ref, err := p.Put(ctx, "large", body)
				if err != nil {
					t.Error(err)
					return
				}
				peeked, err := p.Peek(ctx, ref)
				if err != nil || !bytes.Equal(peeked.Body, body) {
					t.Errorf("%v: %d bytes, %v", ref, len(peeked.Body), err)
				}
				if err := p.Delete(ctx, ref); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		refs, err := p.PutAll(ctx, "batch", [][]byte{[]byte("a"), make([]byte, 70000), []byte("c")})
		wantError(t, err, client.ErrJobTooBig)
		if len(refs) != 3 || refs[0].ID == 0 || refs[1].ID != 0 || refs[2].ID == 0 || refs[0].Server != s.address() {
			t.Errorf("%v", refs)
		}
		_, err = p.Put(ctx, "batch", make([]byte, 70000))
		wantError(t, err, client.ErrJobTooBig)
		_, err = p.Put(ctx, "no tube", nil)
		wantError(t, err, client.ErrTubeName)
		wantError(t, p.Delete(ctx, client.Ref{Server: s.address(), ID: 1 << 40}), client.ErrNotFound)
		if err := p.Delete(ctx, client.Ref{Server: "elsewhere", ID: 1}); err == nil {
			t.Error("deleted at a server that the pool does not have")
		}
	})
}

func TestPoolReservesBatches(t *testing.T) {
	eachServer(t, func(t *testing.T, s *target) {
		ctx := patient(t)
		pr := startProxy(t, s)
		p := newPool(t, client.Config{Servers: []string{pr.address()}})
		for range 3 {
			_, err := p.PutAll(ctx, "x", make([][]byte, 20))
			must(t, err)
			jobs, err := p.ReserveAll(ctx, 15, "x")
			must(t, err)
			rest, err := p.ReserveAll(ctx, 15, "x")
			must(t, err)
			if len(jobs) != 15 || len(rest) != 5 || rest[4].Tube != "x" {
				t.Errorf("%d and %d jobs", len(jobs), len(rest))
			}
			must(t, client.DeleteAll(ctx, append(jobs, rest...)...))
		}
		if n := pr.connections(); n != 2 {
			t.Errorf("%d connections, want two that are used again", n)
		}
	})
}

func TestDrainingServerIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := clienttest.NewServer(t), clienttest.NewServer(t)
		p := clienttest.Pool(t, client.Config{}, one, two)
		one.Drain(true)
		for range 4 {
			ref, err := p.Put(t.Context(), "x", nil)
			must(t, err)
			if ref.Server != p.Servers()[1] {
				t.Errorf("put to %v", ref)
			}
		}
		two.Drain(true)
		_, err := p.Put(t.Context(), "x", nil)
		wantError(t, err, client.ErrDraining)
		one.Drain(false)
		_, err = p.PutAll(t.Context(), "x", make([][]byte, 3))
		must(t, err)
	})
}

func TestReconnectBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		var attempts atomic.Int64
		p := s.Pool(t, client.Config{
			Reconnect: client.Backoff{Min: time.Second, Max: 8 * time.Second, Jitter: 0.1},
			Hooks:     client.PoolHooks{ConnectFailed: func(string, error) { attempts.Add(1) }},
		})
		s.Stop()
		began := time.Now()
		time.AfterFunc(60*time.Second, s.Start)
		var wg sync.WaitGroup
		for range 20 { // many that wait count as one that tries
			wg.Go(func() {
				if _, err := p.Put(t.Context(), "x", nil); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(began); took < 60*time.Second || took > 68*time.Second {
			t.Errorf("put after %v, want 60s and at most one wait more", took)
		}
		// 1+2+4+8+8+8+8+8+8+8 seconds, less some jitter.
		if n := attempts.Load(); n < 9 || n > 30 {
			t.Errorf("%d attempts in 60 s", n)
		}
	})
}

func TestPoolClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		p := s.Pool(t, client.Config{})
		_, err := p.Put(t.Context(), "x", []byte("held"))
		must(t, err)
		_, err = p.Reserve(t.Context(), "x")
		must(t, err)
		ended := make(chan error, 2)
		go func() {
			_, err := p.Reserve(context.Background(), "y")
			ended <- err
		}()
		s2 := clienttest.NewServer(t)
		down := s2.Pool(t, client.Config{})
		s2.Stop()
		go func() {
			_, err := down.Put(context.Background(), "y", nil)
			ended <- err
		}()
		synctest.Wait()
		must(t, p.Close())
		must(t, down.Close())
		wantError(t, <-ended, client.ErrClosed)
		wantError(t, <-ended, client.ErrClosed)
		_, err = p.Put(t.Context(), "x", nil)
		wantError(t, err, client.ErrClosed)
		must(t, p.Close())
		synctest.Wait()
		if stats, err := s.Conn(t).StatsTube(t.Context(), "x"); err != nil || stats.Jobs.Ready != 1 {
			t.Errorf("the job held: %+v, %v", stats, err)
		}
	})
}

func TestConnectionsAreReused(t *testing.T) {
	eachServer(t, func(t *testing.T, s *target) {
		ctx := patient(t)
		pr := startProxy(t, s)
		p := newPool(t, client.Config{Servers: []string{pr.address()}})
		for range 20 {
			_, err := p.Put(ctx, "x", []byte("job"))
			must(t, err)
			job, err := p.Reserve(ctx, "x")
			must(t, err)
			must(t, job.Delete(ctx))
		}
		if n := pr.connections(); n != 2 {
			t.Errorf("%d connections, want one for puts and one for reserves", n)
		}
		// f leaves a job reserved, which must not stay so.
		ref, err := p.Put(ctx, "x", []byte("job"))
		must(t, err)
		must(t, p.On(ctx, pr.address(), func(c *client.Conn) error {
			_, err := c.ReserveJob(ctx, ref.ID)
			return err
		}))
		job, err := p.Reserve(ctx, "x")
		must(t, err)
		must(t, job.Delete(ctx))
	})
}

func TestUnreachableServers(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, ln.Close())
	p := newPool(t, client.Config{Servers: []string{ln.Addr().String()}})
	_, err = p.Reserve(ctx, "x")
	wantError(t, err, context.DeadlineExceeded)
	var network *net.OpError
	if !errors.As(err, &network) {
		t.Errorf("%v does not say why no server was reached", err)
	}
	for _, servers := range [][]string{nil, {""}, {"a", "a"}, {"a:b:c"}, {"unix:"}} {
		if _, err := client.NewPool(client.Config{Servers: servers}); err == nil {
			t.Errorf("a pool of %q was made", servers)
		}
	}
}
