package main

import "syscall"

// withParent ties a component's life to this process, and keeps the terminal's Ctrl-C from it: it
// is this process that stops them, in order.
func withParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
