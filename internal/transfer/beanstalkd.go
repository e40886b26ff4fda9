package transfer

import (
	"github.com/haricotq/haricot/internal/binlog"
	"github.com/haricotq/haricot/internal/queue"
)

// Tally is what an import of a beanstalkd's log has brought in: jobs by their states, and the bytes of their bodies.
type Tally struct {
	Ready, Delayed, Buried int
	Bytes                  int64
}

// ImportLog makes a store of a beanstalkd's log, in a new or empty directory. After an error there is none, even if this is
// interrupted. The error is an UnusableError if it is about the directory.
func ImportLog(log *binlog.Log, dir string, progress func(done, total int64)) (Tally, error) {
	var t Tally
	err := stageStore(dir, func(staged string) error {
		to, err := newImporter(staged, false)
		if err != nil {
			return err
		}
		for i := range log.Jobs {
			progress(int64(i), int64(len(log.Jobs)))
			if err = t.bring(&log.Jobs[i], log, to); err != nil {
				break
			}
		}
		to.reserve(log.NextID)
		return to.finish(err)
	})
	return t, err
}

// bring brings a job in.
func (t *Tally) bring(job *binlog.Job, log *binlog.Log, to *importer) error {
	body, err := log.Body(job)
	if err != nil {
		return err
	}
	if err := to.add(job.Record, body); err != nil {
		return err
	}
	switch job.State {
	case queue.Delayed:
		t.Delayed++
	case queue.Buried:
		t.Buried++
	default:
		t.Ready++
	}
	t.Bytes += int64(job.Size)
	return nil
}
