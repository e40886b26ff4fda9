// Package otel makes the hooks of package client that report to OpenTelemetry. It is
// a module of its own, so that package client depends on nothing.
//
//	telemetry, err := otel.New(otel.Config{})
//	...
//	pool, err := client.NewPool(client.Config{Servers: servers, Hooks: telemetry.Pool()})
//	worker := client.NewWorker(pool, client.WorkerConfig{Hooks: telemetry.Worker()})
//
// Names follow OpenTelemetry's conventions for messaging where they have one:
//
//	messaging.client.sent.messages      counter, jobs put, by tube, server and error
//	messaging.client.operation.duration histogram, seconds that a put took
//	messaging.process.duration          histogram, seconds from reserved to settled
//	messaging.client.consumed.messages  counter, jobs settled, by tube, server and result
//	haricot.client.connections          counter, attempts to connect, by server and error
//
// Each handled job is a span of kind consumer named "process" and the tube, and each put
// one of kind producer named "send" and the tube. A job's body carries nothing but what
// was put, so that the two are not linked; who wants that puts a trace's context into the body.
package otel

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/haricotq/haricot/client"
)

// scope names this package to OpenTelemetry.
const scope = "github.com/haricotq/haricot/client/otel"

// Config says where to report to. What is nil is the global provider.
type Config struct {
	Tracers trace.TracerProvider
	Meters  metric.MeterProvider
}

// Telemetry reports to OpenTelemetry. Its hooks may serve any number of pools and
// workers at once.
type Telemetry struct {
	tracer   trace.Tracer
	sent     metric.Int64Counter
	sending  metric.Float64Histogram
	consumed metric.Int64Counter
	process  metric.Float64Histogram
	connects metric.Int64Counter
}

// New makes the instruments. The error is of the provider of meters.
func New(config Config) (*Telemetry, error) {
	if config.Tracers == nil {
		config.Tracers = otel.GetTracerProvider()
	}
	if config.Meters == nil {
		config.Meters = otel.GetMeterProvider()
	}
	meter := config.Meters.Meter(scope)
	t := &Telemetry{tracer: config.Tracers.Tracer(scope)}
	var err error
	for _, c := range []struct {
		to                *metric.Int64Counter
		name, unit, about string
	}{
		{&t.sent, "messaging.client.sent.messages", "{message}", "Jobs that were put, or should have been."},
		{&t.consumed, "messaging.client.consumed.messages", "{message}", "Jobs that a worker has settled."},
		{&t.connects, "haricot.client.connections", "{attempt}", "Attempts to connect to a server."},
	} {
		if *c.to, err = meter.Int64Counter(c.name, metric.WithUnit(c.unit), metric.WithDescription(c.about)); err != nil {
			return nil, fmt.Errorf("otel: counter %s: %w", c.name, err)
		}
	}
	for _, h := range []struct {
		to          *metric.Float64Histogram
		name, about string
	}{
		{&t.sending, "messaging.client.operation.duration", "How long putting a job took."},
		{&t.process, "messaging.process.duration", "How long a job took from its reservation until it was settled."},
	} {
		if *h.to, err = meter.Float64Histogram(h.name, metric.WithUnit("s"), metric.WithDescription(h.about)); err != nil {
			return nil, fmt.Errorf("otel: histogram %s: %w", h.name, err)
		}
	}
	return t, nil
}

// about are the attributes of everything about a tube.
func about(operation, tube, server string) []attribute.KeyValue {
	list := []attribute.KeyValue{
		attribute.String("messaging.system", "beanstalk"),
		attribute.String("messaging.operation.name", operation),
		attribute.String("messaging.destination.name", tube),
	}
	if server != "" {
		list = append(list, attribute.String("server.address", server))
	}
	return list
}

// kinds name the errors of package client that a metric should tell apart. The first
// that fits counts.
var kinds = []struct {
	err  error
	name string
}{
	{client.ErrUncertain, "uncertain"},
	{client.ErrJobLost, "job_lost"},
	{client.ErrClosed, "closed"},
	{client.ErrDraining, "draining"},
	{client.ErrJobTooBig, "job_too_big"},
	{client.ErrOutOfMemory, "out_of_memory"},
	{client.ErrBuried, "buried"},
	{client.ErrNotFound, "not_found"},
	{client.ErrDecode, "decode"},
	{context.DeadlineExceeded, "deadline_exceeded"},
	{context.Canceled, "canceled"},
}

// failure adds what kind of error there was. It must not be the error's text: a
// metric keeps each value for ever.
func failure(list []attribute.KeyValue, err error) []attribute.KeyValue {
	if err == nil {
		return list
	}
	var panicked *client.PanicError
	if errors.As(err, &panicked) {
		return append(list, attribute.String("error.type", "panic"))
	}
	for _, kind := range kinds {
		if errors.Is(err, kind.err) {
			return append(list, attribute.String("error.type", kind.name))
		}
	}
	return append(list, attribute.String("error.type", "_OTHER"))
}

// Pool returns the hooks of a pool.
func (t *Telemetry) Pool() client.PoolHooks {
	connect := func(server string, err error) {
		set := failure([]attribute.KeyValue{attribute.String("server.address", server)}, err)
		t.connects.Add(context.Background(), 1, metric.WithAttributes(set...))
	}
	return client.PoolHooks{
		Connected:     func(server string) { connect(server, nil) },
		ConnectFailed: connect,
		Put:           t.put,
	}
}

func (t *Telemetry) put(ctx context.Context, tube string, ref client.Ref, took time.Duration, err error) {
	set := failure(about("send", tube, ref.Server), err)
	measured := metric.WithAttributes(set...)
	t.sent.Add(ctx, 1, measured)
	t.sending.Record(ctx, took.Seconds(), measured)
	end := time.Now()
	_, span := t.tracer.Start(ctx, "send "+tube, trace.WithSpanKind(trace.SpanKindProducer),
		trace.WithTimestamp(end.Add(-took)), trace.WithAttributes(set...))
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
	} else {
		span.SetAttributes(attribute.String("messaging.message.id", strconv.FormatUint(ref.ID, 10)))
	}
	span.End(trace.WithTimestamp(end))
}

// Worker returns the hooks of a worker.
func (t *Telemetry) Worker() client.WorkerHooks {
	return client.WorkerHooks{Start: t.start, End: t.end}
}

func (t *Telemetry) start(ctx context.Context, job *client.Job) context.Context {
	set := append(about("process", job.Tube, job.Server()),
		attribute.String("messaging.message.id", strconv.FormatUint(job.ID, 10)),
		attribute.Int("messaging.message.body.size", len(job.Body)),
		attribute.Int("haricot.job.attempt", job.Attempt))
	ctx, _ = t.tracer.Start(ctx, "process "+job.Tube, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(set...))
	return ctx
}

func (t *Telemetry) end(ctx context.Context, job *client.Job, o client.Outcome) {
	result := attribute.String("haricot.job.result", o.Result.String())
	measured := metric.WithAttributes(append(failure(about("process", job.Tube, job.Server()), o.Err), result)...)
	t.consumed.Add(ctx, 1, measured)
	t.process.Record(ctx, o.Took.Seconds(), measured)
	span := trace.SpanFromContext(ctx)
	span.SetAttributes(result)
	if o.Err != nil {
		span.RecordError(o.Err)
		span.SetStatus(codes.Error, o.Err.Error())
	}
	span.End()
}
