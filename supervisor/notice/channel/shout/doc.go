// Package shout sends one message through the library shoutrrr, in a process of its own.
//
// The senders of that library take no context. Most of them post through the default HTTP
// client, which waits for ever, and the one for e-mail waits for its server likewise. So
// they are not called in the process of a run: package channel starts this program anew,
// hands it the order on stdin, and ends it when its time is over. Nothing is left behind
// then, neither a goroutine nor a connection, and secrets are in no list of arguments.
//
// The process belongs to that one call, so it may put its own transport below the
// library: it sees the status and Retry-After of the answer, which the library does not
// tell, and whether anything was sent at all, since one sender takes a dead network for
// success.
//
// # What is sent, and where to
//
// Proxies are those of the environment (HTTP_PROXY, HTTPS_PROXY, NO_PROXY). No redirect is
// followed: a message that is posted again as a GET would be lost, and a token must not go
// elsewhere. An answer of 2xx that breaks off counts as sent. E-mail goes over TLS where
// the server offers it.
//
// It refuses settings in an address that would let a text be more than text: raw JSON,
// parse modes, HTML, templates of one's own.
//
// # Why
//
// Single services are imported and not the library's router: that one costs six times as
// much at the start of every process, hooks included, for expressions of services that are
// left out here.
package shout
