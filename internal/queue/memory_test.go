package queue

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/arena"
	"github.com/haricotq/haricot/internal/protocol"
)

// limited makes a machine whose arena may use so many bytes and no more.
func limited(t *testing.T, limit int64) *Machine {
	t.Helper()
	m := New(Config{Limits: Limits{MaxJobSize: 1 << 20}})
	if err := m.memory.Close(); err != nil {
		t.Fatal(err)
	}
	m.memory = arena.New(limit)
	m.jobs = arena.NewSlab[job](m.memory)
	m.histories = arena.NewSlab[history](m.memory)
	return m
}

// At the limit puts are refused and everything else goes on; what is deleted
// makes room.
func TestMemoryLimit(t *testing.T) {
	const limit, size = 4 << 20, 64 << 10
	s := newScene(t, New(Config{Limits: Limits{MaxJobSize: size, Memory: limit}}))
	body := strings.Repeat("x", size)
	refuse := func() {
		t.Helper()
		s.expect(s.put("a", 0, 0, 60, body), "a OUT_OF_MEMORY")
	}
	stored := 0
	for ; ; stored++ {
		if got := s.put("a", 0, 0, 60, body); strings.Contains(got, "OUT_OF_MEMORY") {
			break
		}
	}
	if used := s.machine.memory.Used(); used > limit || stored < limit/size*8/10 {
		t.Fatalf("%d jobs of %d bytes were stored, %d of %d bytes are in use", stored, size, used, limit)
	}
	refuse()
	// Its whole body went by, and the id of every refused put is spent.
	if records := s.machine.jobs.Len(); records != stored {
		t.Fatalf("%d records for %d jobs", records, stored)
	}
	s.expect(s.say("a", "peek %d", stored+1), "a NOT_FOUND")
	s.expect(s.say("a", "peek-delayed"), "a NOT_FOUND")
	for id := 1; id <= 3; id++ {
		s.expect(s.say("w", "delete %d", id), "w DELETED")
	}
	s.expect(s.put("a", 0, 0, 60, body), fmt.Sprintf("a INSERTED %d", stored+3))
	// What is small is refused by the same rule.
	for !strings.Contains(s.put("a", 0, 0, 60, body), "OUT_OF_MEMORY") {
		continue
	}
	s.machine.config.Memory = s.machine.memory.Used()
	s.expect(s.put("a", 0, 0, 60, "x"), "a OUT_OF_MEMORY")
	stats := s.machine.Stats()
	if stats.Producers != 1 || stats.TotalJobs != stats.Jobs.Ready+3 {
		t.Errorf("stats after refusals: %+v", stats)
	}
}

// A put that finds no memory leaves nothing behind.
func TestPutWithoutMemory(t *testing.T) {
	for name, limit := range map[string]int64{"no record": 1, "no body": arena.SpanSize} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, limited(t, limit))
			for range 3 {
				s.expect(s.put("a", 0, 0, 60, "hello"), "a OUT_OF_MEMORY")
			}
			if n := s.machine.jobs.Len(); n != 0 {
				t.Errorf("%d records are left", n)
			}
			if used := s.machine.memory.Used(); used != 0 {
				t.Errorf("%d bytes are in use", used)
			}
			if s.machine.nextID != 4 {
				t.Errorf("the next id is %d, want 4", s.machine.nextID)
			}
			s.expect(s.say("a", "stats-job 1"), "a NOT_FOUND")
		})
	}
}

// There is memory for jobs and their bodies but none to note what happens to
// them: nobody gets anything, nobody is left to wait, and nothing is lost.
func TestNothingIsLostWithoutMemory(t *testing.T) {
	s := newScene(t, limited(t, 2*arena.SpanSize))
	s.expect(s.put("a", 0, 0, 60, "x"), "a INSERTED 1")
	s.expect(s.put("a", 0, 0, 60, ""), "a INSERTED 2")
	s.expect(s.put("a", 0, 50, 60, ""), "a INSERTED 3")
	s.expect(s.say("w", "reserve"), "w OUT_OF_MEMORY")
	s.expect(s.say("w", "reserve-with-timeout 0"), "w OUT_OF_MEMORY")
	s.expect(s.say("w", "reserve-job 2"), "w OUT_OF_MEMORY")
	s.expect(s.say("w", "reserve-job 3"), "w OUT_OF_MEMORY")
	s.expect(s.say("w", "kick-job 3"), "w OUT_OF_MEMORY")
	s.expect(s.say("w", "kick 10"), "w KICKED 0")
	s.expect(s.say("w", "peek-ready"), "w FOUND 1 1\n  x")
	s.expect(s.say("w", "peek-delayed"), "w FOUND 3 0")

	// Who waits is told so too, by whatever would have brought the job.
	s.send("a", "use x\r\n")
	s.send("v", "watch x\r\nignore default\r\n")
	s.heard()
	s.expect(s.say("v", "reserve"), "")
	s.expect(s.put("a", 0, 0, 60, ""), "a INSERTED 4\nv OUT_OF_MEMORY")
	if s.machine.Waiting(s.actor("v").id) {
		t.Error("v waits beside a ready job")
	}
	s.send("u", "watch y\r\nignore default\r\nuse y\r\nput 0 1 60 0\r\n\r\nreserve\r\n")
	s.heard()
	s.pass(time.Second)
	s.expect(s.heard(), "u OUT_OF_MEMORY")

	// With room again each is where it was.
	s.expect(s.say("a", "delete 1"), "a DELETED")
	s.expect(s.say("w", "reserve"), "w RESERVED 2 0")
	s.expect(s.say("w", "reserve-job 3"), "w RESERVED 3 0")
	s.expect(s.say("v", "reserve"), "v RESERVED 4 0")
	s.expect(s.say("u", "reserve"), "u RESERVED 5 0")
	s.expect(s.say("w", "stats"), `w OK 351
  ---
  current-jobs-reserved: 4
  cmd-put: 5
  cmd-peek-ready: 1
  cmd-peek-delayed: 1
  cmd-reserve: 6
  cmd-reserve-with-timeout: 1
  cmd-delete: 1
  cmd-use: 2
  cmd-watch: 2
  cmd-ignore: 2
  cmd-kick: 1
  cmd-stats: 1
  total-jobs: 5
  max-job-size: 1048576
  current-tubes: 3
  current-connections: 4
  current-producers: 2
  current-workers: 3
  total-connections: 4
  draining: false`)
}

// The memory of a backlog goes back when it is drained, whatever was done with
// its jobs.
func TestDrainedBacklog(t *testing.T) {
	const n = 60_000
	m := New(Config{Limits: Limits{MaxJobSize: 1 << 20}})
	defer m.Release()
	id := m.Open()
	body := make([]byte, 100)
	for i := range n {
		m.BeginPut(start, id, &protocol.Command{Priority: protocol.Priority(i % 1000), Delay: time.Duration(i%2) * time.Second, TTR: time.Minute, Size: uint32(len(body))})
		m.EndPut(start, id, true)
	}
	m.BeginPut(start, id, &protocol.Command{TTR: time.Minute, Size: 1 << 20})
	m.EndPut(start, id, true)
	m.Clear()
	if used := m.memory.Used(); used < n*(64+100) {
		t.Fatalf("%d bytes in use by %d jobs", used, n)
	}
	for i := range n / 4 {
		m.Apply(start, id, &protocol.Command{Verb: protocol.Reserve})
		if r := m.Replies()[0]; i%2 == 0 {
			m.Apply(start, id, &protocol.Command{Verb: protocol.Bury, ID: protocol.JobID(r.Number)})
		}
		m.Clear()
	}
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	for j := range protocol.JobID(n + 1) {
		m.Apply(start, id, &protocol.Command{Verb: protocol.Delete, ID: j + 1})
		if r := m.Replies()[0]; r.Word != protocol.Deleted {
			t.Fatalf("job %d: %v", j+1, r.Word)
		}
		m.Clear()
	}
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	if used := m.memory.Used(); used != 0 {
		t.Errorf("%d bytes are in use by nothing", used)
	}
	for i := range m.ids.shards {
		if n := len(m.ids.shards[i].slots); n > shardMin {
			t.Fatalf("shard %d of an empty index has %d places", i, n)
		}
	}
}

// The buffer of a document that is unusually long is not kept.
func TestLongListIsNotKept(t *testing.T) {
	m := New(Config{})
	defer m.Release()
	id := m.Open()
	for i := range 2 * maxScratch / protocol.MaxTubeName {
		m.Apply(start, id, &protocol.Command{Verb: protocol.Watch, Tube: fmt.Appendf(nil, "%0200d", i)})
	}
	m.Clear()
	m.Apply(start, id, &protocol.Command{Verb: protocol.ListTubesWatched})
	if n := len(m.Replies()[0].Data); n < 2*maxScratch {
		t.Fatalf("the list has %d bytes", n)
	}
	m.Clear()
	if m.scratch != nil {
		t.Errorf("%d bytes are kept", cap(m.scratch))
	}
	m.Apply(start, id, &protocol.Command{Verb: protocol.StatsTube, Tube: []byte("default")})
	m.Clear()
	if m.scratch == nil {
		t.Error("the buffer of a short document is not kept")
	}
}
