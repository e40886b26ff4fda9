package admin

import (
	"context"
	"net"
	"net/http"

	"github.com/haricotq/haricot/internal/operator"
)

// callerKey is the key of a connection's name.
type callerKey struct{}

// nameCaller notes who is at the other end of a unix socket: the system knows.
func nameCaller(ctx context.Context, conn net.Conn) context.Context {
	if unixConn, ok := conn.(*net.UnixConn); ok {
		return context.WithValue(ctx, callerKey{}, unixCaller(unixConn))
	}
	return ctx
}

// named notes in a request's context who makes it, for the log.
func named(r *http.Request) context.Context {
	who, ok := r.Context().Value(callerKey{}).(string)
	if !ok {
		who = r.RemoteAddr
	}
	return operator.WithWho(r.Context(), who)
}
