package operator_test

import (
	"testing"

	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
	"github.com/haricotq/haricot/internal/server"
)

// TestSpot goes through buried jobs of two tubes one by one, there and back.
func TestSpot(t *testing.T) {
	const jobs = 90
	s := openShop(t, server.Config{})
	s.fill("a", jobs, nil)
	s.fill("b", jobs, nil)
	for i := range 2 * jobs { // in another order than that of their ids
		s.do(operator.Bury(queue.Respect), protocol.JobID(1+i*7%(2*jobs)), nil)
	}
	tube := ""
	look := func(at queue.Rank) operator.Spot {
		t.Helper()
		spot, err := s.Spot(t.Context(), tube, queue.Buried, at)
		if err != nil {
			t.Fatal(err)
		}
		return spot
	}
	for _, tube = range []string{"a", ""} {
		var want []protocol.JobID
		for i := range 2 * jobs {
			if id := protocol.JobID(1 + i*7%(2*jobs)); tube == "" || id <= jobs {
				want = append(want, id)
			}
		}
		at := queue.Rank{}
		for i, id := range want {
			spot := look(at)
			if !spot.Found || spot.At.ID != id || spot.Before != i || spot.After != len(want)-i-1 {
				t.Fatalf("place %d of tube %q is %+v, want job %d", i, tube, spot, id)
			}
			if i > 0 && look(spot.Previous).At.ID != want[i-1] || i == 0 && spot.Previous.ID != 0 {
				t.Fatalf("before place %d of tube %q is %+v", i, tube, spot.Previous)
			}
			if last := i == len(want)-1; last != (spot.Next.ID == 0) {
				t.Fatalf("behind place %d of tube %q is %+v", i, tube, spot.Next)
			}
			at = spot.Next
		}
	}

	// A job that has gone leaves its place to the next one.
	spot := look(look(queue.Rank{}).Next)
	s.do(operator.Kick(), spot.At.ID, nil)
	if after := look(spot.At); after.At != spot.Next || after.Before != 1 || after.After != 2*jobs-3 {
		t.Errorf("where a job was is %+v", after)
	}
	if end := look(queue.Rank{Key: 1 << 40}); end.Found || end.Before != 2*jobs-1 || end.Previous.ID == 0 {
		t.Errorf("behind the last is %+v", end)
	}
	if none, err := s.Spot(t.Context(), "none", queue.Buried, queue.Rank{}); err != nil || none != (operator.Spot{}) {
		t.Errorf("a place in no tube is %+v, %v", none, err)
	}
}
