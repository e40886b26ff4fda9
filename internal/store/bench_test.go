package store

import (
	"fmt"
	"testing"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// puts are the changes of a turn in which so many jobs of 200 bytes came.
func puts(n int) *queue.Changes {
	c := &queue.Changes{Urgent: true}
	for range n {
		c.Saved = append(c.Saved, queue.SavedJob{
			Record: queue.Record{Tube: "default", State: queue.Ready, Size: 200, TTR: 60e9, Created: morning},
			Body:   make([]byte, 200), Fresh: true,
		})
	}
	return c
}

// renumber gives the jobs of a turn new ids.
func renumber(c *queue.Changes) {
	for i := range c.Saved {
		c.NextID++
		c.Saved[i].ID = c.NextID
	}
}

// BenchmarkCommit commits turns of some puts, synced.
func BenchmarkCommit(b *testing.B) {
	for _, n := range []int{1, 8, 64, 512} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, err := Open(Options{Dir: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			c := puts(n)
			for b.Loop() {
				renumber(c)
				if err := s.Commit(c); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}

// BenchmarkRecover opens a store of 100,000 jobs and brings them back.
func BenchmarkRecover(b *testing.B) {
	const jobs = 100_000
	dir := b.TempDir()
	s, err := Open(Options{Dir: dir, Sync: SyncPolicy{Never: true}})
	if err != nil {
		b.Fatal(err)
	}
	c := puts(1000)
	for c.NextID < protocol.JobID(jobs) {
		renumber(c)
		if err := s.Commit(c); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := Open(Options{Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		m := queue.New(queue.Config{Durable: true})
		if n, err := s.Recover(m.Restore(morning)); err != nil || n != jobs {
			b.Fatal(n, err)
		}
		if err := m.Release(); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(jobs*float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}
