package queue

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// mostGroups is how many groups there may be for ages of up to so long. Of
// three neighbours that were left alone the last begins more than an eighth of
// the age, and a tenth of a second, after the first: so there are two for each
// tenth of a second of the last 0.8 s, and two for each step of 7/8 beyond it.
// Between two rounds of merging there may be twice as many.
func mostGroups(oldest time.Duration) int {
	few := 2 * int(ageShare)
	if old := float64(oldest) / float64(ageShare*ageGrain); old > 1 {
		few += 2 * int(math.Ceil(math.Log(old)/math.Log(ageShare/(ageShare-1.0))))
	}
	return max(fewGroups, 2*(few+2)) + 1
}

// ageList is the set itself, and the ages that are told of it.
type ageList struct {
	ages   ages
	all    []Instant // sorted
	first  Instant   // of all that ever came
	latest Instant
}

func newAgeList(at Instant) *ageList { return &ageList{first: at, latest: at} }

func (l *ageList) add(at Instant) {
	l.ages.add(at)
	i, _ := slices.BinarySearch(l.all, at)
	l.all = slices.Insert(l.all, i, at)
	l.first, l.latest = min(l.first, at), max(l.latest, at)
}

func (l *ageList) remove(i int) {
	l.ages.remove(l.all[i])
	l.all = slices.Delete(l.all, i, i+1)
}

// check holds what is told to the bound: never too young, and too old by less
// than a tenth of a second or by an eighth of what is told.
func (l *ageList) check(t interface{ Fatalf(string, ...any) }, now Instant) {
	at, ok := l.ages.oldest()
	if ok != (len(l.all) > 0) {
		t.Fatalf("of %d jobs there is an oldest: %v", len(l.all), ok)
	}
	if ok {
		told, truth := now.sub(at), now.sub(l.all[0])
		if over := told - truth; over < 0 || over >= ageGrain && over > told/ageShare {
			t.Fatalf("the oldest is told to be %v old and is %v", told, truth)
		}
	}
	n := 0
	for i, g := range l.ages.groups {
		if g.start > g.end || i > 0 && g.start <= l.ages.groups[i-1].end {
			t.Fatalf("group %d from %d to %d is out of order", i, g.start, g.end)
		}
		n += int(g.n)
	}
	if n != len(l.all) {
		t.Fatalf("%d jobs are counted, and there are %d", n, len(l.all))
	}
	if most := mostGroups(now.sub(l.first)); len(l.ages.groups) > most {
		t.Fatalf("there are %d groups after %v, more than %d", len(l.ages.groups), now.sub(l.first), most)
	}
}

// drawSpan draws a time of any order of magnitude, up to years.
func drawSpan(t *rapid.T, what string) time.Duration {
	return time.Duration(rapid.Int64Range(0, 10).Draw(t, what)) * rapid.SampledFrom([]time.Duration{
		1, time.Millisecond, 30 * time.Millisecond, time.Second, time.Minute, time.Hour, 24 * time.Hour, 365 * 24 * time.Hour,
	}).Draw(t, "unit")
}

func TestAges(t *testing.T) {
	end := start.add(100 * 365 * 24 * time.Hour) // else the clock runs over
	rapid.Check(t, func(t *rapid.T) {
		l, now := newAgeList(start), start
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { l.check(t, now) },
			"come": func(t *rapid.T) {
				step := drawSpan(t, "step")
				for range rapid.IntRange(1, 100).Draw(t, "jobs") {
					now = min(end, now.add(step))
					l.add(now)
				}
			},
			"pass": func(t *rapid.T) { now = min(end, now.add(drawSpan(t, "time"))) },
			// As in recovery, and when a job is altered in its place.
			"came long ago": func(t *rapid.T) {
				at, step := max(1, now.add(-drawSpan(t, "age"))), drawSpan(t, "step")
				for range rapid.IntRange(1, 100).Draw(t, "jobs") {
					l.add(at)
					if at = at.add(step); at > now {
						break
					}
				}
			},
			"came the other way round": func(t *rapid.T) {
				step := drawSpan(t, "step")
				at := now
				for range rapid.IntRange(1, 100).Draw(t, "jobs") {
					l.add(at)
					at = max(1, at.add(-step))
				}
			},
			"go": func(t *rapid.T) {
				for range min(len(l.all), rapid.IntRange(1, 100).Draw(t, "jobs")) {
					l.remove(rapid.IntRange(0, len(l.all)-1).Draw(t, "which"))
				}
			},
			"the oldest go": func(t *rapid.T) {
				for range min(len(l.all), rapid.IntRange(1, 100).Draw(t, "jobs")) {
					l.remove(0)
					l.check(t, now)
				}
			},
			"again": func(t *rapid.T) { // as a job whose priority is altered
				if len(l.all) == 0 {
					t.Skip("there is none")
				}
				i := rapid.IntRange(0, len(l.all)-1).Draw(t, "which")
				at := l.all[i]
				l.remove(i)
				l.add(at)
			},
		})
		for len(l.all) > 0 {
			l.remove(0)
			l.check(t, now)
		}
	})
}

// TestAgesBetweenGroups puts jobs between two that are far apart: when the first
// goes they must not be taken to be as old.
func TestAgesBetweenGroups(t *testing.T) {
	l := newAgeList(start)
	now := start.add(1000 * time.Second)
	for _, second := range []int{0, 1000, 500, 900, 700} {
		l.add(start.add(time.Duration(second) * time.Second))
		l.check(t, now)
	}
	for len(l.all) > 0 {
		l.remove(0)
		l.check(t, now)
	}
}

// TestAgesOverYears has a job come every hour for ten years, and stay.
func TestAgesOverYears(t *testing.T) {
	const hours = 10 * 365 * 24
	l, now := newAgeList(start), start
	for hour := range hours {
		now = now.add(time.Hour)
		l.add(now)
		if hour%1000 == 0 {
			l.check(t, now)
		}
	}
	l.check(t, now)
	// All that came in the first years go, as the worker catches up.
	for len(l.all) > 100 {
		l.remove(0)
		if len(l.all)%100 == 0 {
			l.check(t, now)
		}
	}
	if most := mostGroups(10 * 365 * 24 * time.Hour); most > 700 {
		t.Fatalf("the bound is %d groups, too many to be one", most)
	}
}

// TestAgesOfAStream puts and takes without end, as a busy tube does, with one
// job that stays: that must not make the groups many.
func TestAgesOfAStream(t *testing.T) {
	l, now := newAgeList(start), start
	l.add(now)
	for i := range 200_000 {
		now = now.add(7 * time.Millisecond)
		l.add(now)
		if i >= 50 {
			l.remove(1)
		}
		if i%1000 == 0 {
			l.check(t, now)
		}
	}
	l.remove(0)
	l.check(t, now)
}
