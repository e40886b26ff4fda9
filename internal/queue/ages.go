package queue

import (
	"slices"
	"time"
)

// ages tells how long the oldest of a set of jobs has been in it, without
// knowing the jobs. It counts them in groups of those that came at about the
// same time, and the longer ago that is the wider a group may be: the time that
// it tells is never too short, and too long by an eighth of itself or by a tenth
// of a second at most.
type ages struct {
	groups []ageGroup // the oldest first
	tidyAt int        // how many groups there may be before some are merged
}

// ageGroup are n jobs that came from start to end. Groups do not overlap.
type ageGroup struct {
	start, end Instant
	n          uint32
}

const (
	// ageGrain is the span of a group of jobs that have just come.
	ageGrain = 100 * time.Millisecond
	// ageShare is the span of an old group as a share of its age.
	ageShare = 8
	// fewGroups is up to how many groups nothing needs merging.
	fewGroups = 64
)

// add counts a job that has come at a moment, which may lie before that of
// others. It joins the group of its time, or one beside it that stays narrow.
func (a *ages) add(at Instant) {
	i := a.groupOf(at)
	if i >= 0 {
		if g := &a.groups[i]; at <= g.end || at.sub(g.start) < ageGrain {
			g.end = max(g.end, at)
			g.n++
			return
		}
	}
	if i+1 < len(a.groups) {
		if g := &a.groups[i+1]; g.end.sub(at) < ageGrain {
			g.start = at
			g.n++
			return
		}
	}
	a.groups = slices.Insert(a.groups, i+1, ageGroup{at, at, 1})
	if len(a.groups) > max(a.tidyAt, fewGroups) {
		a.tidy(a.groups[len(a.groups)-1].end)
		a.tidyAt = 2 * len(a.groups)
	}
}

// remove ends the counting of a job that has come at a moment.
func (a *ages) remove(at Instant) {
	i := a.groupOf(at)
	if a.groups[i].n--; a.groups[i].n == 0 {
		a.groups = slices.Delete(a.groups, i, i+1)
	}
}

// groupOf is the position of the last group that begins at a moment or before
// it, or -1. Most that come or go have come lately.
func (a *ages) groupOf(at Instant) int {
	last := len(a.groups) - 1
	if last < 0 || a.groups[last].start <= at {
		return last
	}
	i, exact := slices.BinarySearchFunc(a.groups, at, func(g ageGroup, at Instant) int {
		return int(max(-1, min(1, g.start-at)))
	})
	if exact {
		return i
	}
	return i - 1
}

// tidy merges neighbours that are old enough for it at a moment.
func (a *ages) tidy(now Instant) {
	kept := a.groups[:1]
	for _, g := range a.groups[1:] {
		last := &kept[len(kept)-1]
		if span := g.end.sub(last.start); span < ageGrain || span <= now.sub(last.start)/ageShare {
			last.end = g.end
			last.n += g.n
		} else {
			kept = append(kept, g)
		}
	}
	clear(a.groups[len(kept):])
	a.groups = kept
}

// oldest is when the oldest of the jobs has come; ok is false if there is none.
func (a *ages) oldest() (at Instant, ok bool) {
	if len(a.groups) == 0 {
		return 0, false
	}
	return a.groups[0].start, true
}
