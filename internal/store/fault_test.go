package store

import (
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// sickDisk fails operations from the first on, once or until it is healed.
type sickDisk struct {
	fault   error
	first   int64
	lasting bool

	count  atomic.Int64
	failed atomic.Bool
	healed atomic.Bool
	at     atomic.Value // the operation that failed first, a string
}

func (d *sickDisk) MaybeError(op errorfs.Op) error {
	n := d.count.Add(1) - 1
	if d.healed.Load() || n < d.first || n > d.first && !d.lasting {
		return nil
	}
	if d.failed.CompareAndSwap(false, true) {
		d.at.Store(fmt.Sprintf("%d %s", op.Kind, op.Path))
	}
	return d.fault
}

func (d *sickDisk) String() string { return "sick disk" }

// outcome is how a session on a sick disk went.
type outcome struct {
	err error // what it ended with, if it did not get through
	crash
}

// suffer plays the script on a disk with a fault, and stops where the store
// does.
func (d *sickDisk) suffer(t *testing.T, sync_ SyncPolicy) outcome {
	t.Helper()
	disk := newMemory(t)
	ended := make(chan outcome, 2)
	var s *session
	var once sync.Once
	end := func(err error) {
		once.Do(func() {
			s.mutex.Lock()
			defer s.mutex.Unlock()
			ended <- outcome{err, crash{safe: s.safe, begun: s.begun, now: s.now, unread: s.unread, disk: disk.CrashClone(vfs.CrashCloneCfg{})}}
		})
	}
	s = newSession(Options{
		Dir: "/data", Sync: sync_, FS: errorfs.Wrap(disk, d),
		// A process would end here. What it was about to do must not happen.
		Fatal: func(err error) { end(err); select {} },
	})
	script := readScript(t)
	go func() { end(s.run(script)) }()
	select {
	case o := <-ended:
		if d.healed.Store(true); s.wrong != nil && o.err == nil {
			t.Fatal(s.wrong)
		}
		return o
	case <-time.After(time.Minute):
		t.Fatalf("the session hangs after operation %s", d.at.Load())
	}
	return outcome{}
}

func TestFaultAtEveryOperation(t *testing.T) {
	reference, _ := record(t, SyncPolicy{}, 0)
	for _, fault := range []syscall.Errno{syscall.EIO, syscall.ENOSPC} {
		for _, lasting := range []bool{false, true} {
			for _, policy := range policies {
				t.Run(fmt.Sprint(fault, "/lasting ", lasting, "/", policy.name), func(t *testing.T) {
					t.Parallel()
					failures, survived := 0, 0
					for k := int64(0); ; k += stride(policy.sync) {
						d := &sickDisk{fault: fault, first: k, lasting: lasting}
						o := d.suffer(t, policy.sync)
						if o.err != nil {
							failures++
						} else {
							survived++
						}
						if !t.Run(fmt.Sprint(k), func(t *testing.T) { o.recover(t, reference.turns) }) {
							t.Fatalf("operation %d, %s, failed, turns %d to %d, error %v", k, d.at.Load(), o.safe, o.begun, o.err)
						}
						if !d.failed.Load() {
							break
						}
					}
					t.Logf("%d operations: %d sessions stopped, %d went on", failures+survived-1, failures, survived-1)
				})
			}
		}
	}
}

// stride is how many operations are left out between two that fail. The
// policies that do not sync write by the same code.
func stride(p SyncPolicy) int64 {
	switch {
	case testing.Short():
		return 13
	case p == SyncPolicy{}:
		return 1
	}
	return 7
}
