package queue

import "github.com/haricotq/haricot/internal/protocol"

// index finds a job by its id. It is many small hash tables with open
// addressing instead of a large one, so that growing never takes long, and
// holds only slots, so that the garbage collector has nothing to scan: the ids
// are in the jobs.
type index struct {
	shards [indexShards]shard
}

const (
	indexShards = 256
	shardMin    = 16
	// indexRun is how many ids in sequence share a shard. Jobs put one after
	// the other have ids in sequence and mostly lie side by side in memory, so
	// that a growing shard, which looks at all its jobs, goes through memory in
	// stretches instead of missing the cache for each.
	indexRun = 64
)

type shard struct {
	slots []slot // a power of two of them, 0 where empty
	used  int
}

func (x *index) shard(id protocol.JobID) *shard { return &x.shards[id/indexRun%indexShards] }

// home is where the search for an id starts. The ids of a run have homes side
// by side; a multiplication spreads the runs of a shard.
func (s *shard) home(id protocol.JobID) int {
	run := uint64(id / (indexRun * indexShards))
	return int(run*0x9E3779B97F4A7C15>>32*indexRun+uint64(id%indexRun)) & (len(s.slots) - 1)
}

// find returns the job's slot, or 0 if there is no such job.
func (m *Machine) find(id protocol.JobID) slot {
	s := m.ids.shard(id)
	if len(s.slots) == 0 {
		return 0
	}
	for i := s.home(id); s.slots[i] != 0; i = (i + 1) & (len(s.slots) - 1) {
		if m.job(s.slots[i]).id == id {
			return s.slots[i]
		}
	}
	return 0
}

// enter adds a job that is not in the index.
func (m *Machine) enter(j slot) {
	s := m.ids.shard(m.job(j).id)
	if 4*(s.used+1) > 3*len(s.slots) {
		s.resize(m, max(shardMin, 2*len(s.slots)))
	}
	s.add(m, j)
	s.used++
}

// leave takes a job out and closes the gap, so that no search ends too early.
func (m *Machine) leave(j slot) {
	s := m.ids.shard(m.job(j).id)
	mask := len(s.slots) - 1
	gap := s.home(m.job(j).id)
	for s.slots[gap] != j {
		gap = (gap + 1) & mask
	}
	for i := (gap + 1) & mask; s.slots[i] != 0; i = (i + 1) & mask {
		// An entry may move into the gap unless its home lies after it.
		home := s.home(m.job(s.slots[i]).id)
		if (i-home)&mask >= (i-gap)&mask {
			s.slots[gap] = s.slots[i]
			gap = i
		}
	}
	s.slots[gap] = 0
	s.used--
	if len(s.slots) > shardMin && 8*s.used < len(s.slots) {
		s.resize(m, len(s.slots)/2)
	}
}

func (s *shard) resize(m *Machine, size int) {
	old := s.slots
	s.slots = make([]slot, size)
	for _, j := range old {
		if j != 0 {
			s.add(m, j)
		}
	}
}

func (s *shard) add(m *Machine, j slot) {
	i := s.home(m.job(j).id)
	for s.slots[i] != 0 {
		i = (i + 1) & (len(s.slots) - 1)
	}
	s.slots[i] = j
}
