package load

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// CPU returns the processor time that the server has used, in user and kernel mode, 0 if that is not known. It is the sum over its
// threads of what the scheduler counts in nanoseconds, without those that have ended; where the kernel does not tell that, of utime and
// stime, in steps of 10 ms.
func (s *Server) CPU() time.Duration {
	if s.PID == 0 {
		return 0
	}
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", s.PID)) // the pattern is well-formed
	total := time.Duration(0)
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		first, _, _ := strings.Cut(string(text), " ")
		ns, err := strconv.ParseInt(first, 10, 64)
		if err == nil {
			total += time.Duration(ns)
		}
	}
	if total == 0 {
		return s.ticks()
	}
	return total
}

// ticks reads utime and stime.
func (s *Server) ticks() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.PID))
	if err != nil {
		return 0
	}
	// The name, in brackets, may have spaces; utime is the 12th field after it.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	total := int64(0)
	for _, f := range fields[11:13] {
		n, _ := strconv.ParseInt(string(f), 10, 64) // it is a number
		total += n
	}
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every architecture that Go knows
	return time.Duration(total) * tick
}

// RSS returns the server's resident memory in bytes, 0 if that is not known.
func (s *Server) RSS() int64 {
	if s.PID == 0 {
		return 0
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.ParseInt(fields[0], 10, 64) // it is a number
	return kib << 10
}

// Disk returns how many bytes of disk the server's directory occupies, 0 if it has none.
func (s *Server) Disk() int64 {
	total := int64(0)
	if s.Dir == "" {
		return 0
	}
	// Files may go while they are counted, which is no fault.
	_ = filepath.WalkDir(s.Dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		if info, err := entry.Info(); err == nil {
			if stat, ok := info.Sys().(*syscall.Stat_t); ok {
				total += stat.Blocks * 512
			}
		}
		return nil
	})
	return total
}

// Written returns how many bytes the disk with the server's directory has written since it was switched on, whoever had them
// written; 0 if that is not known. What a process is said to have written counts whole folios of the page cache, far more than
// reaches the disk.
func (s *Server) Written() int64 {
	var stat unix.Stat_t
	if s.Dir == "" || unix.Stat(s.Dir, &stat) != nil {
		return 0
	}
	text, err := os.ReadFile(fmt.Sprintf("/sys/dev/block/%d:%d/stat", unix.Major(stat.Dev), unix.Minor(stat.Dev)))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 7 {
		return 0
	}
	sectors, _ := strconv.ParseInt(fields[6], 10, 64) // it is a number
	return sectors * 512
}

// ownCPU is the processor time that this process has used.
func ownCPU() time.Duration {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// expense is what had been spent at a moment.
type expense struct {
	at       time.Time
	commands uint64
	server   time.Duration
	own      time.Duration
	written  int64
}

func (t *trial) expense(d *driver) expense {
	e := expense{at: time.Now(), server: t.server.CPU(), own: ownCPU(), written: t.server.Written()}
	if d != nil {
		e.commands = d.commands()
	}
	return e
}

// since makes a result of what was spent between two moments.
func (e expense) since(before expense) Result {
	return Result{
		Operations: e.commands - before.commands,
		Elapsed:    e.at.Sub(before.at),
		ServerCPU:  e.server - before.server,
		OwnCPU:     e.own - before.own,
		Written:    e.written - before.written,
	}
}
