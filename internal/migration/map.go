package migration

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/haricotq/haricot/internal/protocol"
)

// Map remembers which jobs are at the destination already. A job's line is written when the destination has the job, and
// before the source deletes it: who finds the job at the source and its line here need only delete it.
type Map struct {
	file  *os.File // nil if nothing is to be remembered beyond this run
	lines map[protocol.JobID]mapLine
}

// mapHead is the first line of a map.
type mapHead struct {
	Source      string `json:"source"`
	Destination string `json:"destination"`
}

// mapLine is any other line. Ids may be given anew by a beanstalkd that was restarted, so a job is known by more than that.
type mapLine struct {
	Tube    string         `json:"tube"`
	From    protocol.JobID `json:"from"`
	To      protocol.JobID `json:"to"`
	Created int64          `json:"created"`          // seconds since 1970
	Sum     string         `json:"sum"`              // of the body
	Undone  bool           `json:"undone,omitempty"` // the job is only at the source again
}

func lineOf(tube string, j *remoteJob) mapLine {
	sum := sha256.Sum256(j.body)
	return mapLine{Tube: tube, From: j.id, To: j.copy, Created: j.created, Sum: hex.EncodeToString(sum[:16])}
}

// OpenMap opens the map of a migration between two servers, or makes one. An empty path is a map that ends with this run.
func OpenMap(path, from, to string) (*Map, error) {
	m := &Map{lines: map[protocol.JobID]mapLine{}}
	if path == "" {
		return m, nil
	}
	var err error
	if m.file, err = os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	if err = m.read(mapHead{from, to}); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), m.file.Close())
	}
	return m, nil
}

// read reads the lines of earlier runs. The last one may have been cut off when its run was.
func (m *Map) read(head mapHead) error {
	in := bufio.NewReader(m.file)
	for whole := int64(0); ; {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			if err := m.file.Truncate(whole); err != nil {
				return err
			}
			if whole == 0 {
				return m.append(head)
			}
			return nil
		}
		if err != nil {
			return err
		}
		if whole == 0 {
			err = head.compare(text)
		} else {
			err = m.take(text)
		}
		if err != nil {
			return err
		}
		whole += int64(len(text))
	}
}

func (h mapHead) compare(text []byte) error {
	var other mapHead
	if err := json.Unmarshal(text, &other); err != nil || other.Source == "" {
		return errors.New("this is not the map of a migration; give another file to --map")
	}
	if other != h {
		return fmt.Errorf("this is the map of a migration from %s to %s; give another file to --map", other.Source, other.Destination)
	}
	return nil
}

func (m *Map) take(text []byte) error {
	var line mapLine
	if err := json.Unmarshal(text, &line); err != nil {
		return fmt.Errorf("line %.60q: %w", text, err)
	}
	m.note(line)
	return nil
}

func (m *Map) note(line mapLine) {
	if line.Undone {
		delete(m.lines, line.From)
		return
	}
	m.lines[line.From] = line
}

// add remembers jobs that the destination has.
func (m *Map) add(tube string, jobs []*remoteJob) error {
	lines := make([]any, 0, len(jobs))
	for _, j := range jobs {
		line := lineOf(tube, j)
		m.note(line)
		lines = append(lines, line)
	}
	return m.append(lines...)
}

// undo forgets jobs, before the destination deletes them.
func (m *Map) undo(tube string, jobs []*remoteJob) error {
	lines := make([]any, 0, len(jobs))
	for _, j := range jobs {
		line := lineOf(tube, j)
		line.Undone = true
		m.note(line)
		lines = append(lines, line)
	}
	return m.append(lines...)
}

// find gives the id that a job has at the destination; 0 if it is not known to be there.
func (m *Map) find(tube string, j *remoteJob) protocol.JobID {
	line, ok := m.lines[j.id]
	if !ok {
		return 0
	}
	same := lineOf(tube, j)
	same.To = line.To
	if apart := line.Created - same.Created; -2 <= apart && apart <= 2 {
		same.Created = line.Created
	}
	if same != line {
		return 0
	}
	return line.To
}

// append writes lines and sees to it that they survive.
func (m *Map) append(lines ...any) error {
	if m.file == nil || len(lines) == 0 {
		return nil
	}
	var text []byte
	for _, line := range lines {
		one, err := json.Marshal(line)
		if err != nil {
			return err
		}
		text = append(append(text, one...), '\n')
	}
	_, err := m.file.Write(text)
	if err == nil {
		err = m.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("writing the map: %w", err)
	}
	return nil
}

// Close closes the map.
func (m *Map) Close() error {
	if m.file == nil {
		return nil
	}
	return m.file.Close()
}
