package migration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/haricotq/haricot/internal/wire"
)

const (
	// A batch has about so many bytes at most.
	batchBytes = 4 << 20
	// hidden is the delay with which a job is put that is to be buried, so that no worker gets it first.
	hidden = 1<<32 - 1
	// waitBetween is how long Wait waits before it looks at the tubes again.
	waitBetween = 250 * time.Millisecond
)

// Options say what is moved, and how.
type Options struct {
	// Tubes are those to be moved; none is all.
	Tubes []string
	// Wait goes on until no job is left that can be moved.
	Wait bool
	// Batch is how many ready jobs are under way at once, at most.
	Batch int
	// Progress is told how many jobs are moved, and how many there were in the beginning.
	Progress func(done, total int64)
}

// Outcome is what a migration has come to, also one that ended with an error.
type Outcome struct {
	// Moved are jobs by state: ready, delayed or buried.
	Moved map[string]int
	// Left are those that are still at the source, by state; nil if it is not known.
	Left map[string]int
	// Bytes is the size of the bodies moved.
	Bytes int64
	// Known is how many of the moved only had to be deleted, since the map had them.
	Known int
	// Undone are jobs that a worker got at the source meanwhile; their copies are deleted.
	Undone IDs
	// Doubled are such whose copies had been taken too.
	Doubled IDs
}

// mover moves jobs. Every job goes the same way:
//
//	source: seen ── destination: put (bury) ── map: line written ── source: deleted
//
// Ready jobs are reserved first, many at once, so that no worker of the source gets them; if the migration ends here they are ready
// again. Delayed and buried jobs are not, for a reservation that ends makes them ready; instead, one after the other is seen at the head of
// its tube's list. If in the end the source does not delete a job, a worker has it, and the copy is taken back.
type mover struct {
	Options
	Outcome

	from, to *Server
	moved    *Map
	tube     string       // that is being moved
	paused   bool         // its jobs cannot be reserved
	open     []*remoteJob // put, and not yet deleted
	total    int          // that there were in the beginning
}

// Move moves jobs from one server to another. Cancelling ctx ends it after the batch that is under way, without an error; no job is
// at both servers then.
func Move(ctx context.Context, from, to *Server, moved *Map, options Options) (Outcome, error) {
	m := &mover{Options: options, Outcome: Outcome{Moved: map[string]int{}}, from: from, to: to, moved: moved}
	err := m.run(ctx)
	return m.Outcome, err
}

// run moves everything there is, once or until nothing is left.
func (m *mover) run(ctx context.Context) error {
	if err := m.survey(); err != nil {
		return err
	}
	m.total = m.Left["ready"] + m.Left["delayed"] + m.Left["buried"]
	for ctx.Err() == nil {
		tubes, err := m.selected()
		if err != nil {
			return err
		}
		for _, tube := range tubes {
			if err := m.moveTube(ctx, tube); err != nil {
				m.Left = nil // It is not known any more.
				return m.explain(err)
			}
		}
		if err := m.survey(); err != nil {
			return err
		}
		if !m.Wait || m.nothingLeft() {
			break
		}
		pause(ctx)
	}
	return nil
}

// selected are the tubes to be moved.
func (m *mover) selected() ([]string, error) {
	if len(m.Tubes) > 0 {
		return m.Tubes, nil
	}
	return m.from.tubeNames()
}

// survey counts what is at the source.
func (m *mover) survey() error {
	tubes, err := m.selected()
	if err != nil {
		return err
	}
	m.Left = map[string]int{}
	for _, tube := range tubes {
		jobs, _, err := m.from.counts(tube)
		if err != nil {
			return err
		}
		for state, n := range jobs {
			m.Left[state] += n
		}
	}
	return nil
}

// nothingLeft tells whether waiting is over. What cannot be moved is not waited for.
func (m *mover) nothingLeft() bool {
	return m.Left["ready"]+m.Left["delayed"]+m.Left["reserved"] == 0 && (m.Left["buried"] == 0 || !m.to.picks)
}

// moveTube moves a tube until nothing can be moved any more.
func (m *mover) moveTube(ctx context.Context, tube string) error {
	jobs, pausedFor, err := m.from.counts(tube)
	if err != nil || jobs["ready"]+jobs["delayed"]+jobs["buried"] == 0 {
		return err
	}
	m.tube, m.paused = tube, pausedFor > 0
	if err := errors.Join(m.from.enter(tube), m.to.enter(tube)); err != nil {
		return err
	}
	if m.paused {
		if r, err := m.to.Ask("pause-tube %s %d", tube, pausedFor); err != nil || r.Word != "PAUSED" {
			return errors.Join(m.to.failed(err), m.to.refused("pausing tube "+tube, &r))
		}
	}
	for moved := 1; moved > 0 && ctx.Err() == nil; {
		if moved, err = m.moveStates(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (m *mover) moveStates(ctx context.Context) (moved int, err error) {
	ready, err := m.moveReady(ctx)
	if err != nil {
		return 0, err
	}
	delayed, err := m.moveHeads(ctx, "peek-delayed")
	if err != nil || !m.to.picks {
		return ready + delayed, err
	}
	buried, err := m.moveHeads(ctx, "peek-buried")
	return ready + delayed + buried, err
}

// moveReady moves ready jobs, as many at once as may be; few at first, for nobody knows how large they are.
func (m *mover) moveReady(ctx context.Context) (moved int, err error) {
	if m.paused {
		return m.moveHeads(ctx, "peek-ready")
	}
	for n := 1; ctx.Err() == nil; {
		jobs, bytes, err := m.reserve(n)
		if err != nil || len(jobs) == 0 {
			return moved, err
		}
		if err := m.carry(jobs); err != nil {
			return moved, err
		}
		moved += len(jobs)
		if bytes > batchBytes/2 {
			n = max(1, n/4)
		} else if bytes < batchBytes/8 {
			n = min(2*n, m.Batch)
		}
	}
	return moved, nil
}

// reserve takes up to n ready jobs of the tube, in their order.
func (m *mover) reserve(n int) (jobs []*remoteJob, bytes int, err error) {
	for range n {
		m.from.Send("reserve-with-timeout 0")
	}
	err = m.from.receive(n, func(_ int, r *wire.Reply) {
		if r.Word == "RESERVED" {
			jobs = append(jobs, &remoteJob{id: r.ID(), body: r.Data})
			bytes += len(r.Data)
		}
	})
	if err != nil {
		return nil, 0, err
	}
	for _, j := range jobs {
		m.from.Send("stats-job %d", j.id)
	}
	err = m.from.receive(len(jobs), func(i int, r *wire.Reply) { jobs[i].describe(wire.Stats(r.Data)) })
	// A job whose time to run is over by now is another one's.
	jobs = slices.DeleteFunc(jobs, func(j *remoteJob) bool { return j.state != "reserved" })
	for _, j := range jobs {
		j.state = "ready"
	}
	return jobs, bytes, err
}

// moveHeads moves the first job of a list, as long as there is one.
func (m *mover) moveHeads(ctx context.Context, peek string) (moved int, err error) {
	for ctx.Err() == nil {
		r, err := m.from.Ask("%s", peek)
		if err != nil {
			return moved, m.from.failed(err)
		}
		if r.Word != "FOUND" {
			return moved, nil
		}
		j := &remoteJob{id: r.ID(), body: r.Data}
		if r, err = m.from.Ask("stats-job %d", j.id); err != nil {
			return moved, m.from.failed(err)
		}
		j.describe(wire.Stats(r.Data))
		if j.state == "" || j.state == "reserved" {
			continue // A worker was faster.
		}
		if err := m.carry([]*remoteJob{j}); err != nil {
			return moved, err
		}
		moved++
	}
	return moved, nil
}

// carry brings jobs to the destination and deletes them at the source.
func (m *mover) carry(jobs []*remoteJob) error {
	var fresh []*remoteJob
	for _, j := range jobs {
		if j.copy = m.moved.find(m.tube, j); j.copy == 0 {
			fresh = append(fresh, j)
		}
	}
	m.Known += len(jobs) - len(fresh)
	m.open = fresh
	refused, err := m.put(fresh)
	if err == nil {
		m.open = placed(fresh)
	}
	// What is known to be there is completed, also after an error.
	if failed := m.moved.add(m.tube, placed(fresh)); failed != nil {
		return errors.Join(err, failed)
	}
	if failed := m.remove(placed(jobs)); failed != nil {
		return errors.Join(err, failed)
	}
	m.open = slices.DeleteFunc(m.open, func(j *remoteJob) bool { return j.copy != 0 })
	m.Progress(int64(m.Moved["ready"]+m.Moved["delayed"]+m.Moved["buried"]), int64(m.total))
	return errors.Join(err, refused)
}

// placed are those of the jobs that the destination has.
func placed(jobs []*remoteJob) []*remoteJob {
	var there []*remoteJob
	for _, j := range jobs {
		if j.copy != 0 {
			there = append(there, j)
		}
	}
	return there
}

// put puts jobs at the destination. Those that it has have a copy then, also if others are refused, or if there is an error.
func (m *mover) put(jobs []*remoteJob) (refused, err error) {
	for _, j := range jobs {
		delay := j.delay
		if j.state == "buried" {
			delay = hidden
		}
		m.to.Put(j.priority, delay, j.ttr, j.body)
	}
	err = m.to.receive(len(jobs), func(i int, r *wire.Reply) {
		if r.Word == "INSERTED" {
			jobs[i].copy = r.ID()
		} else if refused == nil {
			refused = m.to.refused(fmt.Sprintf("putting job %d of tube %s, which has %d bytes,", jobs[i].id, m.tube, len(jobs[i].body)), r)
		}
	})
	for _, j := range jobs {
		if err == nil && j.state == "buried" && j.copy != 0 {
			err = m.bury(j)
		}
	}
	return refused, err
}

// bury buries a copy. If the destination has it no more, somebody there has taken it, and it is theirs.
func (m *mover) bury(j *remoteJob) error {
	m.to.Send("reserve-job %d", j.copy)
	m.to.Send("bury %d %d", j.copy, j.priority)
	err := m.to.receive(2, func(int, *wire.Reply) {})
	if err != nil {
		j.copy = 0 // There may be one that is not buried. The original stays.
	}
	return err
}

// remove deletes jobs at the source. What a worker has there is taken back at the destination.
func (m *mover) remove(jobs []*remoteJob) error {
	for _, j := range jobs {
		m.from.Send("delete %d", j.id)
	}
	var taken []*remoteJob
	err := m.from.receive(len(jobs), func(i int, r *wire.Reply) {
		if r.Word == "DELETED" {
			m.Moved[jobs[i].state]++
			m.Bytes += int64(len(jobs[i].body))
		} else {
			taken = append(taken, jobs[i])
		}
	})
	if err != nil || len(taken) == 0 {
		return err
	}
	// The map forgets them first: a job that it had and the destination not would be lost.
	if err := m.moved.undo(m.tube, taken); err != nil {
		return err
	}
	for _, j := range taken {
		m.to.Send("delete %d", j.copy)
	}
	return m.to.receive(len(taken), func(i int, r *wire.Reply) {
		if r.Word == "DELETED" {
			m.Undone = append(m.Undone, taken[i].id)
		} else {
			m.Doubled = append(m.Doubled, taken[i].id)
		}
	})
}

// explain adds to an error what is uncertain because of it.
func (m *mover) explain(err error) error {
	if len(m.open) == 0 {
		return err
	}
	var ids IDs
	for _, j := range m.open {
		ids = append(ids, j.id)
	}
	if m.moved.file != nil {
		return fmt.Errorf("%w; may be at both servers: %v of tube %s; run the same command again, which deletes at the source those that the map has", err, ids, m.tube)
	}
	return fmt.Errorf("%w; may be at both servers: %v of tube %s", err, ids, m.tube)
}

// pause waits before the next look at the tubes.
func pause(ctx context.Context) {
	timer := time.NewTimer(waitBetween)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
