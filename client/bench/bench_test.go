// Package bench measures the client beside go-beanstalk, on the same server.
//
// The server is the one at HARICOT_BENCH_ADDRESS, such as a beanstalkd, or a
// haricot in this process if there is none.
package bench

import (
	"context"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beanstalkd/go-beanstalk"

	"github.com/haricotq/haricot/client"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/server"
)

// start returns the address of a server.
func start(b *testing.B) string {
	b.Helper()
	if address := os.Getenv("HARICOT_BENCH_ADDRESS"); address != "" {
		return address
	}
	s, err := server.New(server.Config{MaxJobSize: protocol.DefaultMaxJobSize})
	must(b, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(b, err)
	must(b, s.Serve(ln))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		must(b, <-ended)
	})
	return ln.Addr().String()
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

var body = make([]byte, 100)

// empty deletes what a benchmark has left in a tube.
func empty(b *testing.B, address, tube string) {
	b.Helper()
	b.StopTimer()
	ctx := context.Background()
	c, err := client.Dial(ctx, address)
	must(b, err)
	defer c.Close()
	must(b, c.WatchOnly(ctx, tube))
	for {
		now, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
		jobs, err := c.ReserveAll(now, 500)
		cancel()
		if err != nil {
			return
		}
		must(b, client.DeleteAll(ctx, jobs...))
	}
}

func theirs(b *testing.B, address string) *beanstalk.Conn {
	b.Helper()
	c, err := beanstalk.Dial("tcp", address)
	must(b, err)
	b.Cleanup(func() { _ = c.Close() })
	return c
}

func BenchmarkPut(b *testing.B) {
	ctx := context.Background()
	b.Run("go-beanstalk", func(b *testing.B) {
		address := start(b)
		tube := beanstalk.NewTube(theirs(b, address), "put")
		for b.Loop() {
			_, err := tube.Put(body, 1024, 0, time.Minute)
			must(b, err)
		}
		empty(b, address, "put")
	})
	b.Run("conn", func(b *testing.B) {
		address := start(b)
		c, err := client.Dial(ctx, address)
		must(b, err)
		defer c.Close()
		must(b, c.Use(ctx, "put"))
		for b.Loop() {
			_, err := c.Put(ctx, body)
			must(b, err)
		}
		empty(b, address, "put")
	})
	b.Run("pool", func(b *testing.B) {
		address := start(b)
		p, err := client.NewPool(client.Config{Servers: []string{address}})
		must(b, err)
		defer p.Close()
		for b.Loop() {
			_, err := p.Put(ctx, "put", body)
			must(b, err)
		}
		empty(b, address, "put")
	})
}

func BenchmarkReserveDelete(b *testing.B) {
	ctx := context.Background()
	fill := func(b *testing.B, address string, n int) {
		b.Helper()
		c, err := client.Dial(ctx, address)
		must(b, err)
		defer c.Close()
		must(b, c.Use(ctx, "work"))
		bodies := make([][]byte, n)
		for i := range bodies {
			bodies[i] = body
		}
		_, err = c.PutAll(ctx, bodies)
		must(b, err)
		b.ResetTimer()
	}
	b.Run("go-beanstalk", func(b *testing.B) {
		address := start(b)
		set := beanstalk.NewTubeSet(theirs(b, address), "work")
		fill(b, address, b.N)
		for range b.N {
			id, _, err := set.Reserve(time.Second)
			must(b, err)
			must(b, set.Conn.Delete(id))
		}
	})
	b.Run("conn", func(b *testing.B) {
		address := start(b)
		c, err := client.Dial(ctx, address)
		must(b, err)
		defer c.Close()
		must(b, c.WatchOnly(ctx, "work"))
		fill(b, address, b.N)
		for range b.N {
			job, err := c.ReserveWithTimeout(ctx, time.Second)
			must(b, err)
			must(b, job.Delete(ctx))
		}
	})
	b.Run("pool", func(b *testing.B) {
		address := start(b)
		p, err := client.NewPool(client.Config{Servers: []string{address}})
		must(b, err)
		defer p.Close()
		fill(b, address, b.N)
		for range b.N {
			job, err := p.Reserve(ctx, "work")
			must(b, err)
			must(b, job.Delete(ctx))
		}
	})
}

// producers is how many goroutines put at once.
const producers = 128

// together spreads b.N calls over the producers.
func together(b *testing.B, put func() error) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	b.ResetTimer()
	for range producers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if err := put(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
}

func BenchmarkConcurrentPuts(b *testing.B) {
	ctx := context.Background()
	b.Run("go-beanstalk", func(b *testing.B) { // one connection, as the pool has
		address := start(b)
		tube := beanstalk.NewTube(theirs(b, address), "many")
		together(b, func() error {
			_, err := tube.Put(body, 1024, 0, time.Minute)
			return err
		})
		empty(b, address, "many")
	})
	b.Run("pool", func(b *testing.B) {
		address := start(b)
		p, err := client.NewPool(client.Config{Servers: []string{address}})
		must(b, err)
		defer p.Close()
		together(b, func() error {
			_, err := p.Put(ctx, "many", body)
			return err
		})
		empty(b, address, "many")
	})
}
