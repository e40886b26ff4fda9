package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// catches makes sure that a process of this machine is the server at an address, and that it waits for a signal. A
// server says which process it is, but that may be in another container or on another machine: so a socket that listens at the
// address must be among the files of the process here.
func catches(address string, pid int, s syscall.Signal) (bool, error) {
	listening, err := listeners(address)
	if err != nil {
		return false, err
	}
	fds := fmt.Sprintf("/proc/%d/fd", pid)
	names, err := os.ReadDir(fds)
	if err != nil {
		return false, fmt.Errorf("the process %d of the server cannot be looked at: %w", pid, err)
	}
	for _, name := range names {
		target, err := os.Readlink(filepath.Join(fds, name.Name()))
		if err == nil && listening[target] {
			return caught(pid, s)
		}
	}
	return false, fmt.Errorf("process %d of this machine is not the server at %q", pid, address)
}

// caught tells whether a process has a handler for a signal; without one, the signal would kill it.
func caught(pid int, s syscall.Signal) (bool, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(string(status)) {
		if mask, ok := strings.CutPrefix(line, "SigCgt:"); ok {
			bits, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
			return bits>>(s-1)&1 == 1, err
		}
	}
	return false, nil
}

// listeners are the sockets of this machine that may listen at an address, as links in /proc name them. For TCP it is those with
// its port, since one that listens on all addresses serves each.
func listeners(address string) (map[string]bool, error) {
	network, target := destination(address)
	if network == "unix" {
		path, err := filepath.Abs(target)
		if err != nil {
			return nil, err
		}
		return sockets("/proc/net/unix", 6, func(f []string) bool { return len(f) > 7 && (f[7] == path || f[7] == target) })
	}
	addr, err := net.ResolveTCPAddr("tcp", target)
	if err != nil {
		return nil, err
	}
	const listen = "0A"
	suffix := fmt.Sprintf(":%04X", addr.Port)
	found := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		some, err := sockets(table, 9, func(f []string) bool { return len(f) > 9 && f[3] == listen && strings.HasSuffix(f[1], suffix) })
		if err != nil && !errors.Is(err, os.ErrNotExist) { // There may be no IPv6.
			return nil, err
		}
		for link := range some {
			found[link] = true
		}
	}
	return found, nil
}

// sockets reads a table of the system's sockets, where the inode stands in some column.
func sockets(table string, inode int, fits func(fields []string) bool) (map[string]bool, error) {
	f, err := os.Open(table)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	found := map[string]bool{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); fits(fields) {
			found["socket:["+fields[inode]+"]"] = true
		}
	}
	return found, nil
}
