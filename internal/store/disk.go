package store

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// ballastSize is the space kept in reserve, on a large disk. When the disk
	// is full it is given up, so that jobs can still be reserved and deleted and
	// the database can tidy up, which is what makes room again.
	ballastSize = 64 << 20
	// ballastShare bounds it on a small disk, as a share of the whole.
	ballastShare = 20
	// reclaimRoom is the free space that giving back the space of deleted jobs
	// wants: it writes what is in memory into tables first.
	reclaimRoom = 2 * memTableSize
	// watchEvery is how often the free space is looked at.
	watchEvery = time.Second
	// fullPause is how long a write waits before it is tried again on a full
	// disk when there is no ballast to give up.
	fullPause = 100 * time.Millisecond
)

// disk watches the free space. While there is less than the size of the
// ballast, puts are refused; they are taken again when there is twice as much
// and the ballast has its place back.
type disk struct {
	dir    directory
	logger *slog.Logger
	full   atomic.Bool

	mutex   sync.Mutex
	reserve uint64 // the size of the ballast
	ballast bool   // it is there
	done    chan struct{}
}

func newDisk(dir directory, log *slog.Logger) *disk {
	d := &disk{dir: dir, logger: log, done: make(chan struct{})}
	if usage, err := dir.fs.GetDiskUsage(dir.path); err == nil {
		d.reserve = min(ballastSize, usage.TotalBytes/ballastShare)
		d.full.Store(usage.AvailBytes < d.reserve)
	}
	return d
}

// watch looks at the disk until stop. While it is full, but not so full that this
// could make it worse, reclaim is called to make room.
func (d *disk) watch(work *sync.WaitGroup, reclaim func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	work.Go(func() {
		<-d.done
		cancel()
	})
	work.Go(func() {
		d.look()
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		for {
			select {
			case <-d.done:
				return
			case <-ticker.C:
				if free := d.look(); d.full.Load() && free >= reclaimRoom {
					reclaim(ctx)
				}
			}
		}
	})
}

func (d *disk) stop() {
	select {
	case <-d.done:
	default:
		close(d.done)
	}
}

// filled is called when a write has found the disk full. The write is tried
// again afterwards.
func (d *disk) filled() {
	if !d.full.Swap(true) {
		d.logger.Error("the disk is full: puts are refused until there is room", "directory", d.dir.path)
	}
	d.mutex.Lock()
	name := d.dir.file(ballastFile)
	// At start there may be one of which nothing is known yet.
	_, err := d.dir.fs.Stat(name)
	hadBallast := err == nil
	if d.ballast = false; hadBallast {
		if err := d.dir.fs.Remove(name); err != nil {
			d.logger.Error("cannot give up the ballast", "error", err)
		}
	}
	d.mutex.Unlock()
	if !hadBallast {
		time.Sleep(fullPause) //nolint:forbidigo // the database tries without end, and nobody tells when there is room
	}
}

// look brings everything in line with the free space, and returns it.
func (d *disk) look() (free uint64) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	usage, err := d.dir.fs.GetDiskUsage(d.dir.path)
	if err != nil || usage.TotalBytes == 0 {
		return 0 // not known for this file system
	}
	free = usage.AvailBytes
	switch {
	case free < d.reserve:
		if !d.full.Swap(true) {
			d.logger.Error("the disk is nearly full: puts are refused until there is room",
				"directory", d.dir.path, "free_bytes", free, "wanted_bytes", 2*d.reserve)
		}
	case d.full.Load() && free < 2*d.reserve:
	case !d.ballast && free >= 2*d.reserve:
		if err := d.makeBallast(); err != nil {
			d.logger.Warn("cannot set space aside", "error", err)
			return free
		}
		fallthrough
	default:
		if d.full.Swap(false) {
			d.logger.Info("the disk has room again: puts are taken", "directory", d.dir.path, "free_bytes", free)
		}
	}
	return free
}

// makeBallast writes the file that takes the reserved space.
func (d *disk) makeBallast() error {
	name := d.dir.file(ballastFile)
	f, err := d.dir.fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	err = f.Preallocate(0, int64(d.reserve))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, d.dir.fs.Remove(name))
	}
	d.ballast = true
	return nil
}
