package admin

import (
	"crypto/subtle"
	"encoding/json"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// guard refuses requests that come, without their users' knowledge, from pages
// of other sites: such a page can have a browser send simple requests anywhere,
// and by a name of its own that it points at this machine it can even read the
// answers.
type guard struct {
	readOnly bool
	hosts    []string
	token    string
	origin   *http.CrossOriginProtection
}

func newGuard(config Config, token string) *guard {
	hosts := []string{"localhost"}
	if name, err := os.Hostname(); err == nil {
		hosts = append(hosts, strings.ToLower(name))
	}
	for _, h := range config.Hosts {
		hosts = append(hosts, strings.ToLower(h))
	}
	return &guard{config.ReadOnly, hosts, token, http.NewCrossOriginProtection()}
}

// formLimit is how many bytes a form may have. A body may be pasted into one.
const formLimit = 256 << 20

func (g *guard) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.knows(r) {
			refuse(w, r, http.StatusMisdirectedRequest, "this server is not known as "+clean(r.Host)+
				"; call it by its address, or start it with --http-host "+clean(hostname(r.Host)))
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions {
			if why := g.refusesChange(w, r); why != "" {
				refuse(w, r, http.StatusForbidden, why)
				return
			}
		}
		next.ServeHTTP(w, r.WithContext(named(r)))
	})
}

// knows tells whether the server was called by a name that is its own.
func (g *guard) knows(r *http.Request) bool {
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && local.Network() == "unix" {
		return true // no page can reach it
	}
	host := strings.ToLower(strings.TrimSuffix(hostname(r.Host), "."))
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return slices.Contains(g.hosts, host)
}

// hostname is a Host without its port and brackets.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

// refusesChange tells why a request that may change something is refused, or
// returns nothing.
func (g *guard) refusesChange(w http.ResponseWriter, r *http.Request) string {
	if g.readOnly {
		return "this server is read-only (--http-read-only): it changes nothing"
	}
	if err := g.origin.Check(r); err != nil {
		return "the request comes from a page of another site"
	}
	if r.Header.Get("X-Requested-With") != "" || r.Header.Get("HX-Request") != "" {
		return ""
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		return ""
	case "application/x-www-form-urlencoded", "multipart/form-data":
		r.Body = http.MaxBytesReader(w, r.Body, formLimit)
		if subtle.ConstantTimeCompare([]byte(r.PostFormValue("token")), []byte(g.token)) == 1 {
			return ""
		}
		return "the form is of a page from before the server was started; load the page again"
	}
	return "a request that changes something needs the header X-Requested-With, or a Content-Type of application/json"
}

// clean makes text of a stranger fit for a line of text.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r >= 0x7f {
			return '?'
		}
		return r
	}, s[:min(len(s), 100)])
}

// refuse answers in the form that the asked expects.
func refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	if !strings.HasPrefix(r.URL.Path, "/api/") {
		say(w, status, why)
		return
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{ // the client may have gone
		"type": "about:blank", "title": http.StatusText(status), "status": status, "detail": why,
	})
}

// loopback tells whether only this machine can reach an address.
func loopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return !ok || tcp.IP.IsLoopback()
}
