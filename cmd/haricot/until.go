package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// untilSignal makes a context that ends with the first signal that asks for an end. A second one ends the process.
func untilSignal() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// catchStops calls stop at the first signal that asks for an end, and kill at each further one.
func catchStops(stop func(), kill func(code int)) (release func()) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, stopSignals()...)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		first := true
		for s := range signals {
			if first {
				stop()
			} else if s, ok := s.(syscall.Signal); ok { // It always is, on the systems that have signals.
				kill(exitSignal + int(s))
			}
			first = false
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
		<-ended
	}
}

// stopSignals are the signals that ask for an end. One that was ignored when the process started, as nohup and shells do it, stays so.
func stopSignals() []os.Signal {
	wanted := []os.Signal{syscall.SIGTERM}
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			wanted = append(wanted, s)
		}
	}
	return wanted
}

// surviveBrokenPipes has writing to a pipe that nobody reads any more fail, instead of ending the process. Child processes are not
// affected, as they would be if the signal were ignored.
func surviveBrokenPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
