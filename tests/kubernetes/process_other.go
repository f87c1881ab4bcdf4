//go:build !linux

package main

import "syscall"

// withParent keeps the terminal's Ctrl-C from a component. Only Linux can tie its life to this
// process's: elsewhere a kill -9 of this process leaves the components behind.
func withParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
