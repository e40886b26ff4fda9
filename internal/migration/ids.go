package migration

import (
	"fmt"
	"slices"
	"strings"

	"github.com/haricotq/haricot/internal/protocol"
)

// IDs are jobs of the source.
type IDs []protocol.JobID

// String names them for a person, in their order, but not too many.
func (ids IDs) String() string {
	const most = 20
	var b strings.Builder
	for i, id := range slices.Sorted(slices.Values(ids)) {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(ids)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d", id)
	}
	if len(ids) == 1 {
		return "job " + b.String()
	}
	return "jobs " + b.String()
}
