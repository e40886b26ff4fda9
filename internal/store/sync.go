package store

import (
	"fmt"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// handOver is how often what is written is synced when nothing is to be: Pebble
// keeps it in a buffer of its own until then, where the end of the process
// would take it along.
const handOver = time.Second

// syncer carries out a SyncPolicy.
//
// Between syncs Pebble keeps up to 32 KiB in a buffer of its own, so under the
// relaxed policies the end of the process can cost what the loss of power does.
// Writing them out without syncing is not to be had: a file that took the sync
// and did nothing would make the log claim more than the disk has, and after a
// loss of power the store would look damaged.
type syncer struct {
	policy SyncPolicy
	db     *pebble.DB
	fatal  func(error)

	mutex   sync.Mutex
	last    time.Time // of the last sync
	timer   *time.Timer
	pending bool // the timer runs
	stopped bool

	running sync.Mutex // held while the timer's sync is under way
}

// options says how a batch is to be written.
func (y *syncer) options(urgent bool) *pebble.WriteOptions {
	if y.policy == (SyncPolicy{}) {
		if urgent {
			return pebble.Sync
		}
		return pebble.NoSync
	}
	y.mutex.Lock()
	defer y.mutex.Unlock()
	wait := handOver
	if now := time.Now(); !y.policy.Never {
		wait = y.policy.Every - now.Sub(y.last)
		if wait <= 0 && !y.pending {
			y.last = now
			return pebble.Sync
		}
	}
	// The last write of a burst is synced too, though no other follows it.
	if !y.pending && !y.stopped {
		y.pending = true
		y.timer = time.AfterFunc(wait, y.sync)
	}
	return pebble.NoSync
}

// sync runs when the time of what is written is over. It holds up no commit.
func (y *syncer) sync() {
	y.running.Lock()
	defer y.running.Unlock()
	y.mutex.Lock()
	stopped := y.stopped
	y.pending, y.last = false, time.Now()
	y.mutex.Unlock()
	if stopped {
		return
	}
	if err := y.db.LogData(nil, pebble.Sync); err != nil {
		y.fatal(fmt.Errorf("syncing what is written: %w", err))
	}
}

// stop ends the timer, and waits for a sync of it that is under way.
func (y *syncer) stop() {
	y.mutex.Lock()
	y.stopped = true
	if y.timer != nil {
		y.timer.Stop()
	}
	y.mutex.Unlock()
	y.running.Lock()
	defer y.running.Unlock()
}
