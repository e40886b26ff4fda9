package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrDecode is found where a job's body is not what the codec takes. It is
// permanent: a worker does not try the job again.
var ErrDecode = errors.New("the body cannot be decoded")

// A Codec turns values into bodies of jobs and back. It must be safe for
// concurrent use.
type Codec interface {
	Encode(value any) ([]byte, error)
	// Decode fills what into points to. It may keep the body.
	Decode(body []byte, into any) error
}

// JSON is the codec that tubes have unless they are given another: package
// encoding/json.
var JSON Codec = jsonCodec{}

type jsonCodec struct{}

// Encode is json.Marshal.
func (jsonCodec) Encode(value any) ([]byte, error) { return json.Marshal(value) }

// Decode is json.Unmarshal.
func (jsonCodec) Decode(body []byte, into any) error { return json.Unmarshal(body, into) }

// A Tube is a tube whose jobs are values of one type.
type Tube[T any] struct {
	pool  *Pool
	name  string
	codec Codec
}

// NewTube makes a tube of values of type T. A nil codec is [JSON].
func NewTube[T any](p *Pool, name string, codec Codec) *Tube[T] {
	if codec == nil {
		codec = JSON
	}
	return &Tube[T]{p, name, codec}
}

// Name returns the tube's name.
func (t *Tube[T]) Name() string { return t.name }

// Put puts a value, as [Pool.Put] does a body.
func (t *Tube[T]) Put(ctx context.Context, value T, options ...Option) (Ref, error) {
	body, err := t.codec.Encode(value)
	if err != nil {
		return Ref{}, fmt.Errorf("client: encoding a job for %s: %w", t.name, err)
	}
	return t.pool.Put(ctx, t.name, body, options...)
}

// PutAll puts values, as [Pool.PutAll] does bodies. If one cannot be encoded, none
// is put.
func (t *Tube[T]) PutAll(ctx context.Context, values []T, options ...Option) ([]Ref, error) {
	bodies := make([][]byte, len(values))
	for i, value := range values {
		var err error
		if bodies[i], err = t.codec.Encode(value); err != nil {
			return nil, fmt.Errorf("client: encoding job %d for %s: %w", i, t.name, err)
		}
	}
	return t.pool.PutAll(ctx, t.name, bodies, options...)
}

// Reserve waits for a job, as [Pool.Reserve] does. If its body cannot be decoded,
// the job comes with an error that is [ErrDecode], and must be ended as any other.
func (t *Tube[T]) Reserve(ctx context.Context) (*Job, T, error) {
	var value T
	job, err := t.pool.Reserve(ctx, t.name)
	if err != nil {
		return nil, value, err
	}
	value, err = t.Decode(job)
	return job, value, err
}

// Decode returns the value of a job. The error is [ErrDecode].
func (t *Tube[T]) Decode(job *Job) (T, error) {
	var value T
	if err := t.codec.Decode(job.Body, &value); err != nil {
		return value, fmt.Errorf("%w: %w", ErrDecode, err)
	}
	return value, nil
}

// HandleTube has a worker handle the jobs of a tube by their values. A job that
// cannot be decoded is buried at once.
func HandleTube[T any](w *Worker, t *Tube[T], f func(ctx context.Context, job *Job, value T) error, settings TubeSettings) {
	w.Handle(t.name, HandlerFunc(func(ctx context.Context, job *Job) error {
		value, err := t.Decode(job)
		if err != nil {
			return Permanent(err)
		}
		return f(ctx, job, value)
	}), settings)
}
