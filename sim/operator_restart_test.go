package sim

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
	inprocess "github.com/haricotq/haricot/internal/server"
	"github.com/haricotq/haricot/internal/store"
	"github.com/haricotq/haricot/internal/wire"
)

// workshop is a server with a store that an operator and a client work at.
type workshop struct {
	*operator.Hand
	t      *testing.T
	dir    string
	client *wire.Conn
	close  func()
}

func openWorkshop(t *testing.T, dir string, memory int64) *workshop {
	t.Helper()
	st, err := store.Open(store.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	srv, err := inprocess.New(inprocess.Config{Store: st, MemoryLimit: memory, MaxJobSize: 1 << 20, Observed: true})
	if err != nil {
		t.Fatal(errors.Join(err, st.Close()))
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		err = srv.Serve(ln)
	}
	if err != nil {
		t.Fatal(errors.Join(err, st.Close()))
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- srv.Run(ctx) }()
	w := &workshop{Hand: operator.New(srv, slog.New(slog.DiscardHandler)).By("ann"), t: t, dir: dir}
	w.close = sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-ended, st.Close()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(w.close)
	w.client = talk(t, ln.Addr().String())
	return w
}

// killed is the server that starts on what the disk has now, as after a kill.
func (w *workshop) killed(memory int64) *workshop {
	w.t.Helper()
	dir := w.t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(w.dir)); err != nil {
		w.t.Fatal(err)
	}
	return openWorkshop(w.t, dir, memory)
}

// remains are what has to survive of a job.
type remains struct {
	queue.Record
	Body string
}

// jobs are all jobs that are there, those of each tube and state in order.
func (w *workshop) jobs() map[string][]remains {
	w.t.Helper()
	var tubes []string
	err := w.Tubes(w.t.Context(), func(t *operator.Tube) { tubes = append(tubes, t.Name) })
	if err != nil {
		w.t.Fatal(err)
	}
	all := make(map[string][]remains)
	for _, tube := range tubes {
		for _, state := range []queue.State{queue.Ready, queue.Reserved, queue.Delayed, queue.Buried} {
			p, err := w.Page(w.t.Context(), &operator.PageRequest{Tube: tube, State: state, Limit: 1 << 20, BodyLimit: 1 << 20})
			if err != nil {
				w.t.Fatal(err)
			}
			for _, j := range p.Jobs {
				all[tube+" "+state.String()] = append(all[tube+" "+state.String()], remains{j.Record, string(j.Body)})
			}
		}
	}
	return all
}

// afterRestart is what should be there of some jobs.
func afterRestart(before map[string][]remains) map[string][]remains {
	after := make(map[string][]remains)
	for _, jobs := range before {
		for _, j := range jobs {
			if j.State == queue.Reserved {
				j.State = queue.Ready
			}
			place := j.Tube + " " + j.State.String()
			after[place] = append(after[place], j)
		}
	}
	for place := range after {
		slices.SortFunc(after[place], func(a, b remains) int {
			ranks := [2]uint64{}
			for i, j := range []remains{a, b} {
				switch j.State {
				case queue.Delayed:
					ranks[i] = uint64(j.Due)
				case queue.Buried:
					ranks[i] = j.Burial
				default:
					ranks[i] = uint64(j.Priority)
				}
			}
			if ranks[0] != ranks[1] {
				return cmpOf(ranks[0], ranks[1])
			}
			return cmpOf(uint64(a.ID), uint64(b.ID))
		})
	}
	return after
}

func cmpOf(a, b uint64) int {
	if a < b {
		return -1
	}
	return 1
}

// TestOperatorSurvives has an operator and a client do what comes to mind, and
// ends the server without notice, again and again. What the operator was told is
// done must be there at the next start.
func TestOperatorSurvives(t *testing.T) {
	const rounds, acts = 4, 300
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	memory := []int64{0, 1}
	w := openWorkshop(t, t.TempDir(), 0)
	gone := make(map[protocol.JobID]bool)
	last := protocol.JobID(0)
	for round := range rounds {
		for range acts {
			w.act(random, &last, gone)
		}
		var err error
		if last, err = w.Put(&queue.Insertion{Tube: "p", TTR: time.Hour}); err != nil { // a tube without jobs does not survive
			t.Fatal(err)
		}
		if err := w.Pause("p", time.Hour); err != nil { // the last is safe, and so is all before it
			t.Fatal(err)
		}
		next := w.killed(memory[round%2])
		before, after := w.jobs(), next.jobs()
		if diff := cmp.Diff(afterRestart(before), after); diff != "" {
			t.Fatalf("round %d (-before +after):\n%s", round, diff)
		}
		for id := range gone {
			if _, err := next.Job(t.Context(), id, 0); !errors.Is(err, queue.ErrNoJob) {
				t.Fatalf("job %d was deleted and is there again: %v", id, err)
			}
		}
		if p, err := next.Tube("p"); err != nil || p.Pause != time.Hour || p.PauseLeft() > time.Hour {
			t.Errorf("the pause is %v, and %v are left, %v", p.Pause, p.PauseLeft(), err)
		}
		w.close()
		w = next
	}
	id, err := w.Put(&queue.Insertion{Tube: "a", TTR: time.Hour})
	if err != nil || id <= last {
		t.Errorf("after job %d comes job %d, %v", last, id, err)
	}
	w.close()
}

// act does something to a job.
func (w *workshop) act(random *rand.Rand, last *protocol.JobID, gone map[protocol.JobID]bool) {
	w.t.Helper()
	tubes := []string{"a", "b", "c", "p"}
	tube := tubes[random.IntN(len(tubes))]
	if tube == "p" && random.IntN(2) == 0 {
		tube = "a"
	}
	id := max(1, *last-protocol.JobID(random.IntN(100)))
	delay := time.Duration(random.IntN(2)*(1+random.IntN(9))) * time.Hour
	hold := queue.Hold(random.IntN(2) == 0)
	in := &queue.Insertion{
		Tube: tube, Priority: protocol.Priority(random.IntN(2000)), Delay: delay, TTR: time.Duration(1+random.IntN(5)) * time.Hour,
		Body: bytes.Repeat([]byte{byte('a' + random.IntN(26))}, random.IntN(2000)),
	}
	alteration := &queue.Alteration{}
	if random.IntN(2) == 0 {
		alteration.Priority = &in.Priority
	}
	if random.IntN(2) == 0 {
		alteration.TTR = &in.TTR
	}
	if random.IntN(2) == 0 {
		alteration.Delay = &delay
	}
	var err error
	switch random.IntN(12) {
	case 0, 1, 2:
		*last, err = w.Put(in)
	case 3:
		var by protocol.JobID
		if by, err = w.Replace(id, in, hold); err == nil {
			*last, gone[id] = by, true
		}
	case 4:
		if err = w.Do(operator.Delete(hold), id); err == nil {
			gone[id] = true
		}
	case 5:
		err = w.Do(operator.Kick(), id)
	case 6:
		err = w.Do(operator.Bury(hold), id)
	case 7:
		err = w.Do(operator.Release(delay), id)
	case 8, 9:
		err = w.Do(operator.Move(tube, hold), id)
	case 10:
		err = w.Do(operator.Alter(alteration), id)
	case 11:
		_, err = w.client.Ask("reserve-job %d", id)
	}
	for _, refusal := range []error{queue.ErrNoJob, queue.ErrReserved, queue.ErrNotReserved, queue.ErrNotKickable} {
		if errors.Is(err, refusal) {
			return
		}
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestOperatorInBulkSurvives moves, buries, alters and clears many jobs at once.
func TestOperatorInBulkSurvives(t *testing.T) {
	const jobs = 2000
	ctx := t.Context()
	w := openWorkshop(t, t.TempDir(), 0)
	for range jobs {
		w.client.Put(5, 0, 3600, []byte("body"))
	}
	for range jobs {
		if r, err := w.client.Receive(); err != nil || r.Word != "INSERTED" {
			t.Fatal(r, err)
		}
	}
	some := &operator.Query{Contains: "body"}
	nine := protocol.Priority(9)
	for _, a := range []operator.Action{
		operator.Bury(queue.Respect), operator.Move("elsewhere", queue.Respect), operator.Alter(&queue.Alteration{Priority: &nine}),
	} {
		if out, err := w.Bulk(ctx, some, a); out.Done != jobs || err != nil {
			t.Fatal(a, out, err)
		}
	}
	if out, err := w.KickTube(ctx, "elsewhere", 500); out.Done != 500 || err != nil {
		t.Fatal(out, err)
	}
	if out, err := w.Clear(ctx, "elsewhere", queue.StatesOf(queue.Ready)); out.Done != 500 || err != nil {
		t.Fatal(out, err)
	}
	next := w.killed(0)
	if diff := cmp.Diff(afterRestart(w.jobs()), next.jobs()); diff != "" {
		t.Fatalf("(-before +after):\n%s", diff)
	}
	tube, err := next.Tube("elsewhere")
	if err != nil || tube.Jobs.Buried != jobs-500 || tube.Jobs.Ready != 0 {
		t.Errorf("there are %+v, %v", tube.Jobs, err)
	}
	// They stand in the order in which they were moved, that of their burial.
	ask(t, next.client, "use elsewhere")
	if r := ask(t, next.client, "peek-buried"); r.ID() != 501 {
		t.Errorf("the first is %v, want job 501", r)
	}
}
