package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/remote"
)

// putCommand puts jobs.
type putCommand struct {
	Tube  tubeName `arg:"" help:"The tube, which is made if it is not there."`
	Body  *string  `arg:"" optional:"" help:"The body of the job. Without it, and without --file, all of standard input is the body."`
	File  string   `placeholder:"FILE" help:"Take the body from a file, byte for byte; - is standard input."`
	Lines bool     `help:"Make every line of the file or of standard input a job. Line ends (\\n or \\r\\n) are left out; an empty line is an empty job."`
	Quiet bool     `short:"q" help:"Print neither ids nor how many jobs were put."`
	properties
	serverFlags
}

// Help is the second part of the help page.
func (*putCommand) Help() string {
	return "Prints the id of each job in a line. A body that begins with a hyphen is given after --, as in: haricot put mail -- -x. " +
		"With --lines, puts do not wait for one another, lines are sent as they come in, and one that is too big for the server is left out and told of. " +
		"If the server refuses any further job, or an interrupt comes, it is told how many were put."
}

// Run puts them.
func (c *putCommand) Run(p *process) error {
	switch {
	case c.Body != nil && c.File != "":
		return usage(errors.New("a body and --file are two bodies; leave one out"))
	case c.Body != nil && c.Lines:
		return usage(errors.New("--lines takes lines from --file or standard input; leave the body out"))
	}
	from, done, err := c.open(p)
	if err != nil {
		return err
	}
	defer done()
	return c.with(func(s *remote.Server) error {
		if c.Lines {
			return c.putLines(p, s, from)
		}
		return c.putOne(p, s, from)
	})
}

// open opens the input.
func (c *putCommand) open(p *process) (from io.Reader, done func(), err error) {
	if c.File == "" || c.File == "-" {
		if f, ok := p.stdin.(*os.File); ok && c.Body == nil && isTerminal(f) {
			fmt.Fprintln(p.stderr, "reading from the terminal; end with Ctrl-D")
		}
		return p.stdin, func() {}, nil
	}
	f, err := os.Open(c.File)
	if err != nil {
		return nil, nil, fmt.Errorf("--file: %w", err)
	}
	return f, func() { _ = f.Close() }, nil // It was only read.
}

func (c *putCommand) given() remote.Properties {
	return remote.Properties{Priority: protocol.Priority(c.Priority), Delay: time.Duration(c.Delay), TTR: time.Duration(c.TTR)}
}

// putOne puts one job.
func (c *putCommand) putOne(p *process, s *remote.Server, from io.Reader) error {
	var body []byte
	if c.Body != nil {
		body = []byte(*c.Body)
	} else {
		var err error
		if body, err = io.ReadAll(from); err != nil {
			return fmt.Errorf("reading the body: %w", err)
		}
	}
	id, err := s.Put(string(c.Tube), c.given(), body)
	switch {
	case errors.Is(err, remote.ErrBuried):
		return fmt.Errorf("job %d: %w", id, err)
	case err != nil:
		return fmt.Errorf("the job was not put: %w", tooBig(s, err))
	case c.Quiet:
		return nil
	}
	_, err = p.stdout.Write(c.idLine(nil, strconv.AppendUint(nil, uint64(id), 10)))
	return err
}

// tooBig adds to a body's being too big what the limit is.
func tooBig(s *remote.Server, err error) error {
	if !errors.Is(err, remote.ErrTooBig) {
		return err
	}
	stats, asked := s.Stats()
	if asked != nil {
		return err
	}
	return fmt.Errorf("%w, which is %s bytes; 'haricot serve -z BYTES' sets it", err, clean(stats.Value("max-job-size")))
}

// idLine appends the line that a job is printed as.
func (c *putCommand) idLine(line, id []byte) []byte {
	if c.JSON {
		line = append(append(line, `{"tube":"`...), c.Tube...) // A tube's name needs no escapes.
		line = append(append(line, `","id":`...), id...)
		return append(line, '}', '\n')
	}
	return append(append(line, id...), '\n')
}

// putLines puts a job for each line.
func (c *putCommand) putLines(p *process, s *remote.Server, from io.Reader) error {
	ctx, stop := untilSignal()
	defer stop()
	out := bufio.NewWriterSize(p.stdout, 64<<10)
	inserted := func(id []byte) {
		if !c.Quiet {
			out.Write(c.idLine(out.AvailableBuffer(), id)) //nolint:errcheck // Flush tells.
		}
	}
	began, bar := time.Now(), newBar(p, inBytes)
	fed, err := s.Feed(ctx, string(c.Tube), c.given(), remote.Lines(from, progress(bar, from)), inserted, func() { _ = out.Flush() })
	bar.end()
	if !c.Quiet {
		fmt.Fprintf(p.stderr, "%s put into %s in %v\n", inJobs(int64(fed.Put)), c.Tube, time.Since(began).Round(time.Millisecond))
	}
	return errors.Join(c.refused(s, &fed, err, ctx.Err() != nil), out.Flush())
}

// progress shows how much of the input was read.
func progress(b *bar, from io.Reader) func(int64) {
	var size int64
	if f, ok := from.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			size = info.Size()
		}
	}
	return func(total int64) { b.set("putting", total, size) }
}

// refused says what was not put and why.
func (c *putCommand) refused(s *remote.Server, fed *remote.Fed, err error, interrupted bool) error {
	var all []error
	for _, r := range fed.Refusals {
		all = append(all, fmt.Errorf("line %d was not put: %w", r.Number, r.Err))
	}
	if more := fed.Refused - len(fed.Refusals); more > 0 {
		all = append(all, fmt.Errorf("%s more were not put", inJobs(int64(more))))
	}
	switch {
	case interrupted:
		all = append(all, fmt.Errorf("interrupted; the first %d lines were read and sent, tail -n +%d has the others", fed.Put+fed.Refused, fed.Put+fed.Refused+1))
	case len(fed.Refusals) == 0 && err != nil:
		all = append(all, fmt.Errorf("%w; of the lines, %d are put for sure", err, fed.Put))
	case len(fed.Refusals) > 0:
		last := len(all) - 1
		all[last] = tooBig(s, all[last])
	}
	return errors.Join(all...)
}
