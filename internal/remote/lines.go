package remote

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// lineBuffer is how much input is read at once.
const lineBuffer = 256 << 10

// Lines makes a source of text: a body for each line, without its end, which is a line feed with or without a carriage return.
// Empty lines are bodies too. The last line needs no end. read, if not nil, is told how many bytes were read so far.
func Lines(r io.Reader, read func(total int64)) Source {
	waits := &waitingReader{r: r, read: read}
	in := bufio.NewReaderSize(waits, lineBuffer)
	return func(flush func() error) ([]byte, error) {
		waits.flush = flush
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			line, err = longLine(in, line)
		}
		if errors.Is(err, io.EOF) && len(line) > 0 {
			err = nil
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, errEnded) {
				err = fmt.Errorf("reading lines: %w", err)
			}
			return nil, err
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		return bytes.TrimSuffix(line, []byte("\r")), nil
	}
}

// longLine reads the rest of a line that the buffer does not hold.
func longLine(in *bufio.Reader, start []byte) ([]byte, error) {
	line := bytes.Clone(start)
	rest, err := in.ReadBytes('\n')
	return append(line, rest...), err
}

// waitingReader flushes before it reads, since reading may wait.
type waitingReader struct {
	r     io.Reader
	flush func() error
	read  func(total int64)
	total int64
}

// Read reads.
func (w *waitingReader) Read(p []byte) (int, error) {
	if err := w.flush(); err != nil {
		return 0, err
	}
	n, err := w.r.Read(p)
	w.total += int64(n)
	if w.read != nil {
		w.read(w.total)
	}
	return n, err
}
