package store

import (
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// compacting is what Pebble writes the tables of compactions as.
	compacting = vfs.DiskWriteCategory("pebble-compaction")
	// thriftShare is the share of the reserve that compactions leave alone, and
	// reclaimShare the one while the space of deleted jobs is given back.
	thriftShare  = 4
	reclaimShare = 16
	// thriftStep is how much a compaction writes between two looks at the free
	// space. One that makes no more of all it reads is let through on any disk.
	thriftStep = 256 << 10
	// A compaction that there was no room for is tried again after a while, and
	// after a longer one each time.
	minRest = time.Second
	maxRest = time.Minute
)

// errNoRoom ends a compaction. Pebble tries it again, without end.
var errNoRoom = fmt.Errorf("a compaction would take the last room: %w", syscall.ENOSPC)

// thriftyFS is the file system under the database. A compaction writes anew all
// that it reads before anything is given back, and may want more than there is.
// Here it is ended before it has taken what the log and the memtables need: if
// they cannot be written, the server stands still or has to end. Nor is the
// ballast given up for it.
type thriftyFS struct {
	vfs.FS
	disk *disk
}

// Unwrap returns the file system below.
func (f thriftyFS) Unwrap() vfs.FS { return f.FS }

// Create makes a file.
func (f thriftyFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if category != compacting {
		return f.FS.Create(name, category)
	}
	f.disk.compactions.pass(f.disk.done)
	file, err := f.FS.Create(name, category)
	if err != nil {
		return nil, err
	}
	return &thriftyFile{File: file, disk: f.disk}, nil
}

// thriftyFile is a table that a compaction writes.
type thriftyFile struct {
	vfs.File
	disk     *disk
	unlooked int // bytes written since the last look
}

// Write writes, if that leaves enough.
func (f *thriftyFile) Write(p []byte) (int, error) {
	if f.unlooked += len(p); f.unlooked >= thriftStep {
		f.unlooked = 0
		u, known := f.disk.usage()
		if known && u.AvailBytes < f.disk.reserve/f.disk.compactions.share()+uint64(len(p)) {
			f.disk.short(u.AvailBytes)
			return 0, errNoRoom
		}
	}
	return f.File.Write(p)
}

// turnstile is where compactions wait after one for which there was no room.
type turnstile struct {
	mutex  sync.Mutex
	rest   time.Duration // the last one that they were given
	until  time.Time
	noRoom func()        // while it is open, and nobody waits; told of a failure
	moved  chan struct{} // closed when it is opened
}

func newTurnstile() turnstile { return turnstile{moved: make(chan struct{})} }

// pass waits until a compaction may go on.
func (t *turnstile) pass(done <-chan struct{}) {
	t.mutex.Lock()
	wait, open, moved := time.Until(t.until), t.noRoom != nil, t.moved
	t.mutex.Unlock()
	if open || wait <= 0 {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-done:
	case <-moved:
	case <-timer.C:
	}
}

// share is the share of the reserve that compactions leave alone.
func (t *turnstile) share() uint64 {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.noRoom != nil {
		return reclaimShare
	}
	return thriftShare
}

// ended is called when a compaction has ended.
func (t *turnstile) ended(err error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if !vfs.IsNoSpaceError(err) {
		t.rest = 0
		return
	}
	t.rest = min(max(2*t.rest, minRest), maxRest)
	t.until = time.Now().Add(t.rest)
	if t.noRoom != nil {
		t.noRoom()
	}
}

// hold opens the turnstile until release is called. When there is no room for a
// compaction meanwhile, noRoom is told; it must not wait.
func (t *turnstile) hold(noRoom func()) (release func()) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.noRoom = noRoom
	close(t.moved)
	t.moved = make(chan struct{})
	return func() {
		t.mutex.Lock()
		defer t.mutex.Unlock()
		t.noRoom = nil
	}
}
