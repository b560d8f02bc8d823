package ptyrun

import "syscall"

// sysProcAttr puts the child into a session of its own and has the kernel
// interrupt it when the thread that started it ends.
func sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGINT}
}
