package binlog

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// progressEvery is after how many bytes progress is reported.
const progressEvery = 1 << 20

// Log is what a directory holds. Bodies stay in the files until they are asked
// for, so it must be closed.
type Log struct {
	// Jobs are those that are neither deleted nor lost, in the order in which their
	// bodies stand in the files. A job that was reserved is ready.
	Jobs []Job
	// NextID is the lowest id that no job in the files has had.
	NextID protocol.JobID
	// Files are the names of the files, in the order in which they were read.
	Files []string
	// Records is how many records were read.
	Records int
	// Gaps are the parts that could not be read.
	Gaps []Gap
	// Lost are the jobs of which changes are there and no body.
	Lost []Lost

	dir     string
	lock    *os.File
	current int // number of the file that bodies are read from
	bodies  *window
}

// Job is a job of a log.
type Job struct {
	queue.Record
	file   int
	offset int64
}

// Lost is a job that is not deleted, and whose body is in no file.
type Lost struct {
	ID     protocol.JobID
	File   string // where its last change stands
	Offset int64
}

// String says all of it in a line.
func (l Lost) String() string {
	return fmt.Sprintf("job %d: its body is in no file; its last change is in %s at byte %d", l.ID, l.File, l.Offset)
}

// Open reads the log in a directory, bodies apart. Progress, which may be nil,
// is called with the bytes read and those there are. What cannot be read in a
// log is no error: it is in Gaps and Lost.
func Open(dir string, progress func(done, total int64)) (*Log, error) {
	l := &Log{dir: dir, current: -1}
	err := l.open(progress)
	if err != nil {
		return nil, fmt.Errorf("binlog %s: %w", dir, errors.Join(err, l.release()))
	}
	return l, nil
}

func (l *Log) open(progress func(done, total int64)) error {
	var err error
	if l.lock, err = lock(l.dir); err != nil {
		return err
	}
	total, err := l.list()
	if err != nil {
		return err
	}
	h := history{jobs: map[protocol.JobID]*life{}, tubes: map[string]string{}}
	var done, told int64
	for i, name := range l.Files {
		size, err := l.scan(&h, i, func(at int64) {
			if progress != nil && done+at-told >= progressEvery {
				told = done + at
				progress(told, total)
			}
		})
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		done += size
	}
	l.NextID = h.highest + 1
	l.Jobs, l.Lost = h.outcome(l.Files)
	return nil
}

// list finds the files in the order of their numbers, and their size together.
func (l *Log) list() (total int64, err error) {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return 0, err
	}
	number := map[string]uint64{}
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), "binlog.")
		if n, err := strconv.ParseUint(digits, 10, 63); ok && err == nil {
			number[e.Name()] = n
			l.Files = append(l.Files, e.Name())
			if info, err := e.Info(); err == nil {
				total += info.Size()
			}
		}
	}
	slices.SortStableFunc(l.Files, func(a, b string) int { return cmp.Compare(number[a], number[b]) })
	if len(l.Files) == 0 {
		return 0, ErrNoLog
	}
	return total, nil
}

// scan reads one file.
func (l *Log) scan(h *history, file int, step func(at int64)) (size int64, err error) {
	name := l.Files[file]
	w, err := openWindow(filepath.Join(l.dir, name))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	layout, reason, err := version(w)
	if err != nil || layout == nil {
		if reason != "" {
			l.Gaps = append(l.Gaps, Gap{name, 0, w.size, reason})
		}
		return w.size, err
	}
	s := scanner{
		window: w, layout: layout, step: step,
		yield: func(r *record) string {
			fault := h.apply(r, file)
			if fault == "" {
				l.Records++
			}
			return fault
		},
		gap: func(from, to int64, reason string) {
			l.Gaps = append(l.Gaps, Gap{name, from, to, reason})
		},
	}
	return w.size, s.run()
}

// Body reads the body of a job. It is fastest in the order of Jobs.
func (l *Log) Body(j *Job) ([]byte, error) {
	if l.current != j.file {
		w, err := openWindow(filepath.Join(l.dir, l.Files[j.file]))
		if err != nil {
			return nil, fmt.Errorf("binlog: reading job %d: %w", j.ID, err)
		}
		if l.bodies != nil {
			_ = l.bodies.close() // It was only read.
		}
		l.current, l.bodies = j.file, w
	}
	p, err := l.bodies.bytes(j.offset, int(j.Size))
	if err == nil && len(p) != int(j.Size) {
		err = errors.New("the file has become shorter")
	}
	if err != nil {
		return nil, fmt.Errorf("binlog: reading job %d: %w", j.ID, err)
	}
	return slices.Clone(p), nil
}

// Close gives the directory free.
func (l *Log) Close() error {
	if err := l.release(); err != nil {
		return fmt.Errorf("binlog %s: %w", l.dir, err)
	}
	return nil
}

func (l *Log) release() error {
	var err error
	if l.bodies != nil {
		err = l.bodies.close()
	}
	if l.lock != nil {
		err = errors.Join(err, l.lock.Close())
	}
	return err
}
