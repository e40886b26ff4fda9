package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/haricotq/haricot/internal/binlog"
	"github.com/haricotq/haricot/internal/transfer"
)

// beanstalkdSource is what import takes its jobs from if that is the log of a beanstalkd.
type beanstalkdSource struct {
	Beanstalkd string `placeholder:"SRC" help:"Import the jobs of a beanstalkd that has stopped: SRC is the directory that it was given with -b. Nothing in it is changed. DIR must be new or empty."`
	Force      bool   `help:"With --beanstalkd: if parts of the log cannot be read, import the rest. Default: nothing is imported then."`
}

// check finds flags that do not go together.
func (s *beanstalkdSource) check(file string, newIDs bool) error {
	switch {
	case s.Beanstalkd == "" && s.Force:
		return errors.New("--force goes with --beanstalkd only")
	case s.Beanstalkd != "" && file != "":
		return fmt.Errorf("jobs come either from --beanstalkd %s or from %s; leave one out", s.Beanstalkd, file)
	case s.Beanstalkd != "" && newIDs:
		return errors.New("with --beanstalkd jobs keep their ids; leave --new-ids out")
	}
	return nil
}

// importInto makes a store of the log.
func (s *beanstalkdSource) importInto(dir string, p *process) error {
	progress := newBar(p, inBytes)
	log, err := binlog.Open(s.Beanstalkd, func(done, total int64) { progress.set("reading", done, total) })
	progress.end()
	if err != nil {
		return &failure{error: s.remedy(err), code: exitStore}
	}
	if unread := s.report(log, p.stderr); unread > 0 && !s.Force {
		err = fmt.Errorf("parts of the log in %s cannot be read, as said above, and so nothing was imported; to have the rest, add --force", s.Beanstalkd)
		return errors.Join(&failure{error: err, code: exitStore}, log.Close())
	}
	progress = newBar(p, inJobs)
	tally, err := transfer.ImportLog(log, dir, func(done, total int64) { progress.set("importing", done, total) })
	progress.end()
	if err = errors.Join(err, log.Close()); err != nil {
		return notImported(err, dir)
	}
	s.summarize(log, &tally, dir, p.stderr)
	return nil
}

// report tells what could not be read.
func (s *beanstalkdSource) report(log *binlog.Log, w io.Writer) (unread int) {
	for _, gap := range log.Gaps {
		fmt.Fprintf(w, "cannot be read: %v\n", gap)
	}
	for _, job := range log.Lost {
		fmt.Fprintf(w, "lost: %v\n", job)
	}
	if len(log.Gaps) > 0 {
		fmt.Fprintln(w, "what is told in these parts is unknown: jobs put there are missing, and jobs deleted or changed there are as they were before")
	}
	return len(log.Gaps) + len(log.Lost)
}

// remedy adds to an error of a log what can be done about it.
func (s *beanstalkdSource) remedy(err error) error {
	switch {
	case errors.Is(err, binlog.ErrRunning):
		return fmt.Errorf("%w; stop it first, or move its jobs while it runs: haricot migrate --from HOST:PORT --to HOST:PORT", err)
	case errors.Is(err, binlog.ErrNoLog):
		return fmt.Errorf("%w; give the directory that beanstalkd had with -b, with files binlog.1 and so on", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; run this as the user that beanstalkd ran as, or as root", err)
	}
	return err
}

// summarize says what an import has come to.
func (s *beanstalkdSource) summarize(log *binlog.Log, t *transfer.Tally, dir string, w io.Writer) {
	fmt.Fprintf(w, "read %s in %s of %s\n", plural(int64(log.Records), "record"), plural(int64(len(log.Files)), "file"), s.Beanstalkd)
	fmt.Fprintf(w, "imported %s into %s: %d ready, %d delayed, %d buried; bodies have %s\n",
		inJobs(int64(len(log.Jobs))), dir, t.Ready, t.Delayed, t.Buried, inBytes(t.Bytes))
	fmt.Fprintf(w, "the next job that is put gets the id %d\n", log.NextID)
	if unread := len(log.Gaps) + len(log.Lost); unread > 0 {
		fmt.Fprintf(w, "skipped: %s that could not be read, %s without a body; see above\n",
			plural(int64(len(log.Gaps)), "part"), inJobs(int64(len(log.Lost))))
	}
}
