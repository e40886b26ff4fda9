//go:build !linux

package main

import (
	"errors"
	"syscall"
)

// catches makes sure that a process of this machine is the server at an address, and that it waits for a signal. It cannot, on this
// system.
func catches(string, int, syscall.Signal) (bool, error) {
	return false, errors.New("on this system, the process of a server cannot be told for sure")
}
