package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/signal"
	"syscall"

	"github.com/haricotq/haricot/internal/migration"
	"github.com/haricotq/haricot/internal/protocol"
)

// migrateCommand moves the jobs of a running server to another one, over the wire.
type migrateCommand struct {
	From  string   `required:"" placeholder:"ADDR" help:"The server that has the jobs, beanstalkd or haricot: HOST:PORT or unix:PATH."`
	To    string   `required:"" placeholder:"ADDR" help:"The server that is to have them."`
	Tube  []string `sep:"none" placeholder:"NAME" help:"Move this tube only; may be repeated. Default: all tubes."`
	Wait  bool     `help:"Go on until no job is left: wait for jobs that workers have reserved, and move what producers put in the meantime."`
	Map   string   `placeholder:"FILE" help:"Append to FILE which job has become which, as lines of JSON. Run again with the same FILE after an interruption, then no job is doubled whose line is there."`
	Batch int      `default:"100" placeholder:"N" help:"Have at most this many ready jobs under way at once. Default: 100."`
}

// Help is the second part of the help page.
func (*migrateCommand) Help() string {
	return "Tube, priority, time to run, body, remaining delay, burial and order are kept; ids are new, and counters (reserves, " +
		"timeouts, releases, buries, kicks) and age begin anew, for the protocol cannot carry them. " +
		"A job is put at the destination first and then deleted at the source: an interruption loses none, and may double those " +
		"that were under way. Workers and producers may go on. To keep ids and counters, stop beanstalkd and use 'haricot import --beanstalkd'."
}

// Run migrates. A signal ends it after the batch that is under way, a second one at once.
func (c *migrateCommand) Run(p *process) error {
	if err := c.check(); err != nil {
		return usage(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	from, to, err := c.connect()
	if err != nil {
		return err
	}
	moved, err := migration.OpenMap(c.Map, c.From, c.To)
	if err != nil {
		return errors.Join(err, from.Close(), to.Close())
	}
	progress := newBar(p, inJobs)
	outcome, err := migration.Move(ctx, from, to, moved, migration.Options{
		Tubes: c.Tube, Wait: c.Wait, Batch: c.Batch,
		Progress: func(done, total int64) { progress.set("moving", done, total) },
	})
	progress.end()
	err = errors.Join(err, from.Close(), to.Close(), moved.Close())
	left := c.report(&outcome, to.Picks(), p.stderr)
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return errors.New("interrupted; no job is at both servers; to move the rest, run the same command again")
	case left > 0:
		return fmt.Errorf("%s left at the source", inJobs(int64(left)))
	}
	return nil
}

func (c *migrateCommand) check() error {
	if c.Batch < 1 {
		return fmt.Errorf("--batch %d is not possible; give 1 or more", c.Batch)
	}
	for _, name := range c.Tube {
		if !protocol.ValidTube([]byte(name)) {
			return fmt.Errorf("no tube can be named %q", name)
		}
	}
	return nil
}

// connect connects to both servers.
func (c *migrateCommand) connect() (from, to *migration.Server, err error) {
	if from, err = reach(migration.Source, c.From); err != nil {
		return nil, nil, err
	}
	if to, err = reach(migration.Destination, c.To); err != nil {
		return nil, nil, errors.Join(err, from.Close())
	}
	if from.Same(to) {
		err = usage(fmt.Errorf("--from %s and --to %s are the same server", c.From, c.To))
		return nil, nil, errors.Join(err, from.Close(), to.Close())
	}
	return from, to, nil
}

// reach connects to a server.
func reach(role migration.Role, address string) (*migration.Server, error) {
	network, target := destination(address)
	conn, err := net.Dial(network, target)
	if err != nil {
		return nil, &failure{error: fmt.Errorf("cannot reach the %s: %w", role, err), code: exitSocket}
	}
	return migration.NewServer(role, address, conn)
}

// report says what was done and what is left. A destination picks if it has reserve-job.
func (c *migrateCommand) report(o *migration.Outcome, picks bool, w io.Writer) (left int) {
	total := o.Moved["ready"] + o.Moved["delayed"] + o.Moved["buried"]
	fmt.Fprintf(w, "moved %s from %s to %s: %d ready, %d delayed, %d buried; bodies have %s\n",
		inJobs(int64(total)), c.From, c.To, o.Moved["ready"], o.Moved["delayed"], o.Moved["buried"], inBytes(o.Bytes))
	if o.Known > 0 {
		fmt.Fprintf(w, "of them %s had been put there before, as %s says, and only had to be deleted at the source\n", inJobs(int64(o.Known)), c.Map)
	}
	if len(o.Undone) > 0 {
		fmt.Fprintf(w, "a worker was faster, and has at the source: %v\n", o.Undone)
	}
	if len(o.Doubled) > 0 {
		fmt.Fprintf(w, "a worker was faster at both servers, and so they were done twice: %v\n", o.Doubled)
	}
	for _, state := range []string{"ready", "delayed", "buried", "reserved"} {
		if n := o.Left[state]; n > 0 {
			fmt.Fprintf(w, "left at the source: %d %s%s\n", n, state, leftBecause[state])
			left += n
		}
	}
	if o.Left["buried"] > 0 && !picks {
		fmt.Fprintln(w, "buried jobs cannot be moved to this destination: it lacks the command reserve-job, which beanstalkd has since 1.12")
	}
	return left
}

var leftBecause = map[string]string{"reserved": ": workers have them; --wait waits for them"}
