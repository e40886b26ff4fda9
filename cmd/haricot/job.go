package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/remote"
	"github.com/haricotq/haricot/internal/terminal"
)

// jobCommand shows jobs.
type jobCommand struct {
	IDs  []jobID `arg:"" name:"id" help:"The job."`
	Body bool    `help:"Print the body and nothing else: byte for byte, unless it goes to a terminal."`
	serverFlags
}

// Help is the second part of the help page.
func (*jobCommand) Help() string {
	return "Statistics and body, also of a job that a worker has. In a table, and on a terminal, characters that are not printable are " +
		"escaped, such as \\n; in JSON a body that is not UTF-8 is under body_base64."
}

// Run shows them.
func (c *jobCommand) Run(p *process) error {
	return c.with(func(s *remote.Server) error {
		for _, id := range c.IDs {
			job, err := s.Job(protocol.JobID(id))
			if errors.Is(err, remote.ErrNotFound) {
				return nothing(fmt.Errorf("there is no job %d; it may have been deleted", id))
			}
			if err != nil {
				return err
			}
			if err := c.showJob(p, job, c.Body); err != nil {
				return err
			}
		}
		return nil
	})
}

// showJob prints a job.
func (f *serverFlags) showJob(p *process, job *remote.Job, bodyOnly bool) error {
	switch {
	case bodyOnly:
		return writeBody(p.stdout, job.Body)
	case f.JSON:
		line, err := jobLine(job)
		if err != nil {
			return err
		}
		return terminal.WriteJSON(p.stdout, line)
	}
	table := terminal.NewTable(p.stdout, terminal.Columns("name", "value"))
	for _, stat := range job.Stats {
		table.Row(stat.Name, stat.Value)
	}
	table.Row("body", string(job.Body))
	return table.Write(p.stdout)
}

// writeBody prints a body: as it is for programs, and so that it can do no harm on a terminal.
func writeBody(w io.Writer, body []byte) error {
	if terminal.Is(w) {
		_, err := fmt.Fprintln(w, clean(body))
		return err
	}
	_, err := w.Write(body)
	return err
}

// jobLine is a job in JSON: its statistics, and then its body.
func jobLine(job *remote.Job) (json.RawMessage, error) {
	stats, err := json.Marshal(job.Stats)
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(terminal.NewBody(job.Body)); err != nil {
		return nil, err
	}
	line := append(bytes.TrimSuffix(stats, []byte("}")), ',')
	return append(line, bytes.TrimPrefix(body.Bytes(), []byte("{"))...), nil
}
