package store

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/engine"
)

// brim is a queue that has put jobs until one was refused, with nobody looking at
// the disk beside it, as on a machine that is too busy for that.
type brim struct {
	*rig
	t     *testing.T
	disk  *smallDisk
	store *Store
	log   *lines
	jobs  int
}

// lines is the log of a store.
type lines struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}

func putToTheBrim(t *testing.T) *brim {
	t.Helper()
	disk := newSmallDisk(newMemory(t), 1500*megabyte)
	disk.occupy(350 * megabyte)
	b := &brim{t: t, disk: disk, log: new(lines)}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the log of the store:\n%s", b.log)
		}
	})
	var err error
	if b.store, err = Open(Options{Dir: "/data", FS: disk, Logger: slog.New(slog.NewTextHandler(b.log, nil))}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.store.Close(); err != nil {
			t.Error(err)
		}
	})
	b.store.disk.stop()
	b.store.work.Wait()
	b.store.disk.look()
	b.rig = newRig(b.store, morning, engine.Limits{MaxJobSize: 2 * megabyte})
	t.Cleanup(func() {
		if err := b.engine.Release(); err != nil {
			t.Error(err)
		}
	})
	for b.put() {
		b.jobs++
	}
	if b.jobs < 20 {
		t.Fatalf("only %d jobs fit", b.jobs)
	}
	return b
}

// put puts a job that cannot be compressed, and tells whether it was taken.
func (b *brim) put() bool {
	b.t.Helper()
	body := make([]byte, megabyte)
	_, _ = rand.NewChaCha8([32]byte{byte(b.jobs)}).Read(body) // It cannot fail.
	return b.ask(b.t, "producer", put(1, 0, 60, string(body))) != "OUT_OF_MEMORY\r\n"
}

func (b *brim) delete(id int) {
	b.t.Helper()
	if got := b.ask(b.t, "worker", fmt.Sprintf("delete %d\r\n", id)); got != "DELETED\r\n" {
		b.t.Fatalf("delete %d: %q", id, got)
	}
}

// watched has the disk looked at, as it is once a second, until a put is taken.
func (b *brim) watched() {
	b.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !b.put(); {
		if time.Now().After(deadline) {
			u, _ := b.store.disk.usage()
			b.t.Fatalf("puts are still refused with %d bytes free", u.AvailBytes)
		}
		b.store.disk.tend(b.t.Context(), b.store.reclaimer.reclaim)
		time.Sleep(10 * time.Millisecond) //nolint:forbidigo // files are removed in the background, and nobody tells when they are gone
	}
}

// TestPutsEndAtReserve has puts come as fast as they can. They end where the
// reserve begins, and not at the end of the disk.
func TestPutsEndAtReserve(t *testing.T) {
	b := putToTheBrim(t)
	if !exists(b.disk, "/data/ballast") {
		t.Error("the ballast was given up")
	}
	// What is in memory may yet be written into tables.
	if least := int64(b.store.disk.reserve) / thriftShare; b.disk.leastFree() < least {
		t.Errorf("there were %d bytes free at times, want %d at least", b.disk.leastFree(), least)
	}
}

// TestFullDiskEmptied deletes what a full disk is full of. However little others
// leave free, its space is given back.
func TestFullDiskEmptied(t *testing.T) {
	for _, free := range []int64{20 * megabyte, 2 * megabyte} {
		t.Run(fmt.Sprint(free), func(t *testing.T) {
			b := putToTheBrim(t)
			if err := b.store.db.Flush(); err != nil {
				t.Fatal(err)
			}
			b.store.disk.giveUp()
			b.disk.occupy(free)
			for id := range b.jobs {
				b.delete(id + 1)
			}
			b.watched()
		})
	}
}

// TestFullDiskHalfEmptied deletes every other job. What is left must be written
// anew before anything is given back, for which there is hardly room.
func TestFullDiskHalfEmptied(t *testing.T) {
	b := putToTheBrim(t)
	for id := 1; id <= b.jobs; id += 2 {
		b.delete(id)
	}
	b.watched()
	for id := 2; id <= b.jobs; id += 2 {
		b.delete(id)
	}
}
