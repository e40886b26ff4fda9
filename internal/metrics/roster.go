package metrics

// roster says which tubes have metrics of their own when there are more than
// may have. Whoever has a place keeps it until it is gone, so that no series
// comes and goes with the size of a tube; a free place is for the first that
// asks, and tubes ask about in the order in which they were made.
type roster struct {
	most int
	pass uint64
	// places has the tubes that have one, and the pass that has met each last.
	places map[string]uint64
}

// meeting is what a pass learns of a tube that it meets.
type meeting uint8

const (
	placeless meeting = iota
	placed
	metAgain // in this pass: it has gone and was made again meanwhile
)

func newRoster(most int) roster {
	return roster{most: most, places: make(map[string]uint64)}
}

// begin begins a pass over all tubes.
func (r *roster) begin() { r.pass++ }

// meet notes that a tube is there.
func (r *roster) meet(tube string) meeting {
	switch last, ok := r.places[tube]; {
	case !ok:
		return placeless
	case last == r.pass:
		return metAgain
	}
	r.places[tube] = r.pass
	return placed
}

// end ends a pass that has met all tubes: the others have gone.
func (r *roster) end() {
	for tube, last := range r.places {
		if last != r.pass {
			delete(r.places, tube)
		}
	}
}

// admit gives a tube a place, if there is one.
func (r *roster) admit(tube string) bool {
	if len(r.places) >= r.most {
		return false
	}
	r.places[tube] = r.pass
	return true
}
