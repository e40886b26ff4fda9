package transfer

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
	"github.com/haricotq/haricot/internal/store"
)

// A batch has at most so many jobs and about so many bytes, and is synced once.
const (
	batchJobs  = 1000
	batchBytes = 4 << 20
)

// importer brings jobs into a store that no server has open: all of them, or, after an error, none.
type importer struct {
	dir    string
	made   bool // the directory was made for this
	newIDs bool // jobs are numbered anew
	store  *store.Store

	taken   map[protocol.JobID]bool
	next    protocol.JobID // the lowest id that no job has had
	burials uint64         // the number of the last burial before

	batch   queue.Changes
	bytes   int
	added   []protocol.JobID
	pauses  int
	changed bool
}

// newImporter opens the store in a directory, and makes what is not there. The caller must call finish.
func newImporter(dir string, newIDs bool) (*importer, error) {
	i := &importer{dir: dir, newIDs: newIDs, taken: make(map[protocol.JobID]bool), next: 1}
	err := os.Mkdir(dir, 0o700)
	if i.made = err == nil; err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, &UnusableError{fmt.Errorf("making the directory of the store: %w", err)}
	}
	i.store, err = store.Open(store.Options{Dir: dir})
	if err != nil {
		return nil, &UnusableError{err}
	}
	if err := i.survey(); err != nil {
		return nil, errors.Join(&UnusableError{err}, i.store.Close())
	}
	return i, nil
}

// survey looks at what there is already.
func (i *importer) survey() error {
	err := i.store.Headers(func(r *queue.Record) error {
		i.taken[r.ID] = true
		i.next = max(i.next, r.ID+1)
		i.burials = max(i.burials, r.Burial)
		return nil
	})
	if err != nil {
		return err
	}
	next, err := i.store.NextID()
	i.next = max(i.next, next)
	return err
}

// add brings a job in. Buried jobs come after those that are there already, and among themselves in the order of their numbers.
func (i *importer) add(r queue.Record, body []byte) error {
	if i.newIDs {
		r.ID = i.next
	}
	switch {
	case r.ID == 0 || r.ID == math.MaxUint64:
		return fmt.Errorf("%d cannot be the id of a job", r.ID)
	case i.taken[r.ID]:
		return fmt.Errorf("there is a job %d already; import into an empty directory, or number the jobs anew with --new-ids", r.ID)
	}
	i.taken[r.ID] = true
	i.next = max(i.next, r.ID+1)
	if r.State == queue.Buried {
		r.Burial += i.burials
	}
	i.batch.Saved = append(i.batch.Saved, queue.SavedJob{Record: r, Body: body, Fresh: true})
	i.bytes += len(body)
	i.added = append(i.added, r.ID)
	if len(i.batch.Saved) < batchJobs && i.bytes < batchBytes {
		return nil
	}
	return i.commit()
}

// pause brings a pause in, in place of one that the tube has.
func (i *importer) pause(p queue.PauseRecord) {
	i.batch.Paused = append(i.batch.Paused, p)
	i.pauses++
}

// reserve sees to it that no job gets an id below next.
func (i *importer) reserve(next protocol.JobID) {
	if !i.newIDs {
		i.next = max(i.next, next)
	}
}

// commit writes the batch.
func (i *importer) commit() error {
	if i.store.Full() {
		return fmt.Errorf("the disk of %s is nearly full", i.dir)
	}
	return i.write()
}

func (i *importer) write() error {
	i.changed = true
	i.batch.NextID, i.batch.Urgent = i.next, true
	err := i.store.Commit(&i.batch)
	clear(i.batch.Saved) // the bodies
	i.batch = queue.Changes{Saved: i.batch.Saved[:0]}
	i.bytes = 0
	return err
}

// finish writes what is left, or takes back what is written if there was an error, and closes the store.
func (i *importer) finish(err error) error {
	if err == nil {
		err = i.commit()
	}
	if err == nil {
		return i.store.Close()
	}
	if i.made {
		return errors.Join(err, i.store.Close(), os.RemoveAll(i.dir))
	}
	return errors.Join(err, i.takeBack(), i.store.Close())
}

// takeBack deletes what was written. Pauses have not been, for they come with the last batch.
func (i *importer) takeBack() error {
	if !i.changed {
		return nil
	}
	i.batch = queue.Changes{}
	for len(i.added) > 0 {
		n := min(len(i.added), batchJobs)
		i.batch.Deleted, i.added = i.added[:n], i.added[n:]
		if err := i.write(); err != nil {
			return fmt.Errorf("taking back what was imported: %w", err)
		}
	}
	return nil
}
