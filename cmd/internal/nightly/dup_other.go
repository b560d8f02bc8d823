//go:build !linux

package nightly

import "golang.org/x/sys/unix"

// dup makes a file also known under another number.
func dup(from, to int) error { return unix.Dup2(from, to) }
