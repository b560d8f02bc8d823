// Package binary finds the claude binary and asks it what it is: its version and
// whether it has credentials. It sends no request to any API and never starts a
// session.
package binary
