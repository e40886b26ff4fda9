package docs_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// TestStallHidesNoReservation plays what no client can bring about: the server is held up from before the last second of a reservation
// until after its end, while the worker waits for another job. The queue is told the time, so a jump of it is such a stall.
func TestStallHidesNoReservation(t *testing.T) {
	m := queue.New(queue.Config{Limits: queue.Limits{MaxJobSize: protocol.DefaultMaxJobSize}})
	t.Cleanup(func() {
		if err := m.Release(); err != nil {
			t.Error(err)
		}
	})
	start := queue.Instant(0)
	worker := m.Open()
	m.BeginPut(start, worker, &protocol.Command{Verb: protocol.Put, TTR: 5 * time.Second})
	m.EndPut(start, worker, true)
	m.Apply(start, worker, &protocol.Command{Verb: protocol.Reserve})
	m.Apply(start, worker, &protocol.Command{Verb: protocol.Reserve})

	late := start + queue.Instant(10*time.Second)
	for m.Advance(late, 1) {
	}
	var said []string
	for _, r := range m.Replies() {
		said = append(said, r.Word.String())
	}
	// The second RESERVED is the answer to the second reserve: the worker knows of every reservation that it has.
	if diff := cmp.Diff([]string{"INSERTED", "RESERVED", "RESERVED"}, said); diff != "" {
		t.Errorf("replies wanted (-) and got (+):\n%s", diff)
	}
	if n := m.Stats().Jobs.Reserved; n != 1 {
		t.Errorf("%d jobs are reserved, want 1", n)
	}
}
