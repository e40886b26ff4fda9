// Command haricot is a work queue server that speaks the beanstalk protocol, and takes the place of beanstalkd.
//
// Its life: main reads the command line into one of the structs below, whose Run method does the work. Whatever it says to a
// person goes to standard error, so that standard output carries answers only (a version, a help page that was asked for by name).
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"
)

// commands is the command line with a subcommand first.
type commands struct {
	Serve          serveCommand   `cmd:"" help:"Run the server."`
	Check          checkCommand   `cmd:"" help:"Verify a store or a backup."`
	Backup         backupCommand  `cmd:"" help:"Copy a store, also under a running server."`
	Restore        restoreCommand `cmd:"" help:"Make a store of a backup."`
	Export         exportCommand  `cmd:"" help:"Write a store as lines of JSON."`
	Import         importCommand  `cmd:"" help:"Bring jobs into a store."`
	Migrate        migrateCommand `cmd:"" help:"Move the jobs of a running server to another one."`
	systemCommands `embed:""`
	Help           helpCommand    `cmd:"" help:"Explain a command."`
	Version        versionCommand `cmd:"" help:"Print the version."`
}

// process is what a command may touch of the process it runs in. Tests put their own in its place.
type process struct {
	stdout, stderr io.Writer
	exit           func(code int) // exit ends the process at once; only a second stop signal needs it.
}

func main() {
	os.Exit(run(os.Args, &process{stdout: os.Stdout, stderr: os.Stderr, exit: os.Exit}))
}

// run carries out a command line and returns the exit status.
func run(args []string, p *process) int {
	name, args := filepath.Base(args[0]), args[1:]
	grammar, advice := any(&commands{}), fmt.Sprintf("Try '%s help', which lists the commands.", name)
	if servesAtOnce(name, args) {
		grammar, advice = &serveCommand{}, fmt.Sprintf("Try '%s -h', which lists the flags.", name)
	}
	parser, err := kong.New(grammar, kong.Name(name), kong.Description(description), kong.Writers(p.stdout, p.stderr),
		kong.Help(helpOnStderr), kong.Bind(p), kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}))
	if err != nil {
		panic(err) // The structs above are wrong; no command line is to blame.
	}
	parser.Model.HelpFlag.Help = "Print this help and exit."
	ctx, err := parser.Parse(args)
	if err == nil {
		err = ctx.Run()
	} else if !errors.Is(err, errAnswered) {
		err = usage(err)
	}
	failure := failed(err)
	if failure == nil {
		return exitOK
	}
	if !failure.told {
		fmt.Fprintf(p.stderr, "%s: %v\n", name, failure)
		if failure.code == exitUsage {
			fmt.Fprintln(p.stderr, advice)
		}
	}
	return failure.code
}

// servesAtOnce tells whether the command line is one of beanstalkd, which has no subcommands: it begins with a flag, or is empty,
// or the program was called by the name beanstalkd.
func servesAtOnce(name string, args []string) bool {
	return name == "beanstalkd" || len(args) == 0 || strings.HasPrefix(args[0], "-")
}
