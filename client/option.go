package client

import (
	"math"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
)

// What a job gets unless an [Option] says otherwise.
const (
	DefaultPriority uint32 = 1024
	DefaultDelay           = 0 * time.Second
	DefaultTTR             = 60 * time.Second
)

// An Option sets a property of a job when it is put, released or buried. Where
// one is given twice, the last counts.
type Option struct {
	kind  optionKind
	value int64
}

type optionKind uint8

const (
	withPriority optionKind = iota + 1
	withDelay
	withTTR
)

// WithPriority sets the priority: 0 is the most urgent, 4294967295 the least.
// A put without it uses [DefaultPriority]. Release and Bury without it leave the
// priority as it is, for which they ask the server by an additional command.
func WithPriority(priority uint32) Option { return Option{withPriority, int64(priority)} }

// WithDelay sets how long the job stays delayed before it becomes ready, for
// put and release. It is sent in whole seconds, rounded up; at most 4294967295.
func WithDelay(d time.Duration) Option { return Option{withDelay, int64(d)} }

// WithTTR sets the time to run, for put: how long a worker may hold the job
// without touching it until the server gives it to another. It is sent in whole
// seconds, rounded up; at least 1, at most 4294967295.
func WithTTR(d time.Duration) Option { return Option{withTTR, int64(d)} }

// settings is what options amount to, as the protocol writes it.
type settings struct {
	priority, delay, ttr uint64
	hasPriority          bool
}

func apply(options []Option) (settings, error) {
	s := settings{priority: uint64(DefaultPriority), ttr: uint64(DefaultTTR / time.Second)}
	for _, o := range options {
		var err error
		switch o.kind {
		case withPriority:
			s.priority, s.hasPriority = uint64(o.value), true
		case withDelay:
			s.delay, err = wholeSeconds(time.Duration(o.value), math.MaxUint32)
		case withTTR:
			s.ttr, err = wholeSeconds(time.Duration(o.value), math.MaxUint32)
			s.ttr = max(s.ttr, uint64(protocol.MinTTR/time.Second))
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

// putRequest makes the request that puts a body.
func (s *settings) putRequest(body []byte) request {
	return request{
		verb: protocol.Put,
		args: [4]uint64{s.priority, s.delay, s.ttr, uint64(len(body))},
		n:    4,
		body: body,
	}
}
