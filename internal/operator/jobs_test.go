package operator_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/engine"
	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
	"github.com/haricotq/haricot/internal/server"
)

// pages goes through a list of jobs page by page and returns what it has met.
func pages(t *testing.T, o *operator.Operator, r operator.PageRequest) (all []*operator.Job) {
	t.Helper()
	for {
		p, err := o.Page(t.Context(), &r)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Jobs) > r.Limit {
			t.Fatalf("a page has %d jobs, more than %d", len(p.Jobs), r.Limit)
		}
		all = append(all, p.Jobs...)
		if !p.More {
			return all
		}
		if !r.After.Before(p.Next) {
			t.Fatalf("behind %+v the next page begins at %+v", r.After, p.Next)
		}
		r.After = p.Next
	}
}

func ids(jobs []*operator.Job) (list []protocol.JobID) {
	for _, j := range jobs {
		list = append(list, j.ID)
	}
	return list
}

// TestPageOrder lists jobs of every state in the order that it has.
func TestPageOrder(t *testing.T) {
	const jobs = 100
	s := openShop(t, server.Config{})
	// Priorities and times in no order, and some alike.
	mixed := func(i int) int { return i * 37 % 25 }
	for _, tube := range []string{"ready", "delayed", "reserved", "buried"} {
		s.fill(tube, jobs, func(i int, in *queue.Insertion) {
			in.Priority = protocol.Priority(mixed(i))
			in.Body = fmt.Appendf(nil, "%d", mixed(i))
			switch tube {
			case "delayed":
				in.Delay = time.Duration(mixed(i)+100) * time.Second
			case "reserved":
				in.TTR = time.Duration(mixed(i)+100) * time.Second
			}
		})
	}
	c := s.client()
	s.ask(c, "WATCHING", "watch reserved")
	for range jobs {
		s.ask(c, "RESERVED", "reserve-with-timeout 0")
	}
	buried := []protocol.JobID{}
	for i := range jobs { // in another order than that of their ids
		id := protocol.JobID(3*jobs + 1 + i*7%jobs)
		s.do(operator.Bury(queue.Respect), id, nil)
		buried = append(buried, id)
	}
	for tube, state := range map[string]queue.State{
		"ready": queue.Ready, "delayed": queue.Delayed, "reserved": queue.Reserved, "buried": queue.Buried,
	} {
		for _, limit := range []int{1, 7, jobs - 1, jobs, 10 * jobs} {
			got := pages(t, s.Operator, operator.PageRequest{Tube: tube, State: state, Limit: limit, BodyLimit: 10})
			if len(got) != jobs {
				t.Fatalf("%d %s jobs were listed, of %d", len(got), tube, jobs)
			}
			if tube == "buried" {
				if !slices.Equal(ids(got), buried) {
					t.Fatalf("buried are %v, want %v", ids(got), buried)
				}
				continue
			}
			for i, j := range got[1:] {
				before, key := string(got[i].Body), string(j.Body)
				if len(before) > len(key) || len(before) == len(key) && before > key || before == key && tube != "reserved" && got[i].ID > j.ID {
					t.Fatalf("of the %s jobs, %d with %s comes before %d with %s", tube, got[i].ID, before, j.ID, key)
				}
			}
		}
	}
	if _, err := s.Page(t.Context(), &operator.PageRequest{Tube: "none", State: queue.Ready, Limit: 1}); !errors.Is(err, queue.ErrNoTube) {
		t.Errorf("a page of no tube: %v", err)
	}
	p, err := s.Page(t.Context(), &operator.PageRequest{Tube: "ready", State: queue.Buried, Limit: 1})
	if err != nil || p.More || len(p.Jobs) > 0 {
		t.Errorf("the page of no jobs is %+v, %v", p, err)
	}
}

// TestPagesWhileOthersWork reaches every job that stays where it is, whatever
// clients do with others between the steps.
func TestPagesWhileOthersWork(t *testing.T) {
	const stay, go_ = 5000, 2000
	s := openShop(t, server.Config{})
	var want, others []protocol.JobID
	for i, id := range s.fill("busy", stay+go_, func(i int, in *queue.Insertion) { in.Priority = protocol.Priority(i * 31 % 1000) }) {
		if i%7 < 5 {
			want = append(want, id)
		} else {
			others = append(others, id)
		}
	}
	c := s.client()
	s.ask(c, "USING", "use busy")
	n := 0
	o := s.between(func() {
		n++
		if len(others) == 0 {
			return
		}
		id := others[len(others)-1]
		others = others[:len(others)-1]
		switch n % 3 {
		case 0:
			s.ask(c, "DELETED", "delete %d", id)
		case 1:
			s.ask(c, "RESERVED", "reserve-job %d", id)
			s.ask(c, "BURIED", "bury %d 5", id)
		default:
			s.ask(c, "RESERVED", "reserve-job %d", id)
			s.ask(c, "RELEASED", "release %d %d 0", id, n*17%1000)
		}
		c.Put(protocol.Priority(n%1000), 0, 60, nil)
		if r, err := c.Receive(); err != nil || r.Word != "INSERTED" {
			t.Error(r, err)
		}
	})
	o.SetClock(endless())
	met := make(map[protocol.JobID]int)
	var last queue.Rank
	for _, j := range pages(t, o, operator.PageRequest{Tube: "busy", State: queue.Ready, Limit: 500}) {
		if met[j.ID]++; j.State != queue.Ready || j.Tube != "busy" {
			t.Fatalf("a page has job %d that is %v in %q", j.ID, j.State, j.Tube)
		}
		last = j.Rank
	}
	for _, id := range want {
		if met[id] != 1 {
			t.Fatalf("job %d stayed where it was and was met %d times", id, met[id])
		}
	}
	if last == (queue.Rank{}) {
		t.Error("jobs on pages have no rank")
	}
}

// TestPageOfATubeThatGoes is empty, and no error.
func TestPageOfATubeThatGoes(t *testing.T) {
	const jobs = 1000
	s := openShop(t, server.Config{})
	s.fill("a", jobs, nil)
	steps := 0
	o := s.between(func() {
		if steps++; steps != 4 {
			return
		}
		if _, err := s.hand.Clear(t.Context(), "a", 0); err != nil {
			t.Error(err)
		}
		s.fill("b", jobs, nil) // in the place of the other
	})
	o.SetClock(endless())
	p, err := o.Page(t.Context(), &operator.PageRequest{Tube: "a", State: queue.Ready, Limit: 10})
	if err != nil || len(p.Jobs) > 0 {
		t.Errorf("the page is %+v, %v", p, err)
	}
}

// TestJob looks at a job in every state and at as much of its body as is asked for.
func TestJob(t *testing.T) {
	s := openShop(t, server.Config{})
	body := letters(3*operator.BodyStep + 5)
	s.fill("a", 1, func(_ int, in *queue.Insertion) { in.Body, in.Priority, in.TTR = body, 7, time.Hour })
	for _, limit := range []int{0, 1, operator.BodyStep - 1, operator.BodyStep, operator.BodyStep + 1, len(body) - 1, len(body), len(body) + 1, 1 << 30} {
		j, err := s.Job(t.Context(), 1, limit)
		if err != nil {
			t.Fatal(err)
		}
		if want := body[:min(limit, len(body))]; !bytes.Equal(j.Body, want) || j.Truncated() != (limit < len(body)) {
			t.Errorf("of %d bytes of body come %d, truncated: %v", limit, len(j.Body), j.Truncated())
		}
		if j.Tube != "a" || j.Priority != 7 || j.TTR != time.Hour || j.State != queue.Ready || j.Since == 0 || j.Now < j.Created || j.Unreadable != nil {
			t.Errorf("the job is %+v", j.JobView)
		}
	}
	c := s.client()
	s.ask(c, "WATCHING", "watch a")
	s.ask(c, "RESERVED", "reserve")
	j, err := s.Job(t.Context(), 1, 0)
	if err != nil || j.State != queue.Reserved || j.Owner == 0 || j.Reserves != 1 || j.Until-j.Since != queue.Instant(time.Hour) {
		t.Fatalf("the job is %+v, %v", j, err)
	}
	owner, ok, err := s.Connection(j.Owner)
	if !ok || err != nil || owner.HoldCount != 1 || owner.Holds[0].Job != 1 || owner.Address == "" || owner.Opened == 0 {
		t.Errorf("the owner is %+v, %v, %v", owner, ok, err)
	}
	if _, ok, err := s.Connection(99); ok || err != nil {
		t.Errorf("there is a connection 99: %v", err)
	}
	if _, err := s.Job(t.Context(), 2, 0); !errors.Is(err, queue.ErrNoJob) {
		t.Errorf("a job that is not there: %v", err)
	}
}

// TestJobGoesMeanwhile does not show half a body.
func TestJobGoesMeanwhile(t *testing.T) {
	s := openShop(t, server.Config{})
	s.fill("a", 1, func(_ int, in *queue.Insertion) { in.Body = letters(5 * operator.BodyStep) })
	steps := 0
	o := s.between(func() {
		if steps++; steps == 3 {
			s.do(operator.Delete(queue.Take), 1, nil)
			s.fill("a", 1, func(_ int, in *queue.Insertion) { in.Body = letters(5 * operator.BodyStep) }) // in its place
		}
	})
	o.SetClock(endless())
	if j, err := o.Job(t.Context(), 1, 1<<30); !errors.Is(err, queue.ErrNoJob) {
		t.Errorf("the job is %+v, %v", j, err)
	}
}

// TestJobsOnDisk reads bodies that are in the store only, on pages and in
// searches too.
func TestJobsOnDisk(t *testing.T) {
	const jobs = 50
	s := openShop(t, server.Config{Store: openStore(t, t.TempDir()), MemoryLimit: 1})
	large := letters(100_000)
	s.fill("a", jobs, func(i int, in *queue.Insertion) {
		in.Body = fmt.Appendf(nil, `{"number":%d}`, i)
		if i == jobs-1 {
			in.Body = large
		}
	})
	j, err := s.Job(t.Context(), jobs, 70_000)
	if err != nil || !j.Away || !j.Truncated() || !bytes.Equal(j.Body, large[:70_000]) {
		t.Errorf("the large job has %d bytes of body, away: %v, %v", len(j.Body), j.Away, err)
	}
	if j, err = s.Job(t.Context(), 1, 0); err != nil || len(j.Body) > 0 {
		t.Errorf("of no body come %d bytes, %v", len(j.Body), err)
	}
	all := pages(t, s.Operator, operator.PageRequest{Tube: "a", State: queue.Ready, Limit: 7, BodyLimit: 1 << 20})
	for i, j := range all[:jobs-1] {
		if want := fmt.Sprintf(`{"number":%d}`, i); string(j.Body) != want {
			t.Errorf("job %d has body %q, want %q", j.ID, j.Body, want)
		}
	}
	seven := "7"
	f, err := s.Search(t.Context(), &operator.SearchRequest{Query: operator.Query{Field: "number", Value: &seven}, Limit: 10, BodyLimit: 100, Patience: time.Minute})
	if err != nil || len(f.Jobs) != 1 || f.Jobs[0].ID != 8 || string(f.Jobs[0].Body) != `{"number":7}` {
		t.Errorf("the search finds %+v, %v", f, err)
	}
	if n, err := s.Count(t.Context(), &operator.Query{Contains: string(large[99_000:])}); n != 1 || err != nil {
		t.Errorf("%d jobs have the end of the large body, %v", n, err)
	}
}

// stuck is a store whose bodies cannot be read, or never come.
type stuck struct{ fault error }

func (stuck) Recover(into *queue.Restoration) (int, error) {
	err := into.Job(&queue.Record{ID: 1, Tube: "a", State: queue.Ready, Size: 5, TTR: time.Second})
	into.End(2)
	return 1, err
}
func (stuck) Commit(*queue.Changes) error         { return nil }
func (stuck) Full() bool                          { return false }
func (stuck) LogStats() (stats protocol.LogStats) { return stats }
func (s stuck) Load(_ protocol.JobID, _ uint32, done func([]byte, error)) {
	if s.fault != nil {
		go done(nil, s.fault)
	}
}

func TestJobUnreadable(t *testing.T) {
	fault := errors.New("the sector has gone")
	s := openShop(t, server.Config{Store: stuck{fault}})
	j, err := s.Job(t.Context(), 1, 10)
	if err != nil || !errors.Is(j.Unreadable, fault) || len(j.Body) > 0 || !j.Truncated() {
		t.Errorf("the job is %+v, %v", j, err)
	}
	if n, err := s.Count(t.Context(), &operator.Query{Contains: "x"}); n != 0 || err != nil {
		t.Errorf("%d unreadable jobs match, %v", n, err)
	}
}

// TestJobThatNeverComes does not hold up somebody who has gone.
func TestJobThatNeverComes(t *testing.T) {
	s := openShop(t, server.Config{Store: stuck{}})
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan error, 1)
	go func() {
		_, err := s.Job(ctx, 1, 10)
		asked <- err
	}()
	for s.steps.Load() == 0 {
		if err := s.server.Operate(func(*engine.Turn) {}); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-asked; !errors.Is(err, context.Canceled) {
		t.Errorf("he is told %v", err)
	}
}
