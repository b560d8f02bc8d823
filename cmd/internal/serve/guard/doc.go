// Package guard decides who may ask the live page for what. It is a handler around
// others: what it lets through has been checked.
//
// # Guarantees
//
//   - Only names of this machine are answered to (a page elsewhere that makes its own name
//     lead here is refused), only GET, HEAD and POST, only small bodies.
//   - Without the token there is nothing but the login and the health check. The token is
//     compared in constant time, a cookie is looked up by its hash. Who guesses waits, and
//     who has the right token does not wait for them.
//   - What changes something is a POST of a form of this page: the browser says that it
//     comes from here, and the form holds the token of its session. A program with the
//     token in its header needs no form.
//   - No other site can show, load or read a part of the page. Every answer, also that of
//     a refusal, carries the strict content policy and is kept nowhere.
//
// A cookie belongs to a host and not to a port, so that another server on this machine
// which the same browser visits is sent it as well. Its name says the port, so that two
// pages do not take each other's; against a program of the same user it is no wall. Who
// guards against that asks which process a request comes from.
//
// # Failure and crash
//
// Sessions live in memory. When the program ends, everybody logs in again.
//
// # What it refuses
//
// It has no accounts, no passwords and no way to be reached from another machine.
package guard
