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
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// commands is the command line with a subcommand first.
type commands struct {
	Serve          serveCommand       `cmd:"" group:"server" help:"Run the server."`
	Stats          statsCommand       `cmd:"" group:"look" help:"Show the statistics of a server."`
	Tubes          tubesCommand       `cmd:"" group:"look" help:"List the tubes and how many jobs they have."`
	Tube           tubeCommand        `cmd:"" group:"look" help:"Show the statistics of a tube."`
	Job            jobCommand         `cmd:"" group:"look" help:"Show a job."`
	Peek           peekCommand        `cmd:"" group:"look" help:"Show the job of a tube that is next."`
	Jobs           jobsCommand        `cmd:"" group:"look" help:"List the jobs of a tube, or search all. Needs haricot's API."`
	Connections    connectionsCommand `cmd:"" group:"look" help:"List who is connected, and what they hold. Needs haricot's API."`
	Tail           tailCommand        `cmd:"" group:"look" help:"Follow a tube without taking jobs."`
	Top            topCommand         `cmd:"" group:"look" help:"Watch the tubes on a full screen, live."`
	Put            putCommand         `cmd:"" group:"work" help:"Put jobs into a tube."`
	Work           workCommand        `cmd:"" group:"work" help:"Run a command for every job of some tubes."`
	Kick           kickCommand        `cmd:"" group:"change" help:"Make buried or delayed jobs ready."`
	Bury           buryCommand        `cmd:"" group:"change" help:"Set jobs aside until they are kicked."`
	Release        releaseCommand     `cmd:"" group:"change" help:"Give jobs back with another priority or delay."`
	Delete         deleteCommand      `cmd:"" group:"change" help:"Delete jobs."`
	Clear          clearCommand       `cmd:"" group:"change" help:"Delete all jobs of a tube that are in some state."`
	Move           moveCommand        `cmd:"" group:"change" help:"Move jobs to another tube. Needs haricot's API."`
	Bulk           bulkCommand        `cmd:"" group:"change" help:"Do something to all jobs that a search finds. Needs haricot's API."`
	Pause          pauseCommand       `cmd:"" group:"change" help:"Keep the jobs of tubes from being reserved."`
	Resume         resumeCommand      `cmd:"" group:"change" help:"End the pause of tubes."`
	Drain          drainCommand       `cmd:"" group:"server" help:"Have a server on this machine refuse new jobs, or take them again."`
	Check          checkCommand       `cmd:"" group:"store" help:"Verify a store or a backup."`
	Backup         backupCommand      `cmd:"" group:"store" help:"Copy a store, also under a running server."`
	Restore        restoreCommand     `cmd:"" group:"store" help:"Make a store of a backup."`
	Export         exportCommand      `cmd:"" group:"store" help:"Write a store as lines of JSON."`
	Import         importCommand      `cmd:"" group:"store" help:"Bring jobs into a store."`
	Migrate        migrateCommand     `cmd:"" group:"server" help:"Move the jobs of a running server to another one."`
	systemCommands `embed:""`
	Completion     completionCommand `cmd:"" group:"self" help:"Print what makes a shell complete haricot's command lines."`
	Complete       completeCommand   `cmd:"" hidden:"" help:"Print what may come next on a command line."`
	Help           helpCommand       `cmd:"" group:"self" help:"Explain a command."`
	Version        versionCommand    `cmd:"" group:"self" help:"Print the version."`
}

// groups are the headings under which help lists the commands.
var groups = []kong.Group{
	{Key: "look", Title: "Look:"},
	{Key: "work", Title: "Put and work:"},
	{Key: "change", Title: "Change:"},
	{Key: "server", Title: "Servers:"},
	{Key: "store", Title: "Stores:"},
	{Key: "self", Title: "About haricot:"},
}

// process is what a command may touch of the process it runs in. Tests put their own in its place.
type process struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	exit           func(code int) // exit ends the process at once; only a second stop signal needs it.
	rest           []string       // rest is what stands behind the first -- of the command line.
}

func main() {
	os.Exit(run(os.Args, &process{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, exit: os.Exit}))
}

// run carries out a command line and returns the exit status.
func run(args []string, p *process) int {
	name, args := filepath.Base(args[0]), args[1:]
	grammar, advice := any(&commands{}), fmt.Sprintf("Try '%s help', which lists the commands.", name)
	if servesAtOnce(name, args) {
		grammar, advice = &serveCommand{}, fmt.Sprintf("Try '%s -h', which lists the flags.", name)
	} else {
		args, p.rest = divide(args)
	}
	parser := newParser(grammar, name, p)
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
	if failure.code == exitUsage && (servesAtOnce(name, args) || args[0] == "serve") {
		return exitFlags
	}
	return failure.code
}

// newParser makes the parser of a grammar.
func newParser(grammar any, name string, p *process) *kong.Kong {
	parser, err := kong.New(grammar, kong.Name(name), kong.Description(description), kong.Writers(p.stdout, p.stderr),
		kong.Help(helpOnStderr), kong.Bind(p), kong.ExplicitGroups(groups),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}))
	if err != nil {
		panic(err) // The structs are wrong; no command line is to blame.
	}
	parser.Model.HelpFlag.Help = "Print this help and exit."
	return parser
}

// servesAtOnce tells whether the command line is one of beanstalkd, which has no subcommands: it begins with a flag, or is empty,
// or the program was called by the name beanstalkd.
func servesAtOnce(name string, args []string) bool {
	return name == "beanstalkd" || len(args) == 0 || strings.HasPrefix(args[0], "-")
}

// divide cuts the command line of work at its first --, since the parser would forget where it stood.
func divide(args []string) (before, behind []string) {
	if i := slices.Index(args, "--"); args[0] == "work" && i > 0 {
		return args[:i], args[i+1:]
	}
	return args, nil
}
