package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// SyncPolicy says when what is written is brought to the disk itself, where it
// survives the loss of power and the end of the process. What is not brought
// there in time is lost from the end: a later change is never there without the
// earlier ones.
type SyncPolicy struct {
	// Never keeps it out of the way of replies: it happens beside them, about
	// once a second.
	Never bool
	// Every is how long it may take; 0 is before a reply is sent.
	Every time.Duration
}

// Options say how a store works.
type Options struct {
	// Dir is the directory. It must exist and be empty or hold a store.
	Dir  string
	Sync SyncPolicy
	// LogSize is what stats reports as binlog-max-size; it has no effect.
	LogSize uint64
	// Logger gets what an operator must know; nil discards.
	Logger *slog.Logger
	// Fatal is called, by any goroutine, when the store cannot go on: nobody
	// knows what is on the disk any more. It must not return, but end the
	// process. If it is nil, Open or Commit returns the error.
	Fatal func(error)
	// Progress is called now and then while jobs are read at start.
	Progress func(jobs int)
	// FS is the file system; nil is the system's.
	FS vfs.FS
	// ReadOnly opens the store for reading only.
	ReadOnly bool
}

func (o *Options) fs() vfs.FS {
	if o.FS == nil {
		return vfs.Default
	}
	return o.FS
}

// Sizes of Pebble's parts. A queue is written once, read about once, and soon
// deleted, mostly before it leaves the memtable: reads need little cache.
const (
	memTableSize = 16 << 20
	memTables    = 2
	// tablesAbove is how many tables may lie one above the other, not yet merged,
	// before commits have to wait. On a full disk merging them may have to wait
	// longer than any commit may.
	tablesAbove   = 64
	blockCache    = 8 << 20
	loadsAtOnce   = 16
	pebbleVersion = pebble.FormatWALSyncChunks
)

// Store is an open store. Commit, Load and Full belong to the engine's loop.
type Store struct {
	options Options
	dir     directory
	db      *pebble.DB
	lock    io.Closer
	disk    *disk

	batch  *pebble.Batch
	key    []byte
	value  []byte
	nextID protocol.JobID // as the database has it

	policy syncer
	loads  chan struct{} // a place for each load under way
	work   sync.WaitGroup

	reclaimer reclaimer
	meter     meter
	gauges    gauges
}

// Open opens the store in a directory, or makes one.
func Open(options Options) (*Store, error) {
	options.FS = options.fs()
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	if options.ReadOnly {
		options.FS = readOnly{options.FS}
	}
	s := &Store{
		options: options,
		dir:     directory{options.FS, options.Dir},
		loads:   make(chan struct{}, loadsAtOnce),
	}
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("store %s: %w", options.Dir, errors.Join(err, s.release()))
	}
	return s, nil
}

func (s *Store) open() (err error) {
	defer raised(&err)
	exists, err := s.dir.inspect()
	if err != nil {
		return err
	}
	if s.options.ReadOnly && !exists {
		return ErrNoStore
	}
	if s.lock, err = s.dir.lock(); err != nil {
		return err
	}
	fs := s.options.FS
	if !s.options.ReadOnly {
		s.disk = newDisk(s.dir, s.options.Logger)
		fs = vitalFS{thriftyFS{vfs.OnDiskFull(fs, s.disk.filled), s.disk}, s.fatal, &s.meter}
	}
	if s.db, err = pebble.Open(s.dir.file(database), s.pebbleOptions(fs, exists)); err != nil {
		return unopened(err, exists)
	}
	if !exists {
		if err := s.dir.writeFormat(); err != nil {
			return err
		}
	}
	s.batch = s.db.NewBatch()
	s.policy = syncer{policy: s.options.Sync, db: s.db, fatal: s.fatal}
	if s.disk != nil {
		s.reclaimer.db, s.reclaimer.disk = s.db, s.disk
		s.disk.watch(&s.work, s.reclaimer.reclaim)
	}
	return nil
}

func (s *Store) pebbleOptions(fs vfs.FS, exists bool) *pebble.Options {
	return &pebble.Options{
		FS:                          fs,
		Logger:                      logger{s},
		EventListener:               logger{s}.events(),
		CacheSize:                   blockCache,
		FormatMajorVersion:          pebbleVersion,
		MemTableSize:                memTableSize,
		MemTableStopWritesThreshold: memTables,
		L0StopWritesThreshold:       tablesAbove,
		ReadOnly:                    s.options.ReadOnly,
		ErrorIfNotExists:            exists,
	}
}

// damaged tells an error of Pebble that means damage from others.
func damaged(err error) error {
	if pebble.IsCorruptionError(err) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}

// unopened is the error of a database that does not open. If the store has been
// made and the system has no other objection than that a file is missing, what
// Pebble does not like is in the files, though it does not always say so.
func unopened(err error, exists bool) error {
	errno, bySystem := errors.AsType[syscall.Errno](err)
	if exists && (!bySystem || errno == syscall.ENOENT) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}

// Commit writes changes, and syncs them as the policy says.
func (s *Store) Commit(c *queue.Changes) (err error) {
	defer raised(&err)
	if err := s.fill(c); err != nil {
		return err
	}
	if err := s.db.Apply(s.batch, s.policy.options(c.Urgent)); err != nil {
		return fmt.Errorf("store %s: %w", s.options.Dir, err)
	}
	s.meter.commits.Add(1)
	s.meter.records.Add(uint64(s.batch.Count()))
	s.reclaimer.deleted.Add(uint64(len(c.Deleted)))
	s.disk.spend(s.batch.Len())
	s.batch.Reset()
	return nil
}

// fill puts changes into the batch.
func (s *Store) fill(c *queue.Changes) error {
	b := s.batch
	var errs error
	note := func(err error) { errs = errors.Join(errs, err) }
	for i := range c.Saved {
		job := &c.Saved[i]
		s.key = jobKey(s.key, headerPrefix, job.ID)
		s.value = appendHeader(s.value[:0], &job.Record)
		note(b.Set(s.key, s.value, nil))
		if job.Fresh && len(job.Body) > 0 {
			s.key = jobKey(s.key, bodyPrefix, job.ID)
			note(b.Set(s.key, job.Body, nil))
		}
	}
	for _, id := range c.Deleted {
		note(b.Delete(jobKey(s.key, headerPrefix, id), nil))
		note(b.Delete(jobKey(s.key, bodyPrefix, id), nil))
	}
	for i := range c.Paused {
		s.key, s.value = pauseKey(s.key, c.Paused[i].Tube), appendPause(s.value, &c.Paused[i])
		note(b.Set(s.key, s.value, nil))
	}
	for _, tube := range c.Resumed {
		s.key = pauseKey(s.key, tube)
		note(b.Delete(s.key, nil))
	}
	if c.NextID != s.nextID {
		s.nextID = c.NextID
		s.value = binary.BigEndian.AppendUint64(s.value[:0], uint64(c.NextID))
		note(b.Set(nextKey, s.value, nil))
	}
	return errs
}

// Load reads a job's body as it is now and calls done with it from another
// goroutine.
func (s *Store) Load(id protocol.JobID, size uint32, done func(body []byte, err error)) {
	snapshot := s.db.NewSnapshot()
	s.work.Go(func() {
		s.loads <- struct{}{}
		body, err := readBody(snapshot, id, size)
		err = errors.Join(err, snapshot.Close())
		<-s.loads
		done(body, err)
	})
}

// Full tells whether the disk has too little room for further jobs.
func (s *Store) Full() bool { return s.disk.full.Load() }

// LogStats returns what stats tells of the store.
func (s *Store) LogStats() protocol.LogStats {
	return protocol.LogStats{File: 1, Written: s.meter.records.Load(), MaxSize: s.options.LogSize}
}

// Close closes the store. What is written and not synced is synced.
func (s *Store) Close() error {
	s.policy.stop()
	if err := s.release(); err != nil {
		return fmt.Errorf("store %s: closing it: %w", s.options.Dir, err)
	}
	return nil
}

// release gives back what open has taken.
func (s *Store) release() error {
	var err error
	if s.disk != nil {
		s.disk.stop()
	}
	s.work.Wait()
	s.gauges.close()
	if s.batch != nil {
		err = s.batch.Close()
	}
	if s.db != nil {
		err = errors.Join(err, s.db.Close())
	}
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}
