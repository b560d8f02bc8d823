//go:build !linux

package gate

import "syscall"

// sysProcAttr puts the shell into a session of its own. Systems without a death
// signal rely on the guard process.
func sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true}
}
