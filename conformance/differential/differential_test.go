//go:build linux

package differential

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"
)

var (
	totalSteps    = flag.Int("steps", 6000, "steps of the lockstep sessions, all together")
	seed          = flag.Uint64("seed", 0, "seed of the random sessions; 0 chooses one")
	timedEpisodes = flag.Int("timed", 4, "how many timed sessions to play")
	only          = flag.Int("episode", -1, "play only the session of this number")
	network       = flag.String("network", "tcp", "how to talk to the servers: tcp or unix")
	referencePath = flag.String("reference", "beanstalkd", "the reference server's program")
	testedPath    = flag.String("server", "", "the program to test, started with beanstalkd's flags; empty for haricot in this process")
	portable      = flag.Bool("portable", false, "test haricot's portable shell rather than its event loop")
)

// stepsPerEpisode is where both servers are restarted empty: often enough for young queues, seldom enough for old ones.
const stepsPerEpisode = 2500

// TestLockstep plays random sessions on both servers.
func TestLockstep(t *testing.T) {
	path := oracle(t)
	dir := t.TempDir()
	start, chosen := time.Now(), chosenSeed(t)
	reference, tested := program(path, *network, dir, true), underTest(t, dir)
	done, answers := 0, tally{}
	for number := uint64(0); done < *totalSteps; number++ {
		if *only >= 0 {
			number = uint64(*only)
		}
		n := min(stepsPerEpisode, *totalSteps-done)
		e := newEpisode(chosen, number, stepsPerEpisode, reference, tested)
		if err := e.run(n); err != nil {
			t.Fatal(e.report(err, time.Minute))
		}
		answers.add(e.tally)
		done += n
		if *only >= 0 {
			break
		}
	}
	t.Logf("answers: %v", answers)
	t.Logf("%d steps, %.0f a second", done, float64(done)/time.Since(start).Seconds())
}

func chosenSeed(t *testing.T) uint64 {
	t.Helper()
	chosen := *seed
	for chosen == 0 {
		chosen = rand.Uint64()
	}
	t.Logf("-seed %d", chosen)
	return chosen
}
