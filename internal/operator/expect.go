package operator

import (
	"context"
	"errors"
	"math"
)

// ErrUnexpected says that a query finds another number of jobs than was expected.
var ErrUnexpected = errors.New("the query does not find the number of jobs that was expected")

// BulkExpecting is Bulk, unless the query finds another number of jobs than
// expected, which may have been counted before: then it does nothing and
// returns ErrUnexpected, with how many there are.
func (h *Hand) BulkExpecting(ctx context.Context, q *Query, a Action, expected int) (Outcome, error) {
	ids, _, err := h.Matching(ctx, q, math.MaxInt)
	if err != nil {
		return Outcome{}, err
	}
	if len(ids) != expected {
		return Outcome{Matched: len(ids)}, ErrUnexpected
	}
	return h.each(ctx, ids, q, a)
}
