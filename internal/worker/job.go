package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/haricotq/haricot/client"
)

// Result is what has become of a job.
type Result string

// The results.
const (
	Done      Result = "done"       // Done: it is deleted.
	Retried   Result = "retried"    // Retried: it is ready again after a delay.
	Buried    Result = "buried"     // Buried: it waits for somebody to kick it.
	GivenBack Result = "given back" // GivenBack: the worker stopped, and the job is ready again.
	Lost      Result = "lost"       // Lost: it was no longer ours when its command ended, and will be done again.
)

// Outcome is the end of one run of a command.
type Outcome struct {
	Job    uint64
	Tube   string
	Tries  uint64 // this one included
	Result Result
	Delay  time.Duration // until it is ready again, if it is retried
	Took   time.Duration // from the reservation on
	Err    error         // what went wrong: an exit status, a signal, a limit, a lost connection
}

// errLimit is what is wrong with a command that was stopped because of the time it took.
var errLimit = errors.New("it took longer than allowed")

// errStopped is what is wrong with a command that was stopped because the worker stops.
var errStopped = errors.New("the worker is stopping")

// handle runs the command for a job and ends the job.
func (p *place) handle(ctx context.Context, job *client.Job) {
	began := time.Now()
	o := &Outcome{Job: job.ID}
	settling := context.WithoutCancel(ctx)
	stats, err := job.Stats(settling)
	if err != nil {
		// Who it belongs to is not known any more. If it is ours still, it is nobody's when the connection is closed.
		_ = p.conn.Close()
		o.Result, o.Err = Lost, err
	} else {
		o.Tube, o.Tries = stats.Tube, stats.Reserves
		p.settle(settling, job, stats, o, p.execute(ctx, job, stats))
	}
	o.Took = time.Since(began)
	p.worker.finished(o)
}

// settle ends a job as the end of its command says.
func (p *place) settle(ctx context.Context, job *client.Job, stats *client.JobStats, o *Outcome, failure error) {
	c := &p.worker.config
	o.Err = failure
	priority := client.WithPriority(stats.Priority)
	var err error
	switch {
	case failure == nil:
		o.Result, err = Done, job.Delete(ctx)
	case errors.Is(failure, client.ErrJobLost):
		o.Result = Lost
	case errors.Is(failure, errStopped):
		o.Result, err = GivenBack, job.Release(ctx, priority)
	case c.Tries > 0 && stats.Reserves >= uint64(c.Tries):
		o.Result, err = Buried, job.Bury(ctx, priority)
	default:
		o.Result = Retried
		o.Delay = wholeSeconds(c.Backoff.Delay(int(min(stats.Reserves, math.MaxInt32))))
		err = job.Release(ctx, priority, client.WithDelay(o.Delay))
	}
	if err != nil {
		o.Result, o.Err = Lost, errors.Join(err, failure)
		if !errors.Is(err, client.ErrJobLost) {
			_ = p.conn.Close() // So that the server takes back what it may still count as ours.
		}
	}
}

func wholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}

// execute runs the command. It returns nil if the exit status is 0.
func (p *place) execute(ctx context.Context, job *client.Job, stats *client.JobStats) error {
	if ctx.Err() != nil {
		return errStopped
	}
	c := &p.worker.config
	cmd := &exec.Cmd{
		Path: c.Command[0], Args: c.Command,
		Env:   append(os.Environ(), environment(job, stats)...),
		Stdin: bytes.NewReader(job.Body), Stdout: c.Output, Stderr: c.Errors,
		// A group of its own, so that all that the command starts can be stopped with it, and an interrupt typed at the
		// terminal reaches the worker alone.
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
		// What it leaves running may keep its end of the pipe with the body open.
		WaitDelay: time.Second,
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the command: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	r := &run{place: p, job: job, group: cmd.Process.Pid, ended: ended}
	err := r.attend(ctx, stats)
	if cmd.ProcessState != nil && cmd.ProcessState.Success() {
		return nil // Whatever happened, it is done.
	}
	return err
}

// environment tells the command about its job.
func environment(job *client.Job, stats *client.JobStats) []string {
	seconds := func(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) }
	return []string{
		"HARICOT_JOB_ID=" + strconv.FormatUint(job.ID, 10),
		"HARICOT_TUBE=" + stats.Tube,
		"HARICOT_TRIES=" + strconv.FormatUint(stats.Reserves, 10),
		"HARICOT_PRIORITY=" + strconv.FormatUint(uint64(stats.Priority), 10),
		"HARICOT_AGE=" + seconds(stats.Age),
		"HARICOT_TTR=" + seconds(stats.TTR),
	}
}

// run is a command that runs.
type run struct {
	place   *place
	job     *client.Job
	group   int // of processes
	ended   <-chan error
	stopped error // why it was told to stop
	grace   <-chan time.Time
	killed  <-chan struct{} // set once it was told to stop
}

// attend touches the job until the command has ended, and stops the command when it must.
func (r *run) attend(ctx context.Context, stats *client.JobStats) error {
	every := max(stats.TTR/2, time.Second/2)
	touch := time.NewTimer(max(min(every, stats.TimeLeft/2), time.Second/4))
	defer touch.Stop()
	var limit <-chan time.Time
	if d := r.place.worker.config.Limit; d > 0 {
		limit = time.After(d)
	}
	stopping := ctx.Done()
	for {
		select {
		case err := <-r.ended:
			if r.stopped == nil {
				return err
			}
			r.signal(syscall.SIGKILL) // What it had started must not go on when the job is another's.
			return errors.Join(r.stopped, err)
		case <-touch.C:
			err := r.job.Touch(context.WithoutCancel(ctx))
			if errors.Is(err, client.ErrJobLost) {
				r.tell(err)
				continue
			}
			touch.Reset(every)
		case <-limit:
			r.tell(errLimit)
		case <-stopping:
			stopping = nil
			r.tell(errStopped)
		case <-r.grace:
			r.signal(syscall.SIGKILL)
		case <-r.killed:
			r.killed = nil
			r.signal(syscall.SIGKILL)
		}
	}
}

// tell tells the command to stop. The first reason counts, but for that it lost its job.
func (r *run) tell(why error) {
	if r.stopped == nil || errors.Is(why, client.ErrJobLost) {
		r.stopped = why
	}
	if r.grace == nil {
		r.grace = time.After(r.place.worker.config.Grace)
		r.killed = r.place.worker.killed
		r.signal(syscall.SIGTERM)
	}
}

// signal signals the command and all that it has started. That none of them is left is no fault.
func (r *run) signal(s syscall.Signal) { _ = syscall.Kill(-r.group, s) }
