package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/haricotq/haricot/internal/admin"
	"github.com/haricotq/haricot/internal/api"
	"github.com/haricotq/haricot/internal/console"
	"github.com/haricotq/haricot/internal/metrics"
	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/server"
	"github.com/haricotq/haricot/internal/service"
	"github.com/haricotq/haricot/internal/store"
)

// httpFlags say whether and how metrics, the API and the console are served.
type httpFlags struct {
	HTTP            []httpAddress `name:"http" sep:"none" placeholder:"ADDR" help:"Serve metrics, the JSON API and the console at this host:port or unix:PATH; may be repeated. Whoever reaches it may do everything: keep it on loopback. Default: not at all."`
	HTTPReadOnly    bool          `name:"http-read-only" help:"With --http: change nothing by way of it."`
	HTTPPprof       bool          `name:"http-pprof" help:"With --http: serve Go's profiles at /debug/pprof/."`
	HTTPHost        []string      `name:"http-host" sep:"none" placeholder:"NAME" help:"With --http: a name by which browsers may call the server, besides addresses, localhost and the machine's name; may be repeated."`
	MetricsTubes    tubePattern   `placeholder:"REGEXP" help:"With --http: the tubes that /metrics shows one by one. Default: all."`
	MetricsMaxTubes int           `default:"1000" placeholder:"N" help:"With --http: how many of them at most. Default: 1000."`
}

// httpAddress is a value of --http.
type httpAddress service.Address

// UnmarshalText reads host:port, :port for all addresses, or unix:PATH.
func (a *httpAddress) UnmarshalText(text []byte) error {
	s := string(text)
	if strings.HasPrefix(s, "unix:") {
		address, err := service.ParseAddress(s, 0)
		*a = httpAddress(address)
		return err
	}
	host, port, err := net.SplitHostPort(s)
	number, portErr := strconv.ParseUint(port, 10, 16)
	if err != nil || portErr != nil {
		return fmt.Errorf("%q is no address with a port; give one such as 127.0.0.1:11380, or unix:PATH", s)
	}
	*a = httpAddress{Host: host, Port: int(number)}
	return nil
}

// tubePattern is a regular expression for names of tubes.
type tubePattern struct{ *regexp.Regexp }

// UnmarshalText reads one, in Go's syntax. It has to fit a whole name.
func (p *tubePattern) UnmarshalText(text []byte) error {
	expression, err := regexp.Compile("^(?:" + string(text) + ")$")
	if err != nil {
		return fmt.Errorf("%q is no regular expression: %w; write one such as 'mail-.*|default'", text, err)
	}
	p.Regexp = expression
	return nil
}

// check finds flags that do not go together.
func (f *httpFlags) check() error {
	if f.MetricsMaxTubes < 0 {
		return errors.New("--metrics-max-tubes is below zero; 0 shows none one by one")
	}
	return nil
}

// openHTTP opens the sockets of --http.
func (f *httpFlags) openHTTP(ctx context.Context, mode socketMode) (sockets []*service.Socket, err error) {
	for _, a := range f.HTTP {
		s, err := service.Listen(ctx, service.Address(a), service.Mode(mode))
		if err != nil {
			return sockets, fmt.Errorf("--http: %w", err)
		}
		sockets = append(sockets, s)
	}
	return sockets, nil
}

// window is what operators look through: the HTTP server of a running server. A nil window is a closed one.
type window struct {
	flags *httpFlags
	admin *admin.Server
	log   *slog.Logger

	cancel  context.CancelFunc
	samples sync.WaitGroup
}

// lazyGC is how much garbage may come for each byte in use, in percent, while HTTP is served. A list of very many tubes is much garbage, and
// while the collector works, in as many threads as there are processors, clients wait for one. Jobs are not in its memory.
const lazyGC = 400

// openWindow begins to answer on sockets. Until look there is only health to be asked for.
func (f *httpFlags) openWindow(log *slog.Logger, sockets []*service.Socket) *window {
	if len(sockets) == 0 {
		return nil
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(lazyGC)
	}
	w := &window{flags: f, log: log, cancel: func() {}, admin: admin.New(admin.Config{
		ReadOnly: f.HTTPReadOnly, Profiles: f.HTTPPprof, Hosts: f.HTTPHost, Logger: log,
	})}
	for _, s := range sockets {
		w.admin.Serve(s.Listener)
	}
	return w
}

// look lets operators see a server, and its store if it has one.
func (w *window) look(srv *server.Server, kept *keeper) {
	if w == nil {
		return
	}
	o := operator.New(srv, w.log)
	history := operator.NewHistory(o)
	shown := metrics.Config{Tubes: w.flags.MetricsTubes.Regexp, MaxTubes: w.flags.MetricsMaxTubes}
	pages := console.Config{Token: w.admin.Token(), ReadOnly: w.flags.HTTPReadOnly, Version: protocol.Version, Logger: w.log}
	if kept != nil {
		shown.Store, pages.Disk = durability(kept.Store), disk(kept.Store)
	}
	var ctx context.Context
	ctx, w.cancel = context.WithCancel(context.Background())
	w.samples.Go(func() { history.Run(ctx) })
	w.admin.Open(admin.Handlers{
		Metrics: metrics.New(o, shown),
		API:     api.New(o, history, api.Config{Version: protocol.Version}),
		Console: console.New(o, history, pages),
		Ready: func() error {
			totals, err := o.Totals()
			if err == nil && totals.Draining {
				err = errDraining
			}
			return err
		},
	})
}

// durability shows what a store has measured as metrics.
func durability(s *store.Store) func() metrics.Durability {
	bounds := make([]time.Duration, store.SyncBuckets)
	for i := range bounds {
		bounds[i] = store.SyncBound(i)
	}
	return func() metrics.Durability {
		m := s.Measures()
		return metrics.Durability{
			Syncs:    metrics.Spread{Bounds: bounds, Buckets: m.Syncs.Buckets[:], Count: m.Syncs.Count, Sum: m.Syncs.Sum},
			LogBytes: m.LogBytes, Compactions: m.Compactions, CompactionsDone: m.CompactionsDone, Debt: m.Debt,
			Used: m.Used, Free: m.Free, Total: m.Total, Reserve: m.Reserve, Ballast: m.Ballast,
		}
	}
}

// disk shows on the console how full it is.
func disk(s *store.Store) func() console.Disk {
	return func() console.Disk {
		m := s.Measures()
		return console.Disk{Used: int64(m.Used), Free: int64(m.Free)}
	}
}

// errDraining is why a server is not ready.
var errDraining = errors.New("it is draining and takes no jobs")

// stopping has /readyz say so.
func (w *window) stopping() {
	if w != nil {
		w.admin.Stopping()
	}
}

// close ends it, once the server has ended or never ran.
func (w *window) close() {
	if w == nil {
		return
	}
	w.cancel()
	if err := w.admin.Close(); err != nil {
		w.log.Warn("HTTP did not end as it should", "error", err)
	}
	w.samples.Wait()
}
