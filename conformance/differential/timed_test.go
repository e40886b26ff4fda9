//go:build linux

package differential

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// A timed episode is about what the servers do by themselves: delays, pauses, times to run, safety margins and timeouts that end. Its
// commands come in bursts of at most window, a second and a third apart, and all its times are whole seconds. Whatever a
// burst starts therefore ends at the same fraction of a second as the burst, and no two of the three bursts share theirs: commands and
// timers never meet. Within a burst, steps keep a distance that no server's clock can mistake.
const (
	bursts   = 3
	period   = time.Second + time.Second/bursts
	window   = 280 * time.Millisecond
	distance = 6 * time.Millisecond
)

// errTooSlow: the machine did not let a burst end within its window, so the comparison would be by chance.
var errTooSlow = errors.New("a burst took too long")

// sameMisses is how often in all an episode must differ to count: what is wrong is so each time, what is chance is not.
const sameMisses = 3

func timedVocabulary(rng *rand.Rand) *vocabulary {
	return &vocabulary{
		rng: rng, maxJobSize: 1000,
		delays:   []string{"0", "0", "0", "1", "1", "2", "3"},
		ttrs:     []string{"0", "1", "1", "2", "2", "3", "5000"},
		timeouts: []string{"1", "1", "2", "3", "100000"},
		pauses:   []string{"0", "1", "1", "2"},
	}
}

// TestTimers plays timed episodes, several at once because they mostly sleep.
func TestTimers(t *testing.T) {
	path := oracle(t)
	chosen := chosenSeed(t)
	dir := t.TempDir()
	reference, tested := program(path, *network, dir, true), underTest(t, dir)
	var playing sync.WaitGroup
	var mu sync.Mutex
	answers := tally{}
	places := make(chan struct{}, 2*runtime.GOMAXPROCS(0))
	// Each episode waits in system calls, and so does the server that runs in this process: with a processor of the runtime's for
	// each of them, none waits for the runtime to notice that another one sleeps.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4 * cap(places)))
	for number := range uint64(*timedEpisodes) {
		playing.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			e := newEpisode(chosen, number, 0, reference, tested)
			e.patience = 2 * time.Second
			var err error
			misses := 0
			for range 5 + sameMisses {
				e.rng, e.taken = rand.New(rand.NewPCG(chosen, number)), nil
				err = e.runTimed()
				switch {
				case errors.Is(err, errTooSlow):
					continue // The same session may find the machine less busy.
				case err != nil && misses < sameMisses-1:
					// Timers that end within a few milliseconds of each other meet in one tick of the reference, or do not.
					misses++
					t.Logf("episode %d is played again: %v", number, err)
					continue
				case err != nil:
					t.Errorf("%v\nseed %d, episode %d, step %d\n%s", err, e.seed, e.number, len(e.taken), e.story())
				}
				mu.Lock()
				defer mu.Unlock()
				answers.add(e.tally)
				return
			}
			t.Logf("episode %d is left out: %v", number, err)
		})
	}
	playing.Wait()
	t.Logf("%d answers: %v", answers.sum(), answers)
}

// story is all steps, each on a line.
func (e *episode) story() string {
	var b strings.Builder
	for _, st := range e.taken {
		fmt.Fprintf(&b, "  %v\n", st)
	}
	return b.String()
}

func (e *episode) runTimed() error {
	l, err := newLockstep(e.reference, e.tested, 1000, e.peers, e.patience)
	if err != nil {
		return err
	}
	defer l.stop()
	e.tally = l.session.tally
	g := &generator{vocabulary: timedVocabulary(e.rng), session: l.session, single: true}
	start := time.Now()
	for n := range bursts + 3 {
		begin := start.Add(time.Duration(n) * period)
		if n >= bursts {
			begin = begin.Add(window + 20*time.Millisecond) // Between the timers of two bursts.
		}
		e.taken = append(e.taken, step{action: sleeps})
		if err := l.sleepUntil(begin); err != nil {
			return err
		}
		if err := l.settle(); err != nil {
			return err
		}
		for next := begin; n < bursts && time.Since(begin) < window/2; next = time.Now().Add(distance) {
			time.Sleep(time.Until(next))
			st := g.next()
			e.taken = append(e.taken, st)
			err := l.take(st)
			if time.Since(begin) > window {
				return fmt.Errorf("%w: %v", errTooSlow, time.Since(begin))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// sleepUntil keeps the servers awake meanwhile. The reference has a fault: a time to run that ends in the very microsecond in which it looks
// is forgotten until the connection speaks, and because it looks again and again in the last millisecond this happens to every
// third job of an idle connection. So every connection says an empty line every few milliseconds, which counts nowhere.
func (l *lockstep) sleepUntil(t time.Time) error {
	for time.Until(t) > 0 {
		for n := range l.session.peers {
			p := &l.session.peers[n]
			if !p.open || p.halfClosed {
				continue
			}
			for _, s := range l.sides {
				if err := s.links[n].nudge(p.blocked()); err != nil {
					return err
				}
			}
		}
		time.Sleep(min(distance/3, time.Until(t)))
	}
	return nil
}

// nudge says an empty line and takes the answer out again. A connection that still waits in a reserve is left alone.
func (k *link) nudge(waiting bool) error {
	if err := k.drain(); err != nil {
		return err
	}
	if _, _, answered := k.next(); waiting && !answered || k.ended {
		return nil
	}
	const answer = "UNKNOWN_COMMAND\r\n"
	before := len(k.input)
	if err := k.write([]byte("\r\n")); err != nil {
		return err
	}
	for start := time.Now(); len(k.input) < before+len(answer) && !k.ended && time.Since(start) < time.Second; {
		if err := k.drain(); err != nil {
			return err
		}
	}
	if got := string(k.input[before:]); got != answer {
		return fmt.Errorf("an empty line was answered by %q", got)
	}
	k.input = k.input[:before]
	return nil
}
