//go:build unix

package otel_test

import (
	"context"
	"errors"
	"testing"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	api "go.opentelemetry.io/otel/trace"

	"github.com/haricotq/haricot/client"
	"github.com/haricotq/haricot/client/clienttest"
	"github.com/haricotq/haricot/client/otel"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestReports puts and handles three jobs, one of which fails, and looks at what
// has been reported.
func TestReports(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	reader := metric.NewManualReader()
	telemetry, err := otel.New(otel.Config{
		Tracers: trace.NewTracerProvider(trace.WithSpanProcessor(spans)),
		Meters:  metric.NewMeterProvider(metric.WithReader(reader)),
	})
	must(t, err)
	pool := clienttest.NewServer(t).Pool(t, client.Config{Hooks: telemetry.Pool()})
	hooks := telemetry.Worker()
	settled := make(chan struct{}, 3)
	end := hooks.End
	hooks.End = func(ctx context.Context, job *client.Job, o client.Outcome) {
		end(ctx, job, o)
		settled <- struct{}{}
	}
	worker := client.NewWorker(pool, client.WorkerConfig{Hooks: hooks})
	worker.HandleFunc("x", func(ctx context.Context, job *client.Job) error {
		if !api.SpanFromContext(ctx).IsRecording() {
			t.Error("the handler's context has no span")
		}
		if string(job.Body) == "bad" {
			return client.Permanent(errors.New("broken"))
		}
		return nil
	})
	for _, body := range []string{"good", "bad", "good"} {
		_, err := pool.Put(t.Context(), "x", []byte(body))
		must(t, err)
	}
	go func() { _ = worker.Run(context.Background()) }()
	for range 3 {
		<-settled
	}
	must(t, worker.Stop(context.Background()))

	names, failed := make(map[string]int), 0
	for _, span := range spans.Ended() {
		names[span.Name()]++
		if span.Status().Code == codes.Error {
			failed++
		}
	}
	if names["send x"] != 3 || names["process x"] != 3 || failed != 1 {
		t.Errorf("spans %v, %d failed", names, failed)
	}
	var got metricdata.ResourceMetrics
	must(t, reader.Collect(t.Context(), &got))
	counts := make(map[string]int64)
	for _, scope := range got.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					counts[m.Name] += p.Value
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					counts[m.Name] += int64(p.Count)
				}
			}
		}
	}
	for name, want := range map[string]int64{
		"messaging.client.sent.messages":      3,
		"messaging.client.operation.duration": 3,
		"messaging.client.consumed.messages":  3,
		"messaging.process.duration":          3,
	} {
		if counts[name] != want {
			t.Errorf("%s counts %d, want %d", name, counts[name], want)
		}
	}
	if counts["haricot.client.connections"] < 1 {
		t.Error("no connection was counted")
	}
}
