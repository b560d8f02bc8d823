package serve

import (
	"context"
	"net"
	"net/http"
)

type connKey struct{}

// withConn keeps the connection of a request, to find out who is at its other end.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// Callers that are no process.
const (
	gone   = -1 // it has hung up, or ended
	hidden = -2 // no process that we may look into has the other end
)

// caller is the process that a request comes from, or one of the above, where the system
// tells; 0 where it does not.
func caller(r *http.Request) (pid int) {
	switch c := r.Context().Value(connKey{}).(type) {
	case *net.UnixConn:
		return peerOfSocket(c)
	case *net.TCPConn:
		return peerOfPort(c.RemoteAddr(), c.LocalAddr())
	}
	return 0
}
