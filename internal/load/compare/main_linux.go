// Command compare runs haricot and the reference server in turns through the workloads that haricot has set itself targets for, and
// prints how many times the reference's figures it reaches beside those targets.
//
//	compare [-quick] [-rounds N] [-only PATTERN] [-dir DIR] HARICOT BEANSTALKD
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"time"

	"golang.org/x/sys/unix"

	"github.com/haricotq/haricot/internal/load"
)

// comparison is what the command line asks for.
type comparison struct {
	ours, theirs string // programs
	dir          string // for the directories of durable servers
	rounds       int
	scale        scale
	only         *regexp.Regexp
	progress     io.Writer // nil for none
}

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func run(args []string, out, messages io.Writer) error {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(messages)
	quick := flags.Bool("quick", false, "fewer rounds, shorter, with smaller backlogs: two minutes instead of a quarter of an hour")
	rounds := flags.Int("rounds", 0, "measure each row so many times (5, with -quick 2); rows that take long have fewer")
	only := flags.String("only", "", "only rows whose name matches this regular expression")
	dir := flags.String("dir", "", "where to make the directories of durable servers: on the disk to be measured")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 2 {
		return fmt.Errorf("two programs are needed, haricot and beanstalkd, not %d", flags.NArg())
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	c := &comparison{dir: *dir, rounds: *rounds, scale: full, only: pattern}
	if *quick {
		c.scale = shortened
	}
	if c.rounds == 0 {
		c.rounds = c.scale.rounds
	}
	if c.ours, err = exec.LookPath(flags.Arg(0)); err != nil {
		return err
	}
	if c.theirs, err = exec.LookPath(flags.Arg(1)); err != nil {
		return err
	}
	if file, ok := messages.(*os.File); ok {
		if _, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS); err == nil {
			c.progress = messages
		}
	}
	if err := load.MayOpenFiles(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	defer stop()
	return c.all(ctx, out)
}

// all runs the rows and prints each as it is done. A row that fails does not keep the others from being measured.
func (c *comparison) all(ctx context.Context, out io.Writer) error {
	began := time.Now()
	t := &table{out: out}
	t.head()
	var failures []error
	for _, r := range rows() {
		if !c.only.MatchString(r.name) {
			continue
		}
		r = c.scale.apply(r)
		results, err := c.row(ctx, r)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("row %q: %w", r.name, err))
			continue
		}
		t.row(r, results)
	}
	t.foot(time.Since(began))
	return errors.Join(failures...)
}

// row runs one row and returns our results and those of the reference, which has none in a row of haricot's own.
func (c *comparison) row(ctx context.Context, r row) ([2][]load.Result, error) {
	w, err := load.Find(r.workload)
	if err != nil {
		return [2][]load.Result{}, err
	}
	contest := load.Contest{
		Workload:   w,
		Plan:       w.Complete(r.plan),
		Rounds:     min(c.rounds, max(1, r.rounds)),
		Contenders: []load.Contender{c.contender("haricot", c.ours, r.ours)},
	}
	if r.rounds == 0 {
		contest.Rounds = c.rounds
	}
	if !r.alone {
		contest.Contenders = append(contest.Contenders, c.contender("beanstalkd", c.theirs, r.theirs))
	}
	if c.progress != nil {
		contest.Progress = func(what string) { fmt.Fprintf(c.progress, "\r\x1b[K%s: %s", r.name, what) }
		defer fmt.Fprint(c.progress, "\r\x1b[K")
	}
	var results [2][]load.Result
	list, err := contest.Run(ctx)
	copy(results[:], list)
	return results, err
}

func (c *comparison) contender(name, path string, m mode) load.Contender {
	return load.Starting(load.Program{Name: name, Path: path, Args: m.flags()}, c.dir)
}
