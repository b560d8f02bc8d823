package gate

import "syscall"

// sysProcAttr puts the shell into a session of its own and has the kernel
// terminate it when the thread that started it ends.
func sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM}
}
