package api

import (
	"encoding/json"
	"net/http"

	"github.com/haricotq/haricot/internal/operator"
)

// Config says what the API tells of the program.
type Config struct {
	// Version is the program's version.
	Version string
}

// prefix is where the API is.
const prefix = "/api/v1"

// api answers requests.
type api struct {
	operator *operator.Operator
	history  *operator.History
	config   Config
	mux      *http.ServeMux
}

// New makes the handler of everything below /api/v1/. Streams end with the
// contexts of their requests, and with the server.
func New(o *operator.Operator, h *operator.History, c Config) http.Handler {
	a := &api{operator: o, history: h, config: c, mux: http.NewServeMux()}
	for _, r := range routes {
		a.mux.Handle(r.method+" "+prefix+r.path, a.serve(r))
	}
	return a
}

// route is one call of the API.
type route struct {
	method, path string
	handle       func(*api, *call) (any, error)
	// bodies tells that the content of the request may be the body of a job.
	bodies bool
}

// routes are all calls, in the order of the documentation.
var routes = []route{
	{method: http.MethodGet, path: "/tubes", handle: (*api).tubes},
	{method: http.MethodGet, path: "/tubes/{tube}", handle: (*api).tube},
	{method: http.MethodPost, path: "/tubes/{tube}/pause", handle: (*api).pause},
	{method: http.MethodPost, path: "/tubes/{tube}/resume", handle: (*api).resume},
	{method: http.MethodPost, path: "/tubes/{tube}/kick", handle: (*api).kickTube},
	{method: http.MethodPost, path: "/tubes/{tube}/clear", handle: (*api).clear},
	{method: http.MethodGet, path: "/tubes/{tube}/jobs", handle: (*api).tubeJobs},
	{method: http.MethodPost, path: "/tubes/{tube}/jobs", handle: (*api).put, bodies: true},
	{method: http.MethodGet, path: "/jobs", handle: (*api).search},
	{method: http.MethodPost, path: "/jobs/bulk", handle: (*api).bulk},
	{method: http.MethodGet, path: "/jobs/{id}", handle: (*api).job},
	{method: http.MethodPatch, path: "/jobs/{id}", handle: (*api).change},
	{method: http.MethodDelete, path: "/jobs/{id}", handle: (*api).remove},
	{method: http.MethodPost, path: "/jobs/{id}/kick", handle: (*api).kick},
	{method: http.MethodPost, path: "/jobs/{id}/bury", handle: (*api).bury},
	{method: http.MethodPost, path: "/jobs/{id}/release", handle: (*api).release},
	{method: http.MethodPost, path: "/jobs/{id}/move", handle: (*api).move},
	{method: http.MethodPost, path: "/jobs/{id}/replace", handle: (*api).replace, bodies: true},
	{method: http.MethodGet, path: "/connections", handle: (*api).connections},
	{method: http.MethodGet, path: "/connections/{id}", handle: (*api).connection},
	{method: http.MethodGet, path: "/stats", handle: (*api).stats},
	{method: http.MethodGet, path: "/events", handle: (*api).events},
	{method: http.MethodGet, path: "/openapi.yaml", handle: document("application/yaml", documentYAML)},
	{method: http.MethodGet, path: "/openapi.json", handle: document("application/json", documentJSON)},
}

// ServeHTTP answers a request.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	handler, pattern := a.mux.Handler(r)
	if pattern != "" {
		a.mux.ServeHTTP(w, r)
		return
	}
	// The mux knows no such path, or not with this method, and says so in plain
	// text: only what it found out is of use.
	found := refusal{header: make(http.Header), status: http.StatusNotFound}
	handler.ServeHTTP(&found, r)
	p := &problem{Status: found.status}
	if allow := found.header.Get("Allow"); allow != "" {
		w.Header().Set("Allow", allow)
		p.Detail = r.Method + " is not for this path; it takes " + allow + "."
	} else {
		p.Detail = "There is nothing at this path. " + prefix + "/openapi.yaml lists what there is; a slash in the name of a tube is written %2F."
	}
	p.write(w, r)
}

// refusal keeps how a handler answered.
type refusal struct {
	header http.Header
	status int
}

// Header returns what the handler sets.
func (f *refusal) Header() http.Header { return f.header }

// Write drops the text.
func (f *refusal) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader keeps the status.
func (f *refusal) WriteHeader(status int) { f.status = status }

// streamed is the answer of a call that has written its answer itself.
type streamed struct{}

// serve makes the handler of a route.
func (a *api) serve(rt route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := &call{w: w, r: r, status: http.StatusOK}
		answer, err := c.carryOut(a, rt)
		if err != nil {
			c.refuse(a, err)
			return
		}
		switch answer := answer.(type) {
		case streamed:
		case nil:
			w.WriteHeader(http.StatusNoContent)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(c.status)
			_ = json.NewEncoder(w).Encode(answer) // the client may have gone
		}
	}
}
