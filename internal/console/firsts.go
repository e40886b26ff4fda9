package console

import (
	"container/heap"
	"slices"
)

// firsts keeps the first of many things in an order, without keeping them all.
// It copies what it keeps, and moves only pointers about.
type firsts[T any] struct {
	most    int
	compare func(a, b *T) int // below 0 if a comes before b; never 0 for two things

	kept []*T // a heap whose top is the last
}

// add considers a thing.
func (f *firsts[T]) add(thing *T) {
	switch {
	case len(f.kept) < f.most:
		copied := *thing
		heap.Push(f, &copied)
	case f.most > 0 && f.compare(thing, f.kept[0]) < 0:
		*f.kept[0] = *thing
		heap.Fix(f, 0)
	}
}

// sorted is what has been kept, in order. Nothing can be added any more.
func (f *firsts[T]) sorted() []*T {
	slices.SortFunc(f.kept, f.compare)
	return f.kept
}

// Len is for package heap, as are the following.
func (f *firsts[T]) Len() int { return len(f.kept) }

// Less is for package heap.
func (f *firsts[T]) Less(i, k int) bool { return f.compare(f.kept[i], f.kept[k]) > 0 }

// Swap is for package heap.
func (f *firsts[T]) Swap(i, k int) { f.kept[i], f.kept[k] = f.kept[k], f.kept[i] }

// Push is for package heap.
func (f *firsts[T]) Push(x any) { f.kept = append(f.kept, x.(*T)) } //nolint:errcheck,forcetypeassert // only add pushes

// Pop is for package heap, and not needed.
func (f *firsts[T]) Pop() any { panic("console: nothing is taken from firsts") }
