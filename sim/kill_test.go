package sim

import (
	"flag"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/wire"
)

var (
	rounds = flag.Int("rounds", 24, "`rounds` of TestKill, each of which ends a server under load")
	seed   = flag.Uint64("seed", 0, "`seed` of TestKill; 0 takes one from the clock")
)

// world is a directory, those who work with it, and what they know.
type world struct {
	t       *testing.T
	random  *rand.Rand
	dir     string
	owners  []*owner
	sharers []*sharer
	pool    *pool
	ids     map[uint64]uint32 // the token of each id that any client was told of
	left    int               // rounds
	relaxed bool              // the running server does not sync before it replies
	lossy   bool              // what the last one had not synced may be lost
	tally   *tally
}

// tally is what a run came to.
type tally struct {
	kills, lossy, quiet, terms, starts, dirs, checks int
	commands, unanswered, jobs                       int
}

// TestKill ends servers at random moments under load and compares what the next
// one has with what clients were told: all of it must be there, in the right
// state, and nothing that was never sent. Under a policy that does not sync
// before it replies the last of it may be lost by a SIGKILL, unless there was
// time enough to sync.
//
// Each owner's commands are carried out in order, so what is left of them must
// be exactly what a first part of them makes, which includes all that were
// answered.
func TestKill(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-rounds %d -seed %d", *rounds, *seed)
	random := rand.New(rand.NewPCG(*seed, 0))
	var w *world
	var sum tally
	for round := range *rounds {
		if w == nil {
			w = newWorld(t, random, &sum)
		}
		w.left--
		w.round(round)
		if w.left == 0 || round == *rounds-1 {
			w.finish()
			w = nil
		}
		if t.Failed() {
			t.Fatalf("in round %d of seed %d", round, *seed)
		}
	}
	t.Logf("%+v", sum)
}

func newWorld(t *testing.T, random *rand.Rand, sum *tally) *world {
	w := &world{
		t: t, random: random, dir: t.TempDir(), pool: newPool(), ids: map[uint64]uint32{},
		left: 1 + random.IntN(12), tally: sum,
	}
	for i := range 4 + random.IntN(3) {
		w.owners = append(w.owners, newOwner(i, rand.New(rand.NewPCG(random.Uint64(), 0))))
	}
	for i := range 1 + random.IntN(2) {
		w.sharers = append(w.sharers, &sharer{name: strconv.Itoa(i), pool: w.pool, random: rand.New(rand.NewPCG(random.Uint64(), 0))})
	}
	sum.dirs++
	return w
}

// flags are those of the next start.
func (w *world) flags() []string {
	flags := []string{"-z", strconv.Itoa(bigBody)}
	policy := w.random.IntN(7)
	w.relaxed = policy >= 4
	flags = append(flags, [][]string{nil, nil, {"-f", "0"}, {"-f", "0"}, {"-f", "50"}, {"-f", "5"}, {"-F"}}[policy]...)
	if w.random.IntN(3) == 0 {
		flags = append(flags, "--memory", []string{"1", "64K", "1M"}[w.random.IntN(3)])
	}
	return flags
}

// round starts a server, sees what is there, and ends it under load.
func (w *world) round(round int) {
	flags := w.flags()
	w.t.Logf("round %d: %v", round, flags)
	for w.random.IntN(4) == 0 {
		s := launch(w.t, w.dir, flags...)
		time.Sleep(time.Duration(w.random.IntN(60_000)) * time.Microsecond)
		s.kill()
		w.tally.starts++
	}
	s, address := serve(w.t, w.dir, flags...)
	w.inspect(address)
	if w.t.Failed() {
		return
	}
	conns, work := w.load(address)
	time.Sleep(time.Duration(w.random.IntN(400_000)) * time.Microsecond)
	select {
	case <-s.ended:
		w.t.Errorf("the server ended by itself: %v\n%s", s.cmd.ProcessState, s.log)
	default:
	}
	w.end(s, conns)
	work.Wait()
	for _, c := range conns {
		c.Close()
	}
	if round%4 == 3 {
		w.verify()
	}
}

// load sets everybody to work.
func (w *world) load(address string) ([]net.Conn, *sync.WaitGroup) {
	var work sync.WaitGroup
	var conns []net.Conn
	run := func(do func(*wire.Conn) error) {
		conn, err := net.DialTimeout("tcp", address, patience)
		if err != nil {
			w.t.Fatal(err)
		}
		conns = append(conns, conn)
		work.Go(func() {
			if err := do(wire.New(conn)); err != nil {
				w.t.Error(err)
			}
		})
	}
	for _, o := range w.owners {
		run(o.work)
	}
	for _, h := range w.sharers {
		run(h.work)
	}
	return conns, &work
}

// calm is longer than any policy leaves anything unsynced.
const calm = 3 * time.Second

// end ends the server, mostly by force.
func (w *world) end(s *server, conns []net.Conn) {
	w.lossy = false
	w.pool.mutex.Lock()
	w.pool.stopping = true
	w.pool.mutex.Unlock()
	switch n := w.random.IntN(14); {
	case n < 2:
		w.tally.terms++
		s.end(syscall.SIGTERM)
		if code := s.cmd.ProcessState.ExitCode(); code != 0 {
			w.t.Errorf("status %d after SIGTERM\n%s", code, s.log)
		}
		return
	case n < 4 && w.relaxed:
		w.tally.quiet++
		for _, c := range conns {
			c.Close() // The commands that are on their way are carried out, or not.
		}
		time.Sleep(calm)
	case w.relaxed:
		w.lossy = true
		w.tally.lossy++
	}
	w.tally.kills++
	s.kill()
}

// finish sees what the last round has left.
func (w *world) finish() {
	if w.t.Failed() {
		return
	}
	s, address := serve(w.t, w.dir, w.flags()...)
	w.inspect(address)
	s.kill()
	if err := os.RemoveAll(w.dir); err != nil {
		w.t.Error(err)
	}
}

// verify lets the tool look at what is left.
func (w *world) verify() {
	path, err := program()
	if err != nil {
		w.t.Fatal(err)
	}
	w.tally.checks++
	if out, err := exec.Command(path, "check", w.dir).CombinedOutput(); err != nil {
		w.t.Errorf("haricot check: %v\n%s", err, out)
	}
}
