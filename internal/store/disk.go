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
	// watchEvery is how often the free space is looked at, and lookEvery after
	// how many bytes written: puts must be refused before they are at the end of
	// the disk, however fast they come.
	watchEvery = time.Second
	lookEvery  = 2 << 20
	// fullPause is how long a write waits before it is tried again on a full
	// disk when there is no ballast to give up.
	fullPause = 100 * time.Millisecond
)

// disk watches the free space. While there is less than the size of the
// ballast, puts are refused; they are taken again when there is twice as much
// and the ballast has its place back.
type disk struct {
	dir      directory
	logger   *slog.Logger
	full     atomic.Bool
	reserve  uint64 // the size of the ballast
	unlooked int    // bytes written since the last look, in the loop

	mutex   sync.Mutex
	ballast atomic.Bool // it is there

	compactions turnstile
	done        chan struct{}
}

func newDisk(dir directory, log *slog.Logger) *disk {
	d := &disk{dir: dir, logger: log, done: make(chan struct{}), compactions: newTurnstile()}
	if usage, err := dir.fs.GetDiskUsage(dir.path); err == nil {
		d.reserve = min(ballastSize, usage.TotalBytes/ballastShare)
		d.full.Store(usage.AvailBytes < d.reserve)
	}
	return d
}

// watch looks at the disk until stop. While it is full, reclaim is called to make
// room; it returns how long it wants to be left in peace after that.
func (d *disk) watch(work *sync.WaitGroup, reclaim func(context.Context) time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	work.Go(func() {
		<-d.done
		cancel()
	})
	work.Go(func() {
		d.look()
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		var rested time.Time
		for {
			select {
			case <-d.done:
				return
			case now := <-ticker.C:
				if now.Before(rested) {
					d.look()
					continue
				}
				rest := d.tend(ctx, reclaim)
				rested = time.Now().Add(rest)
			}
		}
	})
}

// tend looks at the disk, and has room made where there is none.
func (d *disk) tend(ctx context.Context, reclaim func(context.Context) time.Duration) (rest time.Duration) {
	d.look()
	if d.full.Load() {
		rest = reclaim(ctx)
		d.look()
	}
	return rest
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
	if !d.giveUp() {
		time.Sleep(fullPause) //nolint:forbidigo // the database tries without end, and nobody tells when there is room
	}
}

// giveUp removes the ballast, and tells whether there was any.
func (d *disk) giveUp() bool {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.ballast.Store(false)
	name := d.dir.file(ballastFile)
	// At start there may be one of which nothing is known yet.
	if _, err := d.dir.fs.Stat(name); err != nil {
		return false
	}
	if err := d.dir.fs.Remove(name); err != nil {
		d.logger.Error("cannot give up the ballast", "error", err)
	}
	return true
}

// usage is how large the disk is; it is not known for every file system.
func (d *disk) usage() (u vfs.DiskUsage, known bool) {
	u, err := d.dir.fs.GetDiskUsage(d.dir.path)
	return u, err == nil && u.TotalBytes > 0
}

// spend is called in the loop when so many bytes were written.
func (d *disk) spend(n int) {
	if d.unlooked += n; d.unlooked < lookEvery {
		return
	}
	d.unlooked = 0
	if u, known := d.usage(); known {
		d.short(u.AvailBytes)
	}
}

// short tells whether so little is free that puts must be refused, and has them
// refused.
func (d *disk) short(free uint64) bool {
	if free >= d.reserve {
		return false
	}
	if !d.full.Swap(true) {
		d.logger.Error("the disk is nearly full: puts are refused until there is room",
			"directory", d.dir.path, "free_bytes", free, "wanted_bytes", 2*d.reserve)
	}
	return true
}

// look brings everything in line with the free space.
func (d *disk) look() {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	u, known := d.usage()
	free := u.AvailBytes
	switch {
	case !known, d.short(free):
	case d.full.Load() && free < 2*d.reserve:
	case !d.ballast.Load() && free >= 2*d.reserve:
		if err := d.makeBallast(); err != nil {
			d.logger.Warn("cannot set space aside", "error", err)
			return
		}
		fallthrough
	default:
		if d.full.Swap(false) {
			d.logger.Info("the disk has room again: puts are taken", "directory", d.dir.path, "free_bytes", free)
		}
	}
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
	d.ballast.Store(true)
	return nil
}
