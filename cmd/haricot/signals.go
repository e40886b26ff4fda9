package main

import (
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalActions is what signals set off:
//
//	SIGUSR1              drain: puts are refused
//	SIGUSR2              end of draining
//	SIGTERM, SIGINT      stop: what is under way is answered, waiting workers are woken
//	SIGHUP               the same; it kills beanstalkd, and whoever closes a terminal wants the server gone
//	any of those again   exit at once, with the status 128 plus the signal's number
//
// A SIGINT or SIGHUP that was ignored when the process started stays ignored, so that nohup and a shell's background jobs work as
// they do with any program. SIGPIPE is always ignored: a reader of the log that goes away must not take the server with it.
type signalActions struct {
	drain func(on bool)
	stop  func()
	exit  func(code int)
	log   *slog.Logger
}

// signals is the goroutine that waits for signals.
type signals struct {
	caught chan os.Signal
	ended  chan struct{}
}

// catchSignals starts to act on signals. Call release to end that.
func catchSignals(a *signalActions) *signals {
	signal.Ignore(syscall.SIGPIPE)
	// The buffer holds a burst; signals that find it full are lost, as the system itself merges those that are pending.
	s := &signals{caught: make(chan os.Signal, 16), ended: make(chan struct{})}
	wanted := []os.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGTERM}
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGHUP} {
		if !signal.Ignored(sig) {
			wanted = append(wanted, sig)
		}
	}
	signal.Notify(s.caught, wanted...)
	go func() {
		defer close(s.ended)
		stopping := false
		for sig := range s.caught {
			if sig, ok := sig.(syscall.Signal); ok { // It always is, on the systems that have signals.
				stopping = a.act(sig, stopping)
			}
		}
	}()
	return s
}

// release ends the goroutine and gives signals their default meaning back.
func (s *signals) release() {
	signal.Stop(s.caught)
	close(s.caught)
	<-s.ended
}

// act does what one signal asks for and says whether the server is stopping after it.
func (a *signalActions) act(sig syscall.Signal, stopping bool) bool {
	switch sig {
	case syscall.SIGUSR1:
		a.log.Info("draining: puts are refused until SIGUSR2")
		a.drain(true)
		return stopping
	case syscall.SIGUSR2:
		a.log.Info("draining ended: puts are taken again")
		a.drain(false)
		return stopping
	}
	if stopping {
		a.log.Warn("exiting at once", "signal", unix.SignalName(sig))
		a.exit(exitSignal + int(sig))
		return true
	}
	a.log.Info("stopping; a second signal exits at once", "signal", unix.SignalName(sig))
	a.stop()
	return true
}
