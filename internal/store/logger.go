package store

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// logger brings what Pebble has to say into the store's log. Pebble calls
// Fatalf when it cannot go on.
type logger struct{ s *Store }

// fatal is what Fatalf raises where there is no Options.Fatal to end the
// process. Open and Commit return it as their error.
type fatal struct{ error }

// Infof logs for debugging.
func (l logger) Infof(format string, args ...any) {
	l.s.options.Logger.Debug("store", "detail", fmt.Sprintf(format, args...))
}

// Errorf logs an error.
func (l logger) Errorf(format string, args ...any) {
	l.s.options.Logger.Error("store", "detail", fmt.Sprintf(format, args...))
}

// Fatalf ends the process.
func (l logger) Fatalf(format string, args ...any) {
	l.s.fatal(fmt.Errorf(format, args...))
}

// events says what to do about what happens beside the commits. Pebble tries
// again at once what has failed, without end. That may help on a full disk.
// Damage it keeps away from, and whoever reads gets it as an error. After any
// other error nothing is known of the disk.
func (l logger) events() *pebble.EventListener {
	return &pebble.EventListener{
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			l.s.options.Logger.Error("the store is damaged", "path", info.Path, "error", info.Details)
		},
		CompactionEnd: func(info pebble.CompactionInfo) {
			if l.s.disk != nil {
				l.s.disk.compactions.ended(info.Err)
			}
		},
		BackgroundError: func(err error) {
			if errors.Is(err, errNoRoom) {
				l.Infof("%v", err)
				return
			}
			if pebble.IsCorruptionError(err) || vfs.IsNoSpaceError(err) {
				l.Errorf("%v", err)
				return
			}
			l.s.fatal(err)
		},
	}
}

// fatal ends the process because the store cannot go on.
func (s *Store) fatal(err error) {
	err = fmt.Errorf("store %s: %w", s.options.Dir, err)
	if s.options.Fatal != nil {
		s.options.Fatal(err)
	}
	panic(fatal{err})
}

// raised returns what fatal, or Pebble itself, has raised as an error.
func raised(err *error) {
	switch r := recover().(type) {
	case nil:
	case fatal:
		*err = r.error
	case runtime.Error:
		panic(r)
	case error:
		*err = r
	default:
		panic(r)
	}
}
