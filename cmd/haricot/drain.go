package main

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/haricotq/haricot/internal/remote"
	"github.com/haricotq/haricot/internal/terminal"
)

// drainCommand switches the draining of a server.
type drainCommand struct {
	Off  bool `help:"Take new jobs again. Only haricot can; beanstalkd must be restarted."`
	Wait bool `help:"Then wait until no job is ready, reserved or delayed any more. Buried jobs are not waited for."`
	For  span `default:"0" placeholder:"TIME" help:"With --wait: exit with 4 after this time. Default: wait for ever."`
	serverFlags
}

// Help is the second part of the help page.
func (*drainCommand) Help() string {
	return "While a server drains, every put is answered DRAINING, and all else goes on. The protocol has no command for it: it takes a signal, SIGUSR1 to begin and SIGUSR2 to end. " +
		"So the server must run on this machine, as the same user or under yours if you are root, and this command finds its process by the socket. For a server elsewhere, or in a container of its own, send the signal there: " +
		"kill -USR1 PID; 'haricot stats' shows the PID and whether it drains."
}

// Run drains, or ends that.
func (c *drainCommand) Run(p *process) error {
	if c.Off && c.Wait || c.For > 0 && !c.Wait {
		return usage(errors.New("--for goes with --wait, and --wait does not go with --off"))
	}
	return c.with(func(s *remote.Server) error {
		stats, err := s.Stats()
		if err != nil {
			return err
		}
		if stats.Value("draining") != fmt.Sprint(!c.Off) {
			if err := c.signal(s, stats); err != nil {
				return err
			}
		}
		if c.JSON {
			err = terminal.WriteJSON(p.stdout, drainLine{!c.Off})
		} else if c.Off {
			_, err = fmt.Fprintln(p.stdout, "new jobs are taken again")
		} else {
			_, err = fmt.Fprintln(p.stdout, "draining: new jobs are refused")
		}
		if err != nil || !c.Wait {
			return err
		}
		return c.await(p, s)
	})
}

// drainLine says in JSON whether a server drains.
type drainLine struct {
	Draining bool `json:"draining"`
}

// signal has the server's process begin or end, and makes sure that it has.
func (c *drainCommand) signal(s *remote.Server, stats remote.Stats) error {
	pid := int(stats.Number("pid"))
	sig := syscall.SIGUSR1
	if c.Off {
		sig = syscall.SIGUSR2
	}
	switch heard, err := catches(c.Addr, pid, sig); {
	case err != nil:
		return fmt.Errorf("%w; draining takes a signal on the machine of the server: kill -%s %d", err, c.name(), pid)
	case !heard && c.Off:
		return errors.New("the server does not wait for SIGUSR2: it is beanstalkd, which takes new jobs again only after a restart; haricot can be told")
	case !heard:
		return errors.New("the server does not wait for SIGUSR1, which would kill it")
	}
	if err := syscall.Kill(pid, sig); err != nil {
		return fmt.Errorf("sending SIG%s to process %d: %w", c.name(), pid, err)
	}
	deadline := time.Now().Add(time.Duration(c.Timeout))
	for time.Now().Before(deadline) {
		stats, err := s.Stats()
		if err != nil {
			return err
		}
		if stats.Value("draining") == fmt.Sprint(!c.Off) {
			return nil
		}
		<-time.After(10 * time.Millisecond)
	}
	return &failure{error: fmt.Errorf("the server has not followed SIG%s", c.name()), code: exitTimeout}
}

func (c *drainCommand) name() string {
	if c.Off {
		return "USR2"
	}
	return "USR1"
}

// await waits until there is no job that a worker is to work on.
func (c *drainCommand) await(p *process, s *remote.Server) error {
	ctx, stop := untilSignal()
	defer stop()
	var late <-chan time.Time
	if c.For > 0 {
		late = time.After(time.Duration(c.For))
	}
	bar, again := newBar(p, inJobs), time.NewTicker(200*time.Millisecond)
	defer bar.end()
	defer again.Stop()
	for {
		stats, err := s.Stats()
		if err != nil {
			return err
		}
		ready, reserved, delayed := stats.Number("current-jobs-ready"), stats.Number("current-jobs-reserved"), stats.Number("current-jobs-delayed")
		if ready+reserved+delayed == 0 {
			return nil
		}
		bar.set(fmt.Sprintf("waiting for jobs, %d ready, %d reserved, %d delayed", ready, reserved, delayed), int64(ready+reserved+delayed), 0)
		select {
		case <-again.C:
		case <-ctx.Done():
			return errors.New("interrupted; the server goes on draining")
		case <-late:
			return &failure{error: fmt.Errorf("after %v there are %d ready, %d reserved and %d delayed jobs; the server goes on draining", c.For, ready, reserved, delayed), code: exitTimeout}
		}
	}
}
