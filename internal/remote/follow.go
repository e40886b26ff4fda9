package remote

import (
	"errors"

	"github.com/haricotq/haricot/internal/protocol"
)

// Follower looks at a tube again and again and says what is new. It takes no job. All that the protocol shows of a tube's jobs
// is which one is next in each state, so a job that comes and goes between two looks, or stands behind others, is in the counts only.
type Follower struct {
	server *Server
	tube   string
	next   map[State]protocol.JobID
	counts Counts
}

// Counts are how many jobs of a tube are in which state, and how many were put and deleted since the tube began.
type Counts struct {
	Put      uint64 `json:"put"`
	Deleted  uint64 `json:"deleted"`
	Ready    uint64 `json:"ready"`
	Reserved uint64 `json:"reserved"`
	Delayed  uint64 `json:"delayed"`
	Buried   uint64 `json:"buried"`
}

// Sight is what a look has shown.
type Sight struct {
	Jobs    []*Job // those that are next in their state and were not so before
	Changed bool   // Changed says that the counts are others than before.
	Counts  Counts
}

// NewFollower begins to follow a tube, which need not exist yet.
func NewFollower(s *Server, tube string) *Follower {
	return &Follower{server: s, tube: tube, next: map[State]protocol.JobID{}}
}

// Look looks once.
func (f *Follower) Look() (sight Sight, err error) {
	stats, err := f.server.TubeStat(f.tube)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return sight, err
	}
	sight.Counts = Counts{
		Put: stats.Number("total-jobs"), Deleted: stats.Number("cmd-delete"),
		Ready: stats.Number("current-jobs-ready"), Reserved: stats.Number("current-jobs-reserved"),
		Delayed: stats.Number("current-jobs-delayed"), Buried: stats.Number("current-jobs-buried"),
	}
	sight.Changed = sight.Counts != f.counts
	f.counts = sight.Counts
	for _, state := range []State{Buried, Delayed, Ready} {
		job, err := f.peek(state)
		if err != nil {
			return sight, err
		}
		if job == nil {
			delete(f.next, state)
			continue
		}
		if f.next[state] != job.ID {
			f.next[state] = job.ID
			sight.Jobs = append(sight.Jobs, job)
		}
	}
	return sight, nil
}

// peek looks at the next job in a state; nil if there is none.
func (f *Follower) peek(state State) (*Job, error) {
	job, err := f.server.Peek(f.tube, state)
	if errors.Is(err, ErrNotFound) {
		return nil, nil //nolint:nilnil // no job is no fault
	}
	return job, err
}
