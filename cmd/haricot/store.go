package main

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/haricotq/haricot/internal/control"
	"github.com/haricotq/haricot/internal/store"
	"github.com/haricotq/haricot/internal/transfer"
)

// storeFlags say where jobs are kept and how much of what. The short ones are beanstalkd's.
type storeFlags struct {
	DataDir      *word      `short:"b" placeholder:"DIR" help:"Keep jobs in this directory, which must exist. Default: in memory only."`
	SyncEvery    *syncEvery `short:"f" placeholder:"MS" help:"With -b: sync to disk at most this many milliseconds after a change; 0 is before each reply. Default: 0."`
	NoSync       bool       `short:"F" help:"With -b: no reply waits for the disk; changes get there about once a second."`
	LogMaxSize   byteSize   `short:"s" default:"10485760" placeholder:"BYTES" help:"Accepted and reported in stats; the store has no files of a fixed size. Default: 10485760."`
	Memory       *byteSize  `placeholder:"SIZE" help:"Memory for jobs, such as 512M or 2G: with -b larger backlogs keep bodies on disk only, without it further puts are refused. Default: half of what the machine or its cgroup has."`
	TubeMaxJobs  jobCount   `placeholder:"N" help:"Refuse puts into a tube that has this many jobs. Default: no limit."`
	TubeMaxBytes byteSize   `placeholder:"SIZE" help:"Refuse puts that would bring a tube above this many bytes of bodies. Default: no limit."`
}

// syncEvery is the value of -f.
type syncEvery time.Duration

// UnmarshalText reads whole milliseconds.
func (s *syncEvery) UnmarshalText(text []byte) error {
	ms, err := strconv.ParseUint(string(text), 10, 32)
	if err != nil {
		return fmt.Errorf("-f %q is not a time; give a whole number of milliseconds, such as -f 50", text)
	}
	*s = syncEvery(time.Duration(ms) * time.Millisecond)
	return nil
}

// byteSize is a number of bytes.
type byteSize uint64

// UnmarshalText reads a whole number, with K, M, G or T for powers of 1024; KB and KiB are the same as K.
func (b *byteSize) UnmarshalText(text []byte) error {
	number, prefix := strings.ToUpper(string(text)), ""
	if i := strings.IndexAny(number, "KMGT"); i > 0 {
		number, prefix = number[:i], number[i:]
	}
	shift, known := map[string]int{"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[strings.TrimSuffix(strings.TrimSuffix(prefix, "B"), "I")]
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil || !known || n > math.MaxInt64>>shift {
		return fmt.Errorf("%q is not a size; give a number of bytes, or one with K, M, G or T, such as 512M", text)
	}
	*b = byteSize(n << shift)
	return nil
}

// jobCount is a number of jobs.
type jobCount uint64

// UnmarshalText reads a whole number.
func (c *jobCount) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		return fmt.Errorf("%q is not a number of jobs; give a whole number, such as 10000", text)
	}
	*c = jobCount(n)
	return nil
}

// check finds flags that do not go together.
func (f *storeFlags) check() error {
	switch {
	case f.DataDir != nil && *f.DataDir == "":
		return errors.New("-b names no directory; leave it out to keep jobs in memory only")
	case f.NoSync && f.SyncEvery != nil:
		return errors.New("-f and -F contradict each other; leave one out")
	case f.Memory != nil && *f.Memory == 0:
		return errors.New("--memory 0 leaves no room for any job; give a size such as 512M")
	}
	return nil
}

// memory is what jobs may take.
func (f *storeFlags) memory() int64 {
	if f.Memory != nil {
		return int64(*f.Memory)
	}
	limit, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)()
	if err != nil {
		return 0 // unknown: no limit but the system's
	}
	return int64(limit / 2)
}

// keeper is the store of a running server, and the socket by which tools reach it.
type keeper struct {
	*store.Store
	control  *control.Server // nil if it cannot be had
	progress *recoveryProgress
}

// openStore opens the directory of -b, or returns nil.
func (f *storeFlags) openStore(log *slog.Logger, p *process) (*keeper, error) {
	if f.DataDir == nil {
		if f.SyncEvery != nil || f.NoSync {
			log.Warn("-f and -F have no effect without -b")
		}
		return nil, nil //nolint:nilnil // no store is what was asked for
	}
	policy := store.SyncPolicy{Never: f.NoSync}
	if f.SyncEvery != nil {
		policy.Every = time.Duration(*f.SyncEvery)
	}
	progress := newRecoveryProgress(log, p)
	dir := string(*f.DataDir)
	s, err := store.Open(store.Options{
		Dir:      dir,
		Sync:     policy,
		LogSize:  uint64(f.LogMaxSize),
		Logger:   log,
		Progress: progress.report,
		Fatal: func(err error) {
			log.Error("the store failed; what was acknowledged is there at the next start", "error", err)
			p.exit(exitInternal)
		},
	})
	if err != nil {
		return nil, &failure{error: fmt.Errorf("-b: %w", remedy(err, dir)), code: exitStore}
	}
	k := &keeper{Store: s, progress: progress}
	if k.control, err = control.Serve(dir, s, log); err != nil {
		log.Warn("no backup and no export can be made while the server runs", "error", err)
	}
	return k, nil
}

// recovered ends the display of progress.
func (k *keeper) recovered() {
	if k != nil {
		k.progress.bar.end()
	}
}

// unrecovered is the failure of a start whose store could be opened, and not read.
func (f *storeFlags) unrecovered(err error) error {
	if !errors.Is(err, store.ErrDamaged) {
		return err
	}
	return &failure{error: fmt.Errorf("-b: %w", remedy(err, string(*f.DataDir))), code: exitStore}
}

// close ends what openStore has begun.
func (k *keeper) close() error {
	if k == nil {
		return nil
	}
	var err error
	if k.control != nil {
		err = k.control.Close()
	}
	return errors.Join(err, k.Close())
}

// unusable is the failure of a command that cannot use a directory.
func unusable(err error, dir string) error {
	return &failure{error: remedy(err, dir), code: exitStore}
}

// remedy adds to an error of a store what can be done about it.
func remedy(err error, dir string) error {
	if _, ok := errors.AsType[*transfer.UnreachableError](err); ok {
		return fmt.Errorf("%w; run this command as the server's user, or stop the server", err)
	}
	switch {
	case errors.Is(err, store.ErrMissing):
		return fmt.Errorf("%w; make it first: mkdir %s", err, dir)
	case errors.Is(err, store.ErrNoStore):
		return fmt.Errorf("%w; give the directory that the server has as -b, or a backup of it", err)
	case errors.Is(err, store.ErrOccupied), errors.Is(err, store.ErrForeign):
		return fmt.Errorf("%w; give an empty directory", err)
	case errors.Is(err, store.ErrBeanstalkd):
		return fmt.Errorf("%w; bring its jobs into a new directory: haricot import --beanstalkd %s NEWDIR", err, dir)
	case errors.Is(err, store.ErrNewer):
		return fmt.Errorf("%w; use the version that wrote it, or a later one", err)
	case errors.Is(err, store.ErrLocked):
		return fmt.Errorf("%w; stop it, or give each server a directory of its own; tools can work on a copy: haricot backup %s COPY", err, dir)
	case errors.Is(err, store.ErrDamaged):
		return fmt.Errorf("%w; see what is wrong with: haricot check %s; then bring back a backup with: haricot restore BACKUP NEWDIR", err, dir)
	}
	return err
}

// recoveryProgress shows how far recovery is once it has taken a second: on a terminal as a bar, elsewhere as a record of the log
// every second.
type recoveryProgress struct {
	log   *slog.Logger
	bar   *bar
	began time.Time
	last  time.Time
}

func newRecoveryProgress(log *slog.Logger, p *process) *recoveryProgress {
	r := &recoveryProgress{log: log, bar: newBar(p, inJobs), began: time.Now()}
	r.bar.delay = recoveryDelay
	return r
}

// recoveryDelay is how long recovery may take before anything is said about it, and the time between records of the log.
const recoveryDelay = time.Second

// report is told how many jobs there are so far.
func (r *recoveryProgress) report(jobs int) {
	now := time.Now()
	if r.bar.w != nil {
		r.bar.set("recovering", int64(jobs), 0)
		return
	}
	if now.Sub(r.began) < recoveryDelay || now.Sub(r.last) < recoveryDelay {
		return
	}
	r.last = now
	r.log.Info("recovering", "jobs", jobs, "elapsed", now.Sub(r.began).Round(time.Second))
}
