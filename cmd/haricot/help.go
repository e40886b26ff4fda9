package main

import (
	"bytes"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

const description = "A work queue server that speaks the beanstalk protocol. Called with a flag first, with nothing, or by the name " +
	"beanstalkd, it serves at once; 'haricot help' lists the other commands."

// helpCommand prints a help page to standard output, because it was asked for by name. The flag -h prints to standard error, as
// beanstalkd does.
type helpCommand struct {
	Command []string `arg:"" optional:"" help:"The command to explain."`
}

// Run prints the page.
func (c *helpCommand) Run(parser *kong.Kong) error {
	ctx, err := kong.Trace(parser, c.Command)
	if err == nil {
		err = ctx.Error
	}
	if err != nil {
		return usage(err)
	}
	return printHelp(kong.HelpOptions{
		Compact: true, WrapUpperBound: 100, ValueFormatter: kong.DefaultHelpValueFormatter,
	}, ctx)
}

// helpOnStderr answers -h and --help, and ends the reading of the command line.
func helpOnStderr(options kong.HelpOptions, ctx *kong.Context) error {
	ctx.Stdout = ctx.Stderr
	if err := printHelp(options, ctx); err != nil {
		return err
	}
	return errAnswered
}

// printHelp prints a help page.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	if node := ctx.Selected(); node == nil || node.Name != "work" {
		return kong.DefaultHelpPrinter(options, ctx)
	}
	var page bytes.Buffer
	out := ctx.Stdout
	ctx.Stdout = &page
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	_, err := io.WriteString(out, flagsFirst(page.String()))
	return err
}

// flagsFirst corrects the usage of a command that takes another command behind --: flags that stood there would be the other's.
func flagsFirst(text string) string {
	return strings.Replace(text, "<tube> ... -- <command> ... [flags]", "[flags] <tube> ... -- <command> ...", 1)
}
