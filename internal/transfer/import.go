package transfer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Lines are an export that is to be imported.
type Lines struct {
	Reader io.Reader
	// Name is what errors call it.
	Name string
	// NewIDs says that jobs are numbered anew, behind those that are there.
	NewIDs bool
	// Progress is told how many bytes are done.
	Progress func(done int64)

	number int // of the line
	end    *endLine
}

// Imported is what an import of lines has brought in.
type Imported struct {
	Count
	// Written is what the export says that was written to it; nil if its last line is missing.
	Written *Count
}

// Count is how many there are of what lines are about.
type Count struct {
	Jobs, Pauses int
}

// Import brings everything into the store in a directory, or, after an error, nothing. A new store is there whole or not at all,
// even if this is interrupted. The error is an UnusableError if it is about the directory.
func (l *Lines) Import(dir string) (Imported, error) {
	var done Imported
	fill := func(dir string) error {
		to, err := newImporter(dir, l.NewIDs)
		if err != nil {
			return err
		}
		err = l.each(func(line any) error { return l.take(line, to) })
		done.Count = Count{len(to.added), to.pauses}
		return to.finish(err)
	}
	bring := fill
	if _, err := os.Stat(filepath.Join(dir, "FORMAT")); errors.Is(err, fs.ErrNotExist) {
		bring = func(dir string) error { return stageStore(dir, fill) }
	}
	if err := bring(dir); err != nil {
		return Imported{}, err
	}
	if l.end != nil {
		done.Written = &Count{l.end.Jobs, l.end.Pauses}
	}
	return done, nil
}

// each calls yield for every line.
func (l *Lines) each(yield func(line any) error) error {
	lines := bufio.NewReaderSize(l.Reader, 1<<20)
	done := int64(0)
	for more := true; more; {
		text, err := lines.ReadBytes('\n')
		if more = err == nil; err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("reading %s: %w", l.Name, err)
		}
		l.number++
		done += int64(len(text))
		l.Progress(done)
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		line, err := parseLine(text)
		if err == nil {
			err = yield(line)
		}
		if err != nil {
			return fmt.Errorf("%s, line %d: %w", l.Name, l.number, err)
		}
	}
	return nil
}

// take brings a line into the store.
func (l *Lines) take(line any, to *importer) error {
	switch line := line.(type) {
	case *exportLine:
		if line.Format > exportFormat {
			return fmt.Errorf("its format is %d, and this version knows up to %d; use the version that wrote it, or a later one", line.Format, exportFormat)
		}
	case *jobLine:
		record, body, err := line.job()
		if err != nil {
			return err
		}
		return to.add(record, body)
	case *pauseLine:
		pause, err := line.pause()
		if err != nil {
			return err
		}
		to.pause(pause)
	case *nextLine:
		to.reserve(line.ID)
	case *endLine:
		l.end = line
	}
	return nil
}
