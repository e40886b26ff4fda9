package arena

import (
	"fmt"
	"reflect"
	"unsafe"
)

// Slab holds records of one type outside the Go heap, each known by a number
// that stays the same for the record's life. The number 0 is never given out
// and may stand for no record. Numbers are not dense, and are used again.
type Slab[T any] struct {
	pool pool
}

// NewSlab returns an empty slab that takes its memory from a. It panics if T
// contains pointers of any kind, which the garbage collector would not see
// here, or is larger than SpanSize.
func NewSlab[T any](a *Arena) *Slab[T] {
	t := reflect.TypeFor[T]()
	if hasPointers(t) {
		panic(fmt.Sprintf("arena: slab of %v, which contains pointers", t))
	}
	if t.Size() > SpanSize {
		panic(fmt.Sprintf("arena: slab of %v, which is larger than a span", t))
	}
	s := &Slab[T]{}
	s.pool.init(a, stride[T]())
	return s
}

// stride returns the bytes from one record to the next: T's size, rounded up
// so that each record begins at a multiple of 8.
func stride[T any]() uintptr {
	var record T
	return max(8, (unsafe.Sizeof(record)+7)&^7)
}

// Alloc returns the number of a new record, all zero, or [ErrNoMemory].
func (s *Slab[T]) Alloc() (uint32, error) {
	i, err := s.pool.alloc()
	if err != nil {
		return 0, err
	}
	var zero T
	*s.At(i) = zero
	return i, nil
}

// At returns record i, which must be in use; the pointer is good until the
// record is freed, also while others come and go. For the number of a freed
// record it may return another record or end the program with a memory fault,
// so whoever keeps numbers must know which of them are alive.
func (s *Slab[T]) At(i uint32) *T {
	p := &s.pool
	return (*T)(unsafe.Add(p.bases[i>>(p.shift&31)], uintptr(i&p.mask)*stride[T]()))
}

// Free gives record i back. It panics if the record is not in use.
func (s *Slab[T]) Free(i uint32) { s.pool.free(i) }

// Next returns the number of the first record in use from i on, or 0 if there
// is none. Numbers stay, so that whoever goes through them in several visits
// meets each record that is there all the time once.
func (s *Slab[T]) Next(i uint32) uint32 { return s.pool.next(i) }

// Len returns the number of records in use.
func (s *Slab[T]) Len() int { return s.pool.live }

// hasPointers reports whether values of type t hold anything that the garbage
// collector has to follow.
func hasPointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.Uintptr,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return false
	case reflect.Array:
		return t.Len() > 0 && hasPointers(t.Elem())
	case reflect.Struct:
		for f := range t.NumField() {
			if hasPointers(t.Field(f).Type) {
				return true
			}
		}
		return false
	default:
		return true
	}
}
