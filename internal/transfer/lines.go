package transfer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// An export is lines of JSON, each an object whose "type" says which of the structs below it is. docs/durability.md explains the
// fields to users; names that are there stay as they are.
const (
	exportType = "export" // the first line
	jobType    = "job"
	pauseType  = "pause"
	nextType   = "next"
	endType    = "end" // the last line
)

// exportFormat is raised when a reader of today could misunderstand what is written.
const exportFormat = 1

// exportLine begins an export.
type exportLine struct {
	Type   string `json:"type"`
	Format int    `json:"format"`
}

// jobLine is a job. Times to run and delays are in seconds.
type jobLine struct {
	Type       string            `json:"type"`
	ID         protocol.JobID    `json:"id"`
	Tube       string            `json:"tube"`
	State      string            `json:"state"`
	Priority   protocol.Priority `json:"pri"`
	Delay      uint32            `json:"delay"`
	TTR        uint32            `json:"ttr"`
	Created    time.Time         `json:"created"`
	Due        *time.Time        `json:"due,omitempty"`    // of a delayed job
	Burial     *uint64           `json:"burial,omitempty"` // of a buried job
	Reserves   uint32            `json:"reserves"`
	Timeouts   uint32            `json:"timeouts"`
	Releases   uint32            `json:"releases"`
	Buries     uint32            `json:"buries"`
	Kicks      uint32            `json:"kicks"`
	Body       *string           `json:"body,omitempty"`        // UTF-8
	BodyBase64 []byte            `json:"body_base64,omitempty"` // any other
}

// pauseLine is a paused tube.
type pauseLine struct {
	Type   string    `json:"type"`
	Tube   string    `json:"tube"`
	Delay  uint32    `json:"delay"`
	Resume time.Time `json:"resume"`
}

// nextLine is the lowest id that no job has had.
type nextLine struct {
	Type string         `json:"type"`
	ID   protocol.JobID `json:"id"`
}

// endLine ends an export, so that one that was cut off is noticed.
type endLine struct {
	Type   string `json:"type"`
	Jobs   int    `json:"jobs"`
	Pauses int    `json:"pauses"`
}

// stateNames are those of stats-job.
var stateNames = map[queue.State]string{queue.Ready: "ready", queue.Delayed: "delayed", queue.Buried: "buried"}

func newJobLine(r *queue.Record, body []byte) *jobLine {
	l := &jobLine{
		Type:     jobType,
		ID:       r.ID,
		Tube:     r.Tube,
		State:    stateNames[r.State],
		Priority: r.Priority,
		Delay:    uint32(r.Delay / time.Second),
		TTR:      uint32(r.TTR / time.Second),
		Created:  moment(r.Created),
		Reserves: r.Reserves, Timeouts: r.Timeouts, Releases: r.Releases, Buries: r.Buries, Kicks: r.Kicks,
	}
	switch r.State {
	case queue.Delayed:
		due := moment(r.Due)
		l.Due = &due
	case queue.Buried:
		l.Burial = &r.Burial
	}
	if utf8.Valid(body) {
		text := string(body)
		l.Body = &text
	} else {
		l.BodyBase64 = body
	}
	return l
}

func moment(t queue.Instant) time.Time { return time.Unix(0, int64(t)).UTC() }

// job is the line as a record and a body, if it makes sense.
func (l *jobLine) job() (queue.Record, []byte, error) {
	r := queue.Record{
		ID:       l.ID,
		Tube:     l.Tube,
		Priority: l.Priority,
		Delay:    time.Duration(l.Delay) * time.Second,
		TTR:      time.Duration(l.TTR) * time.Second,
		Reserves: l.Reserves, Timeouts: l.Timeouts, Releases: l.Releases, Buries: l.Buries, Kicks: l.Kicks,
	}
	body := l.BodyBase64
	if l.Body != nil {
		body = []byte(*l.Body)
	}
	r.Size = uint32(len(body))
	var err error
	if r.Created, err = instant(l.Created); err != nil {
		return r, nil, fmt.Errorf("created: %w", err)
	}
	switch {
	case !protocol.ValidTube([]byte(l.Tube)):
		return r, nil, fmt.Errorf("%q is no name of a tube", l.Tube)
	case l.TTR < 1:
		return r, nil, errors.New("the ttr is missing or 0; give at least 1")
	case l.Body != nil && l.BodyBase64 != nil:
		return r, nil, errors.New("there are both body and body_base64")
	case l.Body == nil && l.BodyBase64 == nil:
		return r, nil, errors.New("there is neither body nor body_base64")
	case len(body) > protocol.MaxJobSizeLimit:
		return r, nil, fmt.Errorf("the body has %d bytes; a job may have %d", len(body), protocol.MaxJobSizeLimit)
	case (l.Due != nil) != (l.State == "delayed") || (l.Burial != nil) != (l.State == "buried"):
		return r, nil, errors.New("a delayed job needs due, a buried one burial, and others may have neither")
	}
	switch l.State {
	case "ready":
		r.State = queue.Ready
	case "delayed":
		r.State = queue.Delayed
		if r.Due, err = instant(*l.Due); err != nil {
			return r, nil, fmt.Errorf("due: %w", err)
		}
	case "buried":
		r.State, r.Burial = queue.Buried, *l.Burial
	default:
		return r, nil, fmt.Errorf("the state is %q; it must be ready, delayed or buried", l.State)
	}
	return r, body, nil
}

// pause is the line as a record.
func (l *pauseLine) pause() (queue.PauseRecord, error) {
	resume, err := instant(l.Resume)
	if err != nil {
		return queue.PauseRecord{}, fmt.Errorf("resume: %w", err)
	}
	if !protocol.ValidTube([]byte(l.Tube)) {
		return queue.PauseRecord{}, fmt.Errorf("%q is no name of a tube", l.Tube)
	}
	return queue.PauseRecord{Tube: l.Tube, Length: time.Duration(l.Delay) * time.Second, Resume: resume}, nil
}

// instant makes a moment of a time, which must be one that a queue can know.
func instant(t time.Time) (queue.Instant, error) {
	if t.Before(time.Unix(0, 0)) || t.After(time.Unix(0, math.MaxInt64)) {
		return 0, fmt.Errorf("%s is not between the years 1970 and 2262, or is missing", t.Format(time.RFC3339))
	}
	return queue.Instant(t.UnixNano()), nil
}

// parseLine reads a line into the struct of its type.
func parseLine(text []byte) (any, error) {
	var kind struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(text, &kind); err != nil {
		return nil, fmt.Errorf("it is not an object in JSON: %w", err)
	}
	var l any
	switch kind.Type {
	case exportType:
		l = new(exportLine)
	case jobType:
		l = new(jobLine)
	case pauseType:
		l = new(pauseLine)
	case nextType:
		l = new(nextLine)
	case endType:
		l = new(endLine)
	default:
		return nil, fmt.Errorf("it has a type %q, which this version does not know", kind.Type)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(l); err != nil {
		return nil, fmt.Errorf("reading a %s: %w", kind.Type, err)
	}
	return l, nil
}
