package main

import (
	"errors"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestCommandsHaricot runs the scripts in testdata/commands, each against a haricot of its own.
func TestCommandsHaricot(t *testing.T) {
	runCommands(t, "haricot", func(e *testscript.Env, socket string) *exec.Cmd {
		return command("-l", "unix:"+socket)
	})
}

// TestCommandsBeanstalkd runs the same scripts against the reference.
func TestCommandsBeanstalkd(t *testing.T) {
	program := reference(t)
	runCommands(t, "beanstalkd", func(e *testscript.Env, socket string) *exec.Cmd {
		return exec.Command(program, "-l", "unix:"+socket)
	})
}

// TestCommandsAPI runs the scripts in testdata/api, against a haricot whose API is at HARICOT_API.
func TestCommandsAPI(t *testing.T) {
	runScripts(t, "testdata/api", "haricot", func(e *testscript.Env, socket string) *exec.Cmd {
		e.Setenv("HARICOT_API", "unix:"+socket+".api")
		return command("-l", "unix:"+socket, "--http", "unix:"+socket+".api")
	})
}

func runCommands(t *testing.T, kind string, start func(e *testscript.Env, socket string) *exec.Cmd) {
	runScripts(t, "testdata/commands", kind, start)
}

// runScripts runs the scripts of a directory. In each, HARICOT_ADDR is a server of some kind, and a condition names the kind.
func runScripts(t *testing.T, dir, kind string, start func(e *testscript.Env, socket string) *exec.Cmd) {
	testscript.Run(t, testscript.Params{
		Dir: dir, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("GORACE", raceOptions)
			socket := filepath.Join(e.WorkDir, "server")
			server := start(e, socket)
			if err := server.Start(); err != nil {
				return err
			}
			e.Defer(func() {
				_ = server.Process.Kill() // It has ended already, or must.
				_ = server.Wait()
			})
			e.Setenv("HARICOT_ADDR", "unix:"+socket)
			conn, err := connect(socket)
			if err != nil {
				return err
			}
			return conn.Close()
		},
		Condition: func(condition string) (bool, error) {
			switch condition {
			case "haricot", "beanstalkd":
				return condition == kind, nil
			}
			return false, errors.New("there is no such condition")
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// exits is a command of scripts: "exits STATUS PROGRAM ARGS" runs a program that must end with a status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS PROGRAM ARGS")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		ts.Logf("[stderr]\n%s", ts.ReadFile("stderr"))
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if want, err := strconv.Atoi(args[0]); err != nil || got != want {
		ts.Fatalf("%s ends with %d, want %s", strings.Join(args[1:], " "), got, args[0])
	}
}

// TestUnreachable tells the statuses of a server that is not there from that of one that does not answer.
func TestUnreachable(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	o := runs(t, "haricot", "stats", "--addr", "unix:"+socket)
	if o.status != exitInternal || !strings.Contains(o.stderr, "no server can be reached at") || !strings.Contains(o.stderr, "--addr or HARICOT_ADDR") {
		t.Errorf("without a server: %+v", o)
	}
	silent, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	o = runs(t, "haricot", "stats", "--addr", "unix:"+socket, "--timeout", "1s")
	if o.status != exitTimeout || !strings.Contains(o.stderr, "has not answered for 1s") {
		t.Errorf("with a server that is silent: %+v", o)
	}
}
