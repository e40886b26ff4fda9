package admin

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"
	"sync/atomic"
	"time"
)

// Config says what a server may do.
type Config struct {
	// ReadOnly refuses every request that would change something.
	ReadOnly bool
	// Profiles serves /debug/pprof/.
	Profiles bool
	// Hosts are names besides localhost and the machine's by which the server may
	// be called. IP addresses always may.
	Hosts []string
	// Logger gets a line for each listener, and for what goes wrong.
	Logger *slog.Logger
}

// Handlers answer what a server does not answer itself.
type Handlers struct {
	Metrics http.Handler // /metrics
	API     http.Handler // /api/
	Console http.Handler // all else
	// Ready tells why the queue takes no jobs now, or nil.
	Ready func() error
}

// ErrStarting is why a server is not ready before Open.
var ErrStarting = errors.New("the server is starting")

// ErrStopping is why a server is not ready once it ends.
var ErrStopping = errors.New("the server is stopping")

// Server is an HTTP server on any number of listeners.
type Server struct {
	config Config
	token  string
	http   http.Server
	guard  *guard

	handlers atomic.Pointer[Handlers] // nil until Open
	stopping atomic.Bool
	cancel   context.CancelFunc
	wg       sync.WaitGroup
}

const (
	// headerPatience is how long a client may take to send the header of a
	// request, idlePatience how long it may keep a connection for the next one.
	headerPatience = 10 * time.Second
	idlePatience   = 2 * time.Minute
	// headerLimit is how many bytes a header may have.
	headerLimit = 64 << 10
	// stopPatience is how long requests under way may take at the end.
	stopPatience = time.Second
)

// New makes a server.
func New(config Config) *Server {
	s := &Server{config: config, token: rand.Text()}
	s.guard = newGuard(config, s.token)
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	s.http = http.Server{
		Handler:           s.guard.protect(s.routes()),
		ReadHeaderTimeout: headerPatience,
		IdleTimeout:       idlePatience,
		MaxHeaderBytes:    headerLimit,
		ErrorLog:          slog.NewLogLogger(config.Logger.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext:       nameCaller,
	}
	return s
}

// Token is what a form of the console has to send back for its request to be
// let through. It is another one at each start.
func (s *Server) Token() string { return s.token }

// Serve answers on a listener, which then belongs to the server, until Close.
func (s *Server) Serve(ln net.Listener) {
	if !loopback(ln.Addr()) {
		s.config.Logger.Warn("HTTP is open to other machines, and asks nobody who they are", "address", ln.Addr().String())
	}
	s.config.Logger.Info("serving HTTP", "address", ln.Addr().String(), "read_only", s.config.ReadOnly)
	s.wg.Go(func() {
		if err := s.http.Serve(ln); err != nil && !errors.Is(err, http.ErrServerClosed) {
			s.config.Logger.Error("HTTP is no longer answered", "address", ln.Addr().String(), "error", err)
		}
	})
}

// Open lets requests through to the handlers.
func (s *Server) Open(h Handlers) { s.handlers.Store(&h) }

// Stopping has the server say that it is not ready, while it answers on.
func (s *Server) Stopping() { s.stopping.Store(true) }

// Close ends the server. Requests under way have a second, streams are ended.
func (s *Server) Close() error {
	s.Stopping()
	s.cancel()
	ctx, cancel := context.WithTimeout(context.Background(), stopPatience)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	s.wg.Wait()
	return err
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := s.ready(); err != nil {
			say(w, http.StatusServiceUnavailable, "not ready: "+err.Error())
			return
		}
		say(w, http.StatusOK, "ready")
	})
	mux.Handle("/metrics", s.hand(func(h *Handlers) http.Handler { return h.Metrics }))
	mux.Handle("/api/", s.hand(func(h *Handlers) http.Handler { return h.API }))
	mux.Handle("/", s.hand(func(h *Handlers) http.Handler { return h.Console }))
	if s.config.Profiles {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// ready tells why the server is not ready, or nil.
func (s *Server) ready() error {
	h := s.handlers.Load()
	switch {
	case s.stopping.Load():
		return ErrStopping
	case h == nil:
		return ErrStarting
	}
	return h.Ready()
}

// hand passes requests on, once there is somebody to answer them.
func (s *Server) hand(to func(*Handlers) http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := s.handlers.Load()
		if h == nil {
			w.Header().Set("Retry-After", "1")
			refuse(w, r, http.StatusServiceUnavailable, ErrStarting.Error()+"; its jobs are being recovered")
			return
		}
		apart(to(h)).ServeHTTP(w, r)
	})
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n")) // the client may have gone
}
