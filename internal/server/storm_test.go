package server

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestStorm has a hundred thousand delayed jobs fall due in the same second.
func TestStorm(t *testing.T) {
	const jobs = 100000
	everywhere(t, func(t *testing.T, w setting) {
		s := w.open(t, Config{})
		c, polite := s.client(), s.client()
		c.ask("use storm\r\nwatch storm\r\nignore default\r\n", "USING storm\r\nWATCHING 2\r\nWATCHING 1\r\n")
		chance := rand.New(rand.NewPCG(7, 8))
		type job struct{ id, priority int }
		all := make([]job, 0, jobs)
		var puts strings.Builder
		for i := range jobs {
			j := job{i + 1, chance.IntN(5)}
			all = append(all, j)
			fmt.Fprintf(&puts, "put %d 3600 60 0\r\n\r\n", j.priority)
		}
		c.converse(puts.String(), insertions(1, jobs))
		time.Sleep(time.Hour - 1) //nolint:forbidigo // Fake time passes by this.
		if got := polite.stat("current-jobs-ready"); got != 0 {
			t.Fatalf("%d jobs are ready before their time", got)
		}
		time.Sleep(time.Nanosecond) //nolint:forbidigo // As above.
		// All while the storm lasts, other clients are served.
		seen := 0
		for ready := -1; ready < jobs; seen++ {
			text := polite.document("stats-tube storm")
			now := number(t, text, "current-jobs-ready")
			if now < ready || now+number(t, text, "current-jobs-delayed") != jobs {
				t.Fatalf("after %d:\n%s", ready, text)
			}
			ready = now
		}
		t.Logf("%d questions were answered during the storm", seen)
		if seen < 5 {
			t.Errorf("%d questions were answered during the storm, want more", seen)
		}

		slices.SortFunc(all, func(a, b job) int {
			if a.priority != b.priority {
				return a.priority - b.priority
			}
			return a.id - b.id
		})
		var answers bytes.Buffer
		for _, j := range all {
			fmt.Fprintf(&answers, "RESERVED %d 0\r\n\r\n", j.id)
		}
		c.converse(strings.Repeat("reserve\r\n", jobs), answers.String())
	}, inBubble)
}
