package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/haricotq/haricot/internal/protocol"
)

// raceOptions keep a process with the race detector from sleeping for a second when it ends, as it does by default.
const raceOptions = "atexit_sleep_ms=0"

// TestMain makes the test binary be haricot when it is called by that name, or by beanstalkd's: the tests below start real
// processes of the code they are compiled with, and its coverage counts.
func TestMain(m *testing.M) {
	if os.Getenv("GORACE") == "" {
		os.Setenv("GORACE", raceOptions)
	}
	testscript.Main(m, map[string]func(){"haricot": main, "beanstalkd": main, "talk": talk})
}

// TestScripts runs the command lines in testdata that end by themselves.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata", RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("GORACE", raceOptions)
			e.Setenv("version", protocol.Version)
			return nil
		},
	})
}
