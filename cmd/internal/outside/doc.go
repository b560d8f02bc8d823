// Package outside is what a command has of the outside: its streams, its
// environment, and how it ends: in words, with the way out, and with an exit code.
package outside
