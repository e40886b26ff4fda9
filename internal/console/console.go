package console

import (
	"html/template"
	"log/slog"
	"net/http"

	"github.com/haricotq/haricot/internal/operator"
)

// Config says what a console shows and allows.
type Config struct {
	// Token goes into every form that changes something, as its field "token":
	// it shows that the form is one of ours.
	Token string
	// ReadOnly leaves out of pages what would be refused.
	ReadOnly bool
	// Version is shown at the foot of every page.
	Version string
	// Disk tells how full the disk of the store is; nil if there is no store. It
	// may be called by many goroutines.
	Disk func() Disk
	// Logger gets a line for a page that could not be made. nil discards.
	Logger *slog.Logger
}

// Disk is how full the disk of a store is, in bytes.
type Disk struct {
	Used int64 // by the store
	Free int64 // to everybody
}

// Console makes the pages.
type Console struct {
	operator *operator.Operator
	history  *operator.History
	config   Config
	pages    map[string]*template.Template // by the name of the file
	assets   assets
	flows    flows
}

// New makes the handler of all pages and of the files that they need.
func New(o *operator.Operator, h *operator.History, config Config) http.Handler {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Console{operator: o, history: h, config: config, assets: readAssets()}
	c.pages = readPages(c.functions())
	mux := http.NewServeMux()
	mux.Handle("GET /static/{file}", c.assets)
	c.route(mux, "GET /{$}", c.overview)
	c.route(mux, "GET /tubes", c.tubes)
	c.route(mux, "GET /connections", c.connections)
	c.route(mux, "GET /connections/{id}", c.connection)
	c.jobRoutes(mux)
	c.route(mux, "/", func(http.ResponseWriter, *http.Request) error { return errNoPage })
	return guarded(mux)
}

// page answers a request, or returns why it does not: see failure.
type page func(w http.ResponseWriter, r *http.Request) error

// route has a page answer what a pattern of http.ServeMux matches.
func (c *Console) route(mux *http.ServeMux, pattern string, p page) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if err := p(w, r); err != nil {
			c.fail(w, r, err)
		}
	})
}

// policy lets a page use the files of this package, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guarded sets the headers that hold for everything a console answers.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		// Addresses name tubes, which is nobody else's business. Our own pages
		// must say where a form comes from, or browsers send no Origin with it.
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}
