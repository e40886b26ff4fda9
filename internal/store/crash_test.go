package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/haricotq/haricot/internal/engine"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// policies are the ways to sync, and what has to be there after a crash.
var policies = []struct {
	name string
	sync SyncPolicy
}{
	{"every reply", SyncPolicy{}},
	{"at times", SyncPolicy{Every: time.Hour}},
	{"never", SyncPolicy{Never: true}},
}

// losses are the ways to crash, as how much of what was not synced survives.
var losses = []struct {
	name    string
	percent int
}{
	{"power lost", 0},
	{"power lost, some written", 40},
	{"process killed", 100},
}

// crash is a moment in a session: what is on the disk, and which turns must
// and may be in it.
type crash struct {
	at    string // the operation before which it happens
	disk  *vfs.MemFS
	safe  int // what turns up to this one have changed must be there
	begun int // nothing of later turns can be there
	now   queue.Instant
	// unread tells that a body could not be read, so that a job was buried of
	// which the script does not know.
	unread bool
}

// newMemory is an empty disk with a directory for the store.
func newMemory(t judge) *vfs.MemFS {
	t.Helper()
	disk := vfs.NewCrashableMem()
	if err := disk.MkdirAll("/data", 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := disk.OpenDir("/")
	if err == nil {
		err = root.Sync()
	}
	if err != nil {
		t.Fatal(err)
	}
	return disk
}

// record plays the script and crashes before every operation that changes the
// disk.
func record(t *testing.T, policy SyncPolicy, percent int) (*session, []crash) {
	t.Helper()
	disk := newMemory(t)
	var crashes []crash
	var s *session
	chance := rand.New(rand.NewPCG(1, uint64(percent)))
	draws := 1
	if percent%100 != 0 {
		draws = 5
	}
	s = newSession(Options{Dir: "/data", Sync: policy, FS: errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			s.mutex.Lock()
			defer s.mutex.Unlock()
			c := crash{at: fmt.Sprintf("%d %s", op.Kind, op.Path), safe: s.safe, begun: s.begun, now: s.now}
			// What survives by chance is drawn several times.
			for range draws {
				c.disk = disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: chance})
				crashes = append(crashes, c)
			}
			if percent > 0 {
				return journal(disk, op)
			}
		}
		return nil
	}))})
	if err := s.run(readScript(t)); err != nil {
		t.Fatal(err)
	}
	if s.wrong != nil {
		t.Fatal(s.wrong)
	}
	return s, crashes
}

// journal does what file systems with a journal do and Pebble relies on when it
// makes a file and then one that names it: to sync a file is to sync its name.
func journal(disk *vfs.MemFS, op errorfs.Op) error {
	if op.Kind != errorfs.OpFileSync && op.Kind != errorfs.OpFileSyncData {
		return nil
	}
	dir, err := disk.OpenDir(disk.PathDir(op.Path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func TestCrashAtEveryOperation(t *testing.T) {
	for _, policy := range policies {
		for _, loss := range losses {
			t.Run(policy.name+"/"+loss.name, func(t *testing.T) {
				t.Parallel()
				s, crashes := record(t, policy.sync, loss.percent)
				t.Logf("%d turns, %d operations", s.begun, len(crashes))
				for i := range crashes {
					if testing.Short() && i%5 > 0 {
						continue
					}
					c := &crashes[i]
					if !t.Run(fmt.Sprint(i), func(t *testing.T) { c.recover(t, s.turns) }) {
						t.Fatalf("crash before operation %d: %s, turns %d to %d", i, c.at, c.safe, c.begun)
					}
				}
			})
		}
	}
}

// TestCrashWhileRecovering crashes once more at every operation of the start
// that follows a crash.
func TestCrashWhileRecovering(t *testing.T) {
	s, crashes := record(t, SyncPolicy{}, 0)
	for first := 0; first < len(crashes); first += 11 {
		c := &crashes[first]
		var again []crash
		var mutex sync.Mutex
		store, err := Open(Options{Dir: "/data", FS: errorfs.Wrap(c.disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
				mutex.Lock()
				defer mutex.Unlock()
				second := *c
				second.disk = c.disk.CrashClone(vfs.CrashCloneCfg{})
				again = append(again, second)
			}
			return nil
		}))})
		if err != nil {
			t.Fatal(err)
		}
		checkMachine(t, store, stored(t, store, c.now), c.now)
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		for second := range again {
			if !t.Run(fmt.Sprint(first, "/", second), func(t *testing.T) { again[second].recover(t, s.turns) }) {
				return
			}
		}
	}
}

// recover starts anew after a crash and sees what is there.
func (c *crash) recover(t *testing.T, turns []*ledger) {
	store, err := Open(Options{Dir: "/data", FS: c.disk})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	found := stored(t, store, c.now)
	turn := c.match(t, found, turns)
	checkMachine(t, store, found, c.now)
	checkService(t, store, found, c.now, turns[turn].lastID)
}

// match finds the turn after which the queue was as it was found.
func (c *crash) match(t *testing.T, found *ledger, turns []*ledger) int {
	t.Helper()
	var last *ledger
	for turn := c.begun; turn >= c.safe; turn-- {
		last = turns[turn].clone()
		last.pass(c.now)
		last.drop()
		if last.difference(found) == "" || c.unread && last.sameBodies(found) {
			return turn
		}
	}
	t.Fatalf("what was found is the state after none of the turns %d to %d; compared to the first:\n%s", c.safe, c.begun, last.difference(found))
	return 0
}

// checkMachine brings a queue back from a store and has it checked.
func checkMachine(t *testing.T, s *Store, want *ledger, now queue.Instant) {
	t.Helper()
	m := queue.New(queue.Config{Durable: true, Limits: queue.Limits{MaxJobSize: 1 << 20}})
	defer m.Release()
	jobs, err := s.Recover(m.Restore(now))
	if err == nil {
		err = m.Check()
	}
	if err != nil {
		t.Fatal(err)
	}
	if jobs != len(want.jobs) {
		t.Fatalf("%d jobs were brought back of %d", jobs, len(want.jobs))
	}
}

// checkService has the queue serve again: every job can be read, the buried
// ones come in their order, and a new job gets a new id.
func checkService(t *testing.T, s *Store, want *ledger, now queue.Instant, last protocol.JobID) {
	t.Helper()
	r := newRig(s, now, engine.Limits{})
	if _, err := r.engine.Recover(now); err != nil {
		t.Fatal(err)
	}
	defer r.engine.Release()
	for id, j := range want.jobs {
		expect(t, r, fmt.Sprintf("peek %d\r\n", id), fmt.Sprintf("FOUND %d %d\r\n%s\r\n", id, j.Size, j.Body))
	}
	for _, tube := range []string{"default", "mail"} {
		r.ask(t, "test", "use "+tube+"\r\n")
		for _, id := range want.buried(tube) {
			expect(t, r, "peek-buried\r\n", fmt.Sprintf("FOUND %d %d\r\n%s\r\n", id, want.jobs[id].Size, want.jobs[id].Body))
			expect(t, r, "kick 1\r\n", "KICKED 1\r\n")
		}
	}
	reply := r.ask(t, "test", put(0, 0, 60, "new"))
	var id protocol.JobID
	if _, err := fmt.Sscanf(reply, "INSERTED %d\r\n", &id); err != nil || id <= last {
		t.Fatalf("a new job after job %d: %q", last, reply)
	}
	body, err := s.Body(id, 3)
	if err != nil || string(body) != "new" {
		t.Fatalf("the new job has body %q: %v", body, err)
	}
}

func expect(t *testing.T, r *rig, say, want string) {
	t.Helper()
	if got := r.ask(t, "test", say); got != want {
		t.Fatalf("%q: got %.100q, want %.100q", say, got, want)
	}
}

// TestSessionScript sees to it that the script does what it is meant to.
func TestSessionScript(t *testing.T) {
	s, _ := record(t, SyncPolicy{}, 0)
	var words []string
	for _, line := range s.transcript {
		words = append(words, strings.Fields(line[strings.Index(line, "=>")+3:])[0])
	}
	for _, word := range []string{"INSERTED", "RESERVED", "DELETED", "RELEASED", "BURIED", "KICKED", "TOUCHED", "PAUSED"} {
		if !strings.Contains(strings.Join(words, " "), word) {
			t.Errorf("no client was told %s", word)
		}
	}
	for _, line := range s.transcript {
		if strings.Contains(line, "NOT_FOUND") || strings.Contains(line, "KICKED 0") {
			t.Errorf("%s: the script is out of step", line)
		}
	}
}
