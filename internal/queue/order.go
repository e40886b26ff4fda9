package queue

// item is something that stands in an order: a client waiting at a tube, or
// the next moment at which a tube or a client wants attention.
//
// An item's key may be lower than the true one. It is raised only when the item
// comes to the front, which spares the hot path from moving items about: a
// reservation that ends before its time leaves the client's timer alone, and a
// client that got a job from one tube stays in line at its others.
type item struct {
	key    int64
	client *client
	tube   *tube
	place  int // position in the order, or absent
}

const absent = -1

// before is the order. Of equal keys the one without a client comes first: what
// becomes ready at a moment is ready for whose time is up at that moment. Of two
// clients the lower id comes first, so that nothing is left to chance.
func (i *item) before(other *item) bool {
	if i.key != other.key {
		return i.key < other.key
	}
	if i.client == nil || other.client == nil {
		return i.client == nil && other.client != nil
	}
	return i.client.id < other.client.id
}

// order is a binary heap of items.
type order []*item

func (o *order) add(i *item) {
	*o = append(*o, i)
	o.up(len(*o)-1, i)
}

func (o *order) remove(i *item) {
	last := len(*o) - 1
	moved := (*o)[last]
	(*o)[last] = nil
	*o = (*o)[:last]
	if i != moved {
		if at := i.place; at > 0 && moved.before((*o)[(at-1)/2]) {
			o.up(at, moved)
		} else {
			o.down(at, moved)
		}
	}
	i.place = absent
	if cap(*o) > 64 && len(*o) < cap(*o)/4 {
		*o = append(make(order, 0, cap(*o)/2), *o...)
	}
}

// lower moves an item up to a smaller key.
func (o *order) lower(i *item, key int64) {
	i.key = key
	o.up(i.place, i)
}

// raise moves an item down to a larger key.
func (o *order) raise(i *item, key int64) {
	i.key = key
	o.down(i.place, i)
}

func (o *order) up(at int, i *item) {
	s := *o
	for at > 0 {
		parent := (at - 1) / 2
		if !i.before(s[parent]) {
			break
		}
		s[at] = s[parent]
		s[at].place = at
		at = parent
	}
	s[at] = i
	i.place = at
}

func (o *order) down(at int, i *item) {
	s := *o
	for {
		child := 2*at + 1
		if child >= len(s) {
			break
		}
		if child+1 < len(s) && s[child+1].before(s[child]) {
			child++
		}
		if !s[child].before(i) {
			break
		}
		s[at] = s[child]
		s[at].place = at
		at = child
	}
	s[at] = i
	i.place = at
}
