package metrics

import (
	"context"
	"net/http"
	"regexp"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/haricotq/haricot/internal/operator"
)

// Config says what is exported.
type Config struct {
	// Tubes selects the tubes that have metrics of their own, by their names;
	// nil is all.
	Tubes *regexp.Regexp
	// MaxTubes is how many tubes have metrics of their own at most; 0 is none.
	MaxTubes int
	// Store tells what the store has measured; nil if there is none. It may be
	// called by any goroutine, for one scrape at a time.
	Store func() Durability
}

// handler answers scrapes.
type handler struct {
	operator *operator.Operator
	config   Config
	registry *prometheus.Registry

	// turn is held by the scrape that reads the server and makes metrics of it:
	// what follows belongs to that.
	turn    chan struct{}
	roster  roster
	started time.Time // when the server's clock began, once it is known
	shown   exhibit
}

// New makes the handler of /metrics. The server should be observed: without that
// ages, events of tubes and durations are all 0.
func New(o *operator.Operator, c Config) http.Handler {
	h := &handler{
		operator: o, config: c, registry: prometheus.NewRegistry(),
		turn: make(chan struct{}, 1), roster: newRoster(c.MaxTubes),
	}
	h.registry.MustRegister(
		&h.shown,
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return h
}

// ServeHTTP answers a scrape. If the server stops meanwhile it is 503.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	gathered, err := h.scrape(r.Context())
	if err != nil {
		http.Error(w, "no metrics: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	// What is left is to write them, in the format and encoding that the client
	// asks for, and as slowly as it reads.
	promhttp.HandlerFor(gathered, promhttp.HandlerOpts{EnableOpenMetrics: true}).ServeHTTP(w, r)
}

// scrape reads the server and makes metrics of it, one scrape at a time. That
// they do not fit together is for the gatherer to say, which it returns.
func (h *handler) scrape(ctx context.Context) (prometheus.Gatherer, error) {
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	r, err := h.read(ctx)
	if err != nil {
		return nil, err
	}
	h.shown.show(r)
	gathered := repeat(h.registry.Gather())
	h.shown.metrics = nil
	return prometheus.GathererFunc(gathered), nil
}

// repeat is a function that returns the same again.
func repeat[T any](v T, err error) func() (T, error) {
	return func() (T, error) { return v, err }
}
