package store

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// reclaimer has the database give back the space of deleted jobs, beside the
// loop. By itself the database would do so only when much more has been written,
// which on a full disk may never come.
type reclaimer struct {
	db   *pebble.DB
	disk *disk

	deleted   atomic.Uint64 // jobs since start
	reclaimed uint64        // as many of them when that last succeeded
	rest      time.Duration // after a failure, the last one
}

// reclaim is called while the disk is full, in one goroutine. It returns how long
// it wants to be left in peace: what is not deleted was written anew, so at least
// as long as that took.
func (r *reclaimer) reclaim(ctx context.Context) time.Duration {
	deleted := r.deleted.Load()
	if deleted == r.reclaimed {
		return 0
	}
	began := time.Now()
	err := r.compact(ctx)
	if vfs.IsNoSpaceError(err) && r.disk.giveUp() {
		r.disk.logger.Warn("the ballast is given up to give back the space of deleted jobs")
		err = r.compact(ctx)
	}
	took := time.Since(began)
	if err != nil {
		if ctx.Err() == nil {
			r.disk.logger.Warn("cannot give back the space of deleted jobs", "error", err)
		}
		r.rest = min(max(2*r.rest, minRest), maxRest)
		return max(took, r.rest)
	}
	r.reclaimed, r.rest = deleted, 0
	return took
}

// maxFailures is how many compactions may find no room while one that gives back
// the space of deleted jobs is waited for.
const maxFailures = 32

// compact brings what was deleted together with what it deletes; the database
// writes its memory into tables for it. Pebble first does what it finds urgent
// itself. What there is no room for it leaves alone for a while, mostly, and so
// gets to this; where it does not, this ends.
func (r *reclaimer) compact(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	failures := 0
	defer r.disk.compactions.hold(func() {
		if failures++; failures == maxFailures {
			cancel(errNoRoom)
		}
	})()
	err := r.db.Compact(ctx, []byte{bodyPrefix}, []byte{bodyPrefix + 1}, false)
	if err != nil && errors.Is(context.Cause(ctx), errNoRoom) {
		return errNoRoom
	}
	return err
}
