package server

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/haricotq/haricot/internal/engine"
	"github.com/haricotq/haricot/internal/protocol"
)

// process knows what stats tells of the process and its machine.
type process struct {
	clock engine.Clock
	store Store
	fixed protocol.ProcessStats
}

func newProcess(clock engine.Clock, store Store) (*process, error) {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return nil, fmt.Errorf("server: asking for the name of the system: %w", err)
	}
	return &process{clock, store, protocol.ProcessStats{
		PID:      os.Getpid(),
		ID:       hex.EncodeToString(id[:]),
		Hostname: unix.ByteSliceToString(name.Nodename[:]),
		OS:       unix.ByteSliceToString(name.Version[:]),
		Platform: unix.ByteSliceToString(name.Machine[:]),
	}}, nil
}

func (p *process) stats() protocol.ProcessStats {
	s := p.fixed
	s.Log.MaxSize = protocol.DefaultLogSize
	if p.store != nil {
		s.Log = p.store.LogStats()
	}
	s.Uptime = p.clock.Running()
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err == nil {
		s.UserTime = time.Duration(usage.Utime.Nano())
		s.SystemTime = time.Duration(usage.Stime.Nano())
	}
	return s
}
