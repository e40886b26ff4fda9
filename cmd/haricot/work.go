package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	beanstalk "github.com/haricotq/haricot/client"
	"github.com/haricotq/haricot/internal/terminal"
	"github.com/haricotq/haricot/internal/worker"
)

// workCommand runs a command for each job.
type workCommand struct {
	// The parser sees only the tubes: main has put aside what stands behind --. The name makes the usage say all of it.
	Tubes []tubeName `arg:"" name:"tube> ... -- <command" help:"Tubes whose jobs to take; then, behind --, the command and its arguments."`

	Concurrency int  `short:"c" default:"1" placeholder:"N" help:"Run so many commands at once. Default: 1."`
	Tries       int  `default:"10" placeholder:"N" help:"Bury a job that has failed when it was reserved so many times; 0 never does. Default: 10."`
	Backoff     span `default:"1s" placeholder:"TIME" help:"How long a job waits after its first failure. The wait doubles with each further one; up to a quarter is taken off at random. Default: 1s."`
	MaxBackoff  span `default:"1h" placeholder:"TIME" help:"The longest wait. Default: 1h."`
	Limit       span `default:"0" placeholder:"TIME" help:"Stop a command that takes longer, which counts as a failure. Default: no limit."`
	Grace       span `default:"10s" placeholder:"TIME" help:"Kill a command (SIGKILL) that has not ended so long after it was told to (SIGTERM). Default: 10s."`

	Once          bool `help:"Handle one job and exit: with 0 if its command succeeded, 1 if not."`
	Wait          span `default:"0" placeholder:"TIME" help:"With --once: exit with 4 if no job has come in this time. Default: wait for ever."`
	ExitWhenEmpty bool `help:"Exit when no job is ready and no command runs. Delayed jobs are not waited for. With --once, exit with 3 if no job is ready."`
	Quiet         bool `short:"q" help:"Say nothing of jobs that fail, and print no summary."`
	serverFlags
}

// Help is the second part of the help page.
func (*workCommand) Help() string {
	return "The command gets the job's body on standard input, and HARICOT_JOB_ID, HARICOT_TUBE, HARICOT_TRIES (this one included), " +
		"HARICOT_PRIORITY, HARICOT_AGE and HARICOT_TTR (seconds) in its environment. It is not run by a shell; for one, use: -- sh -c '...'. " +
		"If it exits with 0, the job is deleted. If not, the job is released with a delay that grows with each try, or buried after the last. " +
		"While it runs, the job is touched, so that it may take longer than the time to run.\n\n" +
		"SIGTERM or SIGINT stops: no job is taken any more, commands that run and all that they have started get SIGTERM, and after --grace SIGKILL. " +
		"A job whose command exits with 0 nevertheless is deleted, the others are given back. A second signal kills at once. " +
		"When the server is lost, it is tried again until it is back; commands whose jobs were lost with it are stopped.\n\n" +
		"With --json each job is a line on standard output (job, tube, tries, result, delay, seconds, error), the last line is the summary, and what commands print goes to standard error."
}

// Run works.
func (c *workCommand) Run(p *process) error {
	w, err := c.worker(p)
	if err != nil {
		return err
	}
	surviveBrokenPipes()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	defer catchStops(stop, func(code int) {
		w.Kill()
		// What was killed ends at once, and only a server that does not answer keeps us.
		time.AfterFunc(2*time.Second, func() { p.exit(code) })
	})()
	began := time.Now()
	done, err := w.Run(ctx)
	c.sum(p, &done, time.Since(began))
	switch {
	case errors.Is(err, worker.ErrNoJob) && c.ExitWhenEmpty:
		return nothing(errors.New("no job is ready"))
	case errors.Is(err, worker.ErrNoJob):
		return &failure{error: fmt.Errorf("no job has come in %v", c.Wait), code: exitTimeout}
	case err != nil:
		return c.explain(err)
	case c.Once && done.Done == 0 && ctx.Err() == nil:
		return &failure{error: errors.New("the job was not done"), code: exitInternal, told: true}
	}
	return nil
}

// worker makes the worker that the flags describe.
func (c *workCommand) worker(p *process) (*worker.Worker, error) {
	switch {
	case len(p.rest) == 0:
		return nil, usage(errors.New("which command? Give it behind --, as in: haricot work emails -- ./send"))
	case c.Concurrency < 1 || c.Tries < 0:
		return nil, usage(errors.New("--concurrency must be 1 or more, and --tries 0 or more"))
	case c.Once && c.Concurrency > 1:
		return nil, usage(errors.New("--once handles one job; leave --concurrency out"))
	case c.Wait > 0 && !c.Once:
		return nil, usage(errors.New("--wait goes with --once"))
	}
	path, err := exec.LookPath(p.rest[0])
	if err != nil {
		return nil, usage(fmt.Errorf("the command cannot be run: %w", err))
	}
	var tubes []string
	for _, tube := range c.Tubes {
		tubes = append(tubes, string(tube))
	}
	output, errs := file(p.stdout), file(p.stderr)
	if c.JSON {
		output = errs
	}
	return worker.New(worker.Config{
		Dial: func(ctx context.Context) (*beanstalk.Conn, error) {
			conn, err := c.dial(ctx)
			if err != nil {
				return nil, err
			}
			return beanstalk.NewConn(conn.(*patientConn).Conn, c.Addr), nil //nolint:errcheck // dial makes no other; the client has limits of its own.
		},
		Tubes: tubes, Command: append([]string{path}, p.rest[1:]...), Output: output, Errors: errs,
		Concurrency: c.Concurrency, Tries: c.Tries,
		Backoff: beanstalk.Backoff{Min: time.Duration(c.Backoff), Max: time.Duration(c.MaxBackoff), Jitter: 0.25},
		Limit:   time.Duration(c.Limit), Grace: time.Duration(c.Grace),
		Once: c.Once, Wait: time.Duration(c.Wait), UntilEmpty: c.ExitWhenEmpty,
		Finished: func(o *worker.Outcome) { c.tell(p, o) },
		Lost: func(err error) {
			if err != nil {
				fmt.Fprintf(p.stderr, "haricot: the server at %q is lost, and tried again: %v\n", c.Addr, err)
				return
			}
			fmt.Fprintf(p.stderr, "haricot: the server at %q is back\n", c.Addr)
		},
	}), nil
}

// file is what a child process can write to.
func file(w io.Writer) *os.File {
	f, _ := w.(*os.File) // Without one, what it writes is lost.
	return f
}

// outcomeLine is what has become of a job, in JSON.
type outcomeLine struct {
	Job     uint64  `json:"job"`
	Tube    string  `json:"tube"`
	Tries   uint64  `json:"tries"`
	Result  string  `json:"result"`
	Delay   int64   `json:"delay"`
	Seconds float64 `json:"seconds"`
	Error   string  `json:"error,omitempty"`
}

// tell says what has become of a job, to people only if it has failed.
func (c *workCommand) tell(p *process, o *worker.Outcome) {
	reason := ""
	if o.Err != nil {
		reason = strings.ReplaceAll(o.Err.Error(), "\n", "; ")
	}
	switch {
	case c.JSON:
		line := outcomeLine{o.Job, o.Tube, o.Tries, string(o.Result), int64(o.Delay / time.Second), o.Took.Seconds(), reason}
		_ = terminal.WriteJSON(p.stdout, line) // Who reads it has gone; the jobs must be worked on.
	case c.Quiet || o.Result == worker.Done:
	case o.Result == worker.Retried:
		fmt.Fprintf(p.stderr, "haricot: job %d of %s failed (%s), try %d, again in %v\n", o.Job, clean(o.Tube), reason, o.Tries, o.Delay)
	case o.Result == worker.Buried:
		fmt.Fprintf(p.stderr, "haricot: job %d of %s failed (%s), try %d, and is buried\n", o.Job, clean(o.Tube), reason, o.Tries)
	case o.Result == worker.GivenBack:
		fmt.Fprintf(p.stderr, "haricot: job %d of %s was not finished and is given back\n", o.Job, clean(o.Tube))
	case o.Result == worker.Lost:
		fmt.Fprintf(p.stderr, "haricot: job %d of %s is no longer held (%s) and will be done again\n", o.Job, clean(o.Tube), reason)
	}
}

// summaryLine counts what has become of jobs, in JSON.
type summaryLine struct {
	Done      int     `json:"done"`
	Retried   int     `json:"retried"`
	Buried    int     `json:"buried"`
	GivenBack int     `json:"given_back"`
	Lost      int     `json:"lost"`
	Seconds   float64 `json:"seconds"`
}

// sum says what has become of all jobs.
func (c *workCommand) sum(p *process, s *worker.Summary, took time.Duration) {
	switch {
	case c.JSON:
		_ = terminal.WriteJSON(p.stdout, summaryLine{s.Done, s.Retried, s.Buried, s.GivenBack, s.Lost, took.Seconds()}) // As in tell.
	case !c.Quiet:
		fmt.Fprintf(p.stderr, "haricot: %d done, %d to be tried again, %d buried, %d given back, %d lost, in %v\n",
			s.Done, s.Retried, s.Buried, s.GivenBack, s.Lost, took.Round(time.Millisecond))
	}
}
