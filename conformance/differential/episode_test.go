//go:build linux

package differential

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// An episode is one session on two fresh servers, made from a seed and a number, so that it can be had again without those before it.
type episode struct {
	seed, number      uint64
	maxJobSize        int
	peers             int
	drainsAt          int // the step before which both servers are drained, or -1
	reference, tested starter
	rng               *rand.Rand
	tally             tally
	taken             []step
	patience          time.Duration
}

func newEpisode(seed, number uint64, steps int, reference, tested starter) *episode {
	rng := rand.New(rand.NewPCG(seed, number))
	e := &episode{
		seed: seed, number: number, reference: reference, tested: tested, rng: rng, drainsAt: -1,
		maxJobSize: []int{1, 10, 100, 1000, 65535}[rng.IntN(5)],
		peers:      2 + rng.IntN(6),
		patience:   5 * time.Second,
	}
	if rng.IntN(3) == 0 {
		e.drainsAt = steps * 9 / 10
	}
	return e
}

// run makes and takes steps until the servers differ or the number is reached.
func (e *episode) run(steps int) error {
	l, err := newLockstep(e.reference, e.tested, e.maxJobSize, e.peers, e.patience)
	if err != nil {
		return err
	}
	defer l.stop()
	if err := l.settle(); err != nil {
		return err
	}
	e.tally = l.session.tally
	g := &generator{vocabulary: lockstepVocabulary(e.rng, e.maxJobSize), session: l.session}
	for len(e.taken) < steps {
		st := step{action: drains}
		if len(e.taken) != e.drainsAt {
			st = g.next()
		}
		e.taken = append(e.taken, st)
		if err := l.take(st); err != nil {
			return err
		}
	}
	return nil
}

// replay takes recorded steps on fresh servers. It answers the error and how many steps it took to meet it.
func (e *episode) replay(steps []step, patience time.Duration) (int, error) {
	l, err := newLockstep(e.reference, e.tested, e.maxJobSize, e.peers, patience)
	if err != nil {
		return 0, err
	}
	defer l.stop()
	if err := l.settle(); err != nil {
		return 0, err
	}
	for i, st := range steps {
		if err := l.take(st); err != nil {
			return i + 1, err
		}
	}
	return len(steps), nil
}

// shrink looks for a shorter session with a mismatch, by leaving out ever smaller runs of steps and then single commands, until
// nothing more can go or the time is spent.
func (e *episode) shrink(steps []step, late bool, budget time.Duration) []step {
	end := time.Now().Add(budget)
	for size := (len(steps) + 1) / 2; size > 0 && time.Now().Before(end); {
		shorter := e.leaveOut(steps, size, late, end)
		if size > 1 || len(shorter) == len(steps) {
			size /= 2
		}
		steps = shorter
	}
	for i := range steps {
		for j := 0; j < len(steps[i].commands) && len(steps[i].commands) > 1 && time.Now().Before(end); {
			candidate := slices.Clone(steps)
			candidate[i].commands = slices.Delete(slices.Clone(steps[i].commands), j, j+1)
			candidate[i].cuts, candidate[i].held = nil, 0
			if n, ok := e.stillDiffers(candidate, late); ok && n == len(steps) {
				steps = candidate
			} else {
				j++
			}
		}
	}
	return steps
}

// leaveOut tries to do without each run of size steps, from the back, so that the steps which later ones build on go last.
func (e *episode) leaveOut(steps []step, size int, late bool, end time.Time) []step {
	for at := len(steps) - size; at > -size && time.Now().Before(end); at -= size {
		from, to := max(at, 0), min(at+size, len(steps))
		if from >= to {
			continue
		}
		candidate := slices.Concat(steps[:from], steps[to:])
		if n, ok := e.stillDiffers(candidate, late); ok {
			steps = candidate[:n]
		}
	}
	return steps
}

// stillDiffers plays a candidate. Where the first mismatch was one of two replies, one of patience does not count as the same.
func (e *episode) stillDiffers(steps []step, late bool) (int, bool) {
	n, err := e.replay(steps, time.Second)
	var m *mismatch
	return n, errors.As(err, &m) && m.late == late
}

// report tells all that is needed to see a mismatch, and to see it again.
func (e *episode) report(cause error, budget time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v\nseed %d, episode %d, step %d, -z %d\n", cause, e.seed, e.number, len(e.taken), e.maxJobSize)
	fmt.Fprintf(&b, "again: go test ./conformance/differential -run TestLockstep -seed %d -episode %d -steps %d\n", e.seed, e.number, len(e.taken))
	recent := e.taken[max(0, len(e.taken)-15):]
	fmt.Fprintf(&b, "the last %d steps:\n", len(recent))
	for _, st := range recent {
		fmt.Fprintf(&b, "  %v\n", st)
	}
	var m *mismatch
	if !errors.As(cause, &m) {
		return b.String()
	}
	short := e.shrink(e.taken, m.late, budget)
	_, err := e.replay(short, time.Second)
	if !errors.As(err, &m) {
		fmt.Fprintf(&b, "played again, the same steps do not differ (%v): the difference depends on timing\n", err)
		return b.String()
	}
	fmt.Fprintf(&b, "shrunk to %d steps: %v\n", len(short), err)
	for _, st := range short {
		fmt.Fprintf(&b, "  %v\n", st)
	}
	return b.String()
}
