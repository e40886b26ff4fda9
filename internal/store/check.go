package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// Fault is something in a store that is not as it was written.
type Fault struct {
	Place string // a file, below the directory, or a job or tube
	Err   error
}

func (f Fault) String() string { return fmt.Sprintf("%s: %v", f.Place, f.Err) }

// Findings are what Check found.
type Findings struct {
	Faults                 int
	Ready, Delayed, Buried int
	Tubes, Pauses          int
	BodyBytes              uint64
	FileBytes              uint64
	Next                   protocol.JobID
}

// Watch is told of what Check does.
type Watch struct {
	// Fault gets each fault as it is found.
	Fault func(Fault)
	// Progress gets how much of the files has been read, in bytes, and then how
	// many jobs have been looked at, of a number not known beforehand.
	Progress func(stage string, done, total int64)
}

// Check verifies the store in a directory, which it does not change: the
// checksum of every block of every file, the order of the database's levels,
// that every job has a header that can be read and a body of the right size,
// that there is no body without a job, that no id can be given out again, and
// that a queue can be made of it all. The error is about a directory in which
// there is nothing to check.
func Check(options Options, w Watch) (Findings, error) {
	c := checker{watch: w, tubes: make(map[string]bool)}
	options.ReadOnly, options.Progress = true, func(jobs int) { w.Progress("queue", int64(jobs), 0) }
	s, err := Open(options)
	if errors.Is(err, ErrDamaged) {
		// What the database does not open for may be told better by the files.
		c.fault(".", err)
		err = c.checkTables(directory{options.fs(), options.Dir}, nil)
		return c.found, err
	}
	if err != nil {
		return c.found, err
	}
	c.store = s
	err = c.check()
	return c.found, errors.Join(err, s.Close())
}

// checker goes through a store.
type checker struct {
	store *Store
	watch Watch
	found Findings
	tubes map[string]bool
	last  protocol.JobID // the highest id of a job
}

func (c *checker) fault(place string, err error) {
	c.found.Faults++
	c.watch.Fault(Fault{place, err})
}

func (c *checker) check() error {
	live, err := c.live()
	if err != nil {
		return err
	}
	if err := c.checkTables(c.store.dir, live); err != nil {
		return err
	}
	if c.found.Faults == 0 {
		if err := c.store.db.CheckLevels(nil); err != nil {
			c.fault(database, err)
		}
	}
	c.checkKeys()
	c.checkJobs()
	c.checkPauses()
	c.checkNext()
	c.found.Tubes = len(c.tubes)
	if c.found.Faults == 0 {
		c.checkQueue()
	}
	return nil
}

// live names the tables that the database is made of.
func (c *checker) live() (map[string]bool, error) {
	levels, err := c.store.db.SSTables()
	if err != nil {
		return nil, fmt.Errorf("store %s: listing its files: %w", c.store.options.Dir, err)
	}
	live := make(map[string]bool)
	for _, level := range levels {
		for i := range level {
			live[fmt.Sprintf("%s.sst", level[i].BackingSSTNum)] = true
		}
	}
	return live, nil
}

// checkTables reads every block of the tables; if live is nil, of all that are
// there.
func (c *checker) checkTables(dir directory, live map[string]bool) error {
	names, err := dir.fs.List(dir.file(database))
	if err != nil {
		c.fault(database, err)
		return nil
	}
	sizes := make(map[string]int64)
	total := int64(0)
	for _, name := range names {
		info, err := dir.fs.Stat(dir.fs.PathJoin(dir.file(database), name))
		if err != nil {
			return fmt.Errorf("store %s: looking at %s: %w", dir.path, name, err)
		}
		c.found.FileBytes += uint64(info.Size())
		if strings.HasSuffix(name, ".sst") && (live == nil || live[name]) {
			sizes[name] = info.Size()
			total += info.Size()
		}
	}
	options := (&Store{dir: dir}).pebbleOptions(dir.fs, true)
	options.EnsureDefaults()
	done := int64(0)
	for name, size := range sizes {
		if err := checkTable(dir, name, options.MakeReaderOptions()); err != nil {
			c.fault(filepath.Join(database, name), err)
		}
		done += size
		c.watch.Progress("files", done, total)
	}
	return nil
}

func checkTable(dir directory, name string, options sstable.ReaderOptions) error {
	f, err := dir.fs.Open(dir.fs.PathJoin(dir.file(database), name))
	if err != nil {
		return err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	// A reader that cannot be made closes the file.
	r, err := sstable.NewReader(context.Background(), readable, options)
	if err != nil {
		return err
	}
	return errors.Join(r.ValidateBlockChecksums(), r.Close())
}

// checkKeys looks for what nobody has written.
func (c *checker) checkKeys() {
	it, err := c.store.db.NewIter(nil)
	if err != nil {
		c.fault(database, err)
		return
	}
	defer it.Close() // its errors are found by those that read on
	for valid := it.First(); valid; {
		key := it.Key()
		switch {
		case key[0] == headerPrefix, key[0] == bodyPrefix, key[0] == pausePrefix:
			valid = it.SeekGE([]byte{key[0] + 1})
			continue
		case !bytes.Equal(key, nextKey):
			c.fault(database, fmt.Errorf("there is a key %q, which has no meaning", key))
		}
		valid = it.Next()
	}
}

// checkPauses reads the pauses. That a tube has no job is no fault: its pause
// ends at the next start.
func (c *checker) checkPauses() {
	err := c.store.each(pausePrefix, func(key, value []byte) error {
		if _, err := readPause(string(key[1:]), value); err != nil {
			c.fault(fmt.Sprintf("tube %q", key[1:]), err)
		}
		c.found.Pauses++
		return nil
	})
	if err != nil {
		c.fault(database, err)
	}
}

// checkNext makes sure that no id is given out twice.
func (c *checker) checkNext() {
	next, err := c.store.NextID()
	switch c.found.Next = next; {
	case err != nil:
		c.fault(database, err)
	case next <= c.last && c.last > 0:
		c.fault(database, fmt.Errorf("%w: the next job would be %d, and there is a job %d", ErrDamaged, next, c.last))
	}
}

// checkQueue makes a queue as a server does at start.
func (c *checker) checkQueue() {
	machine := queue.New(queue.Config{Durable: true})
	_, err := c.store.Recover(machine.Restore(queue.Instant(time.Now().UnixNano())))
	if err == nil {
		err = machine.Check()
	}
	if err = errors.Join(err, machine.Release()); err != nil {
		c.fault("queue", err)
	}
}

// checkJobs goes through headers and bodies side by side.
func (c *checker) checkJobs() {
	bodies, err := c.store.db.NewIter(&pebble.IterOptions{LowerBound: []byte{bodyPrefix}, UpperBound: []byte{bodyPrefix + 1}})
	if err != nil {
		c.fault(database, err)
		return
	}
	b := bodyCursor{it: bodies, checker: c}
	b.next()
	n := 0
	err = c.store.each(headerPrefix, func(key, value []byte) error {
		if n++; n%progressEvery == 0 {
			c.watch.Progress("jobs", int64(n), 0)
		}
		id, err := idOf(key)
		if err != nil {
			c.fault(database, err)
			return nil
		}
		c.last = max(c.last, id)
		b.skipTo(id)
		record, err := readHeader(id, value)
		if err != nil {
			c.fault(jobPlace(id), err)
			b.pass(id)
			return nil
		}
		c.count(&record)
		c.checkBody(&record, &b)
		return nil
	})
	if err == nil {
		b.skipTo(^protocol.JobID(0))
		b.pass(b.id)
		err = bodies.Error()
	}
	if err = errors.Join(err, bodies.Close()); err != nil {
		c.fault(database, err)
	}
}

func jobPlace(id protocol.JobID) string { return fmt.Sprintf("job %d", id) }

func (c *checker) count(r *queue.Record) {
	c.tubes[r.Tube] = true
	c.found.BodyBytes += uint64(r.Size)
	switch r.State {
	case queue.Delayed:
		c.found.Delayed++
	case queue.Buried:
		c.found.Buried++
	default:
		c.found.Ready++
	}
}

func (c *checker) checkBody(r *queue.Record, b *bodyCursor) {
	there := b.valid && b.id == r.ID
	switch {
	case !there && r.Size > 0 && b.it.Error() == nil:
		c.fault(jobPlace(r.ID), fmt.Errorf("%w: its body of %d bytes is missing", ErrDamaged, r.Size))
	case there && uint32(b.size) != r.Size:
		c.fault(jobPlace(r.ID), fmt.Errorf("%w: its body has %d bytes instead of %d", ErrDamaged, b.size, r.Size))
	}
	b.pass(r.ID)
}

// bodyCursor stands at a body.
type bodyCursor struct {
	it      *pebble.Iterator
	checker *checker
	started bool
	valid   bool
	id      protocol.JobID
	size    int
}

// next goes to the next body whose key can be read.
func (b *bodyCursor) next() {
	for {
		if b.started {
			b.valid = b.it.Next()
		} else {
			b.started, b.valid = true, b.it.First()
		}
		if !b.valid {
			return
		}
		id, err := idOf(b.it.Key())
		if err == nil {
			b.id = id
			var body []byte
			body, err = b.it.ValueAndErr()
			b.size = len(body)
		}
		if err == nil {
			return
		}
		b.checker.fault(database, err)
	}
}

// pass goes on from the body of a job, if it stands there.
func (b *bodyCursor) pass(id protocol.JobID) {
	if b.valid && b.id == id {
		b.next()
	}
}

// skipTo goes to the body of a job, or the next behind it. What lies between
// belongs to nobody.
func (b *bodyCursor) skipTo(id protocol.JobID) {
	for b.valid && b.id < id {
		b.checker.fault(jobPlace(b.id), fmt.Errorf("%w: there is a body of %d bytes and no job", ErrDamaged, b.size))
		b.next()
	}
}
