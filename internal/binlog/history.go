package binlog

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// history is what the records have told so far.
type history struct {
	jobs    map[protocol.JobID]*life
	tubes   map[string]string // every name once, for many jobs share it
	highest protocol.JobID
	burials uint64
}

// life is what is known of a job. The last record about it wins.
type life struct {
	last queue.Record
	size int32 // of the body with its CRLF
	tube string
	file int // of the body, -1 while none was seen
	body int64
	seen struct { // the last record
		file int
		at   int64
	}
	burial burial
}

// burial is a buried job's place in the order of burial. A record of the
// burial itself has a number, in the order of the log. Where only a copy of the
// job is left, which beanstalkd writes when it gives up an old file, the burial was
// in a file that is gone, and so before all that have a number; among those
// the last reservation tells.
type burial struct {
	number   uint64 // 0: not known
	reserved int64
}

func (b burial) compare(c burial) int {
	return cmp.Or(cmp.Compare(b.number, c.number), cmp.Compare(b.reserved, c.reserved))
}

// apply takes the next record. It says what is wrong with it, if anything.
func (h *history) apply(r *record, file int) (fault string) {
	j := h.jobs[r.id]
	if j != nil {
		if fault := j.contradicted(r); fault != "" {
			return fault
		}
	}
	h.highest = max(h.highest, r.id)
	if r.state == deleted {
		delete(h.jobs, r.id)
		return ""
	}
	if j == nil {
		j = &life{file: -1}
		h.jobs[r.id] = j
	}
	switch {
	case r.state != buried:
		j.burial = burial{}
	case !r.full():
		h.burials++
		j.burial = burial{number: h.burials}
	case j.last.State != queue.Buried:
		j.burial = burial{reserved: r.deadline - r.ttr}
	}
	if r.full() {
		j.tube, j.size, j.file, j.body = h.name(r.tube), r.bodySize, file, r.body
	}
	j.last = r.survivor()
	j.seen.file, j.seen.at = file, r.at
	return ""
}

// contradicted tells what of a record about the same job cannot be, since it
// never changes.
func (j *life) contradicted(r *record) (fault string) {
	switch {
	case j.last.Created != queue.Instant(r.created):
		return fmt.Sprintf("job %d would have been put at another time", r.id)
	case j.file < 0:
		return ""
	case j.size != r.bodySize:
		return fmt.Sprintf("the body of job %d would have changed from %d to %d bytes", r.id, j.size-2, r.bodySize-2)
	case r.full() && j.tube != r.tube:
		return fmt.Sprintf("job %d would have gone from tube %s to %s", r.id, j.tube, r.tube)
	}
	return ""
}

func (h *history) name(tube string) string {
	if known, ok := h.tubes[tube]; ok {
		return known
	}
	h.tubes[tube] = tube
	return tube
}

// outcome is what remains in the end.
func (h *history) outcome(files []string) ([]Job, []Lost) {
	jobs := make([]Job, 0, len(h.jobs))
	var lost []Lost
	var graves []*life
	for id, j := range h.jobs {
		switch {
		case j.file < 0:
			lost = append(lost, Lost{id, files[j.seen.file], j.seen.at})
			continue
		case j.last.State == queue.Buried:
			graves = append(graves, j)
		}
	}
	slices.SortFunc(graves, func(a, b *life) int {
		return cmp.Or(a.burial.compare(b.burial), cmp.Compare(a.last.ID, b.last.ID))
	})
	for i, j := range graves {
		j.last.Burial = uint64(i + 1)
	}
	for _, j := range h.jobs {
		if j.file >= 0 {
			j.last.Tube, j.last.Size = j.tube, uint32(j.size-2)
			jobs = append(jobs, Job{j.last, j.file, j.body})
		}
	}
	slices.SortFunc(jobs, func(a, b Job) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.offset, b.offset))
	})
	slices.SortFunc(lost, func(a, b Lost) int { return cmp.Compare(a.ID, b.ID) })
	return jobs, lost
}
