package transfer

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/haricotq/haricot/internal/queue"
)

// Export writes all that a store has as lines, and returns how many jobs that were. progress is told how many there are so far.
func Export(w io.Writer, from *Source, progress func(jobs int)) (jobs int, err error) {
	e := exporter{from: from, progress: progress}
	err = e.write(w)
	return e.jobs, err
}

// ExportFile does it into a new file, which is there whole, and on the disk, or not at all.
func ExportFile(name string, from *Source, progress func(jobs int)) (jobs int, err error) {
	if _, err := os.Lstat(name); err == nil {
		return 0, fmt.Errorf("%s is there already; give another name", name)
	}
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".partial-")
	if err != nil {
		return 0, err
	}
	jobs, err = Export(f, from, progress)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return 0, errors.Join(err, os.Remove(f.Name()))
	}
	return jobs, nil
}

// exporter writes the lines of a store.
type exporter struct {
	from         *Source
	progress     func(jobs int)
	encoder      *json.Encoder
	jobs, pauses int
}

func (e *exporter) write(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<20)
	e.encoder = json.NewEncoder(out)
	e.encoder.SetEscapeHTML(false)
	if err := e.encoder.Encode(exportLine{exportType, exportFormat}); err != nil {
		return err
	}
	if err := e.from.store.Headers(e.job); err != nil {
		return err
	}
	if err := e.from.store.Pauses(e.pause); err != nil {
		return err
	}
	next, err := e.from.store.NextID()
	if err != nil {
		return err
	}
	return errors.Join(
		e.encoder.Encode(nextLine{nextType, max(next, 1)}),
		e.encoder.Encode(endLine{endType, e.jobs, e.pauses}),
		out.Flush(),
	)
}

func (e *exporter) job(r *queue.Record) error {
	body, err := e.from.store.Body(r.ID, r.Size)
	if err != nil {
		return err
	}
	e.jobs++
	e.progress(e.jobs)
	return e.encoder.Encode(newJobLine(r, body))
}

func (e *exporter) pause(r queue.PauseRecord) error {
	e.pauses++
	return e.encoder.Encode(pauseLine{pauseType, r.Tube, uint32(r.Length / time.Second), moment(r.Resume)})
}
