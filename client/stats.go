package client

import (
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
)

// JobCounts says how many jobs are in which state. An urgent job is a ready one
// with a priority below 1024; every other job is in one count only.
type JobCounts struct {
	Urgent   uint64 `stat:"current-jobs-urgent"`
	Ready    uint64 `stat:"current-jobs-ready"`
	Reserved uint64 `stat:"current-jobs-reserved"`
	Delayed  uint64 `stat:"current-jobs-delayed"`
	Buried   uint64 `stat:"current-jobs-buried"`
}

// CommandCounts says how often the server carried out which command since it
// started. A kick of a single job and a reserve of a certain job are not counted.
type CommandCounts struct {
	Put                uint64 `stat:"cmd-put"`
	Peek               uint64 `stat:"cmd-peek"`
	PeekReady          uint64 `stat:"cmd-peek-ready"`
	PeekDelayed        uint64 `stat:"cmd-peek-delayed"`
	PeekBuried         uint64 `stat:"cmd-peek-buried"`
	Reserve            uint64 `stat:"cmd-reserve"`
	ReserveWithTimeout uint64 `stat:"cmd-reserve-with-timeout"`
	Delete             uint64 `stat:"cmd-delete"`
	Release            uint64 `stat:"cmd-release"`
	Use                uint64 `stat:"cmd-use"`
	Watch              uint64 `stat:"cmd-watch"`
	Ignore             uint64 `stat:"cmd-ignore"`
	Bury               uint64 `stat:"cmd-bury"`
	Kick               uint64 `stat:"cmd-kick"`
	Touch              uint64 `stat:"cmd-touch"`
	Stats              uint64 `stat:"cmd-stats"`
	StatsJob           uint64 `stat:"cmd-stats-job"`
	StatsTube          uint64 `stat:"cmd-stats-tube"`
	ListTubes          uint64 `stat:"cmd-list-tubes"`
	ListTubeUsed       uint64 `stat:"cmd-list-tube-used"`
	ListTubesWatched   uint64 `stat:"cmd-list-tubes-watched"`
	PauseTube          uint64 `stat:"cmd-pause-tube"`
}

// ServerStats is what a server says of itself. Servers differ in what they say:
// what one leaves out is zero, and what is not named here is in Other.
type ServerStats struct {
	Jobs     JobCounts
	Commands CommandCounts

	JobTimeouts      uint64 `stat:"job-timeouts"`
	TotalJobs        uint64 `stat:"total-jobs"`
	MaxJobSize       uint64 `stat:"max-job-size"` // bytes
	Tubes            uint64 `stat:"current-tubes"`
	Connections      uint64 `stat:"current-connections"`
	Producers        uint64 `stat:"current-producers"`
	Workers          uint64 `stat:"current-workers"`
	Waiting          uint64 `stat:"current-waiting"`
	TotalConnections uint64 `stat:"total-connections"`

	PID        uint64        `stat:"pid"`
	Version    string        `stat:"version"`
	UserTime   time.Duration `stat:"rusage-utime"` // to the microsecond
	SystemTime time.Duration `stat:"rusage-stime"` // to the microsecond
	Uptime     time.Duration `stat:"uptime"`       // whole seconds
	Draining   bool          `stat:"draining"`     // since 1.12
	ID         string        `stat:"id"`           // drawn at each start
	Hostname   string        `stat:"hostname"`
	OS         string        `stat:"os"`       // since 1.12
	Platform   string        `stat:"platform"` // since 1.12

	BinlogOldestIndex     uint64 `stat:"binlog-oldest-index"`
	BinlogCurrentIndex    uint64 `stat:"binlog-current-index"`
	BinlogRecordsMigrated uint64 `stat:"binlog-records-migrated"`
	BinlogRecordsWritten  uint64 `stat:"binlog-records-written"`
	BinlogMaxSize         uint64 `stat:"binlog-max-size"` // bytes

	// Other holds, as text, what has no field here or does not fit into it.
	Other map[string]string
}

// TubeStats is what a server says of a tube. Counters begin when the tube does,
// which ends with its last job, user and watcher.
type TubeStats struct {
	Name          string `stat:"name"`
	Jobs          JobCounts
	TotalJobs     uint64        `stat:"total-jobs"`
	Using         uint64        `stat:"current-using"`
	Watching      uint64        `stat:"current-watching"`
	Waiting       uint64        `stat:"current-waiting"`
	Deletes       uint64        `stat:"cmd-delete"`
	Pauses        uint64        `stat:"cmd-pause-tube"`
	Pause         time.Duration `stat:"pause"`           // whole seconds, 0 if not paused
	PauseTimeLeft time.Duration `stat:"pause-time-left"` // whole seconds

	// Other holds, as text, what has no field here or does not fit into it.
	Other map[string]string
}

// JobStats is what a server says of a job.
type JobStats struct {
	ID       uint64        `stat:"id"`
	Tube     string        `stat:"tube"`
	State    string        `stat:"state"` // ready, delayed, reserved or buried
	Priority uint32        `stat:"pri"`
	Age      time.Duration `stat:"age"`       // since it was put, whole seconds
	Delay    time.Duration `stat:"delay"`     // of the last put or release, whole seconds
	TTR      time.Duration `stat:"ttr"`       // whole seconds
	TimeLeft time.Duration `stat:"time-left"` // of the delay or the time to run, whole seconds
	File     uint64        `stat:"file"`      // of the binlog
	Reserves uint64        `stat:"reserves"`
	Timeouts uint64        `stat:"timeouts"`
	Releases uint64        `stat:"releases"`
	Buries   uint64        `stat:"buries"`
	Kicks    uint64        `stat:"kicks"`

	// Other holds, as text, what has no field here or does not fit into it.
	Other map[string]string
}

// decodeStats fills the struct that into points to from a document of lines
// "key: value". What does not fit goes into its field Other.
func decodeStats(document []byte, into any) {
	s := reflect.ValueOf(into).Elem()
	fields := make(map[string]reflect.Value)
	collectFields(s, fields)
	other := make(map[string]string)
	for line := range strings.Lines(string(document)) {
		key, value, found := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		if !found {
			continue // the line that begins the document
		}
		value = protocol.Unquote(strings.TrimSpace(value))
		if field, known := fields[key]; !known || !setStat(field, value) {
			other[key] = value
		}
	}
	if len(other) > 0 {
		s.FieldByName("Other").Set(reflect.ValueOf(other))
	}
}

// collectFields finds the fields by the keys of their tags, in structs within too.
func collectFields(s reflect.Value, fields map[string]reflect.Value) {
	for i := range s.NumField() {
		switch key := s.Type().Field(i).Tag.Get("stat"); {
		case key != "":
			fields[key] = s.Field(i)
		case s.Field(i).Kind() == reflect.Struct:
			collectFields(s.Field(i), fields)
		}
	}
}

// setStat sets a field to a value and tells whether nothing of it is lost.
func setStat(field reflect.Value, value string) bool {
	switch field.Interface().(type) {
	case string:
		field.SetString(value)
		return true
	case bool:
		field.SetBool(value == "true")
		return value == "true" || value == "false"
	case time.Duration:
		d, err := time.ParseDuration(value + "s")
		if err != nil {
			return false
		}
		field.SetInt(int64(d))
		return true
	}
	n, err := strconv.ParseUint(value, 10, field.Type().Bits())
	if err != nil {
		return false
	}
	field.SetUint(n)
	return true
}
