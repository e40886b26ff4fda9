package protocol

import (
	"strconv"
	"time"
)

// JobCounts says how many jobs are in which state. A reserved, delayed or
// buried job is in no other count; an urgent one is also ready.
type JobCounts struct {
	Urgent, Ready, Reserved, Delayed, Buried uint64
}

// CommandCounts says how often each verb was used.
type CommandCounts [verbs]uint64

// QueueStats is the part of the reply to stats that the queue knows.
type QueueStats struct {
	Jobs             JobCounts
	Commands         CommandCounts
	JobTimeouts      uint64
	TotalJobs        uint64
	MaxJobSize       uint32
	Tubes            uint64
	Connections      uint64
	Producers        uint64
	Workers          uint64
	Waiting          uint64
	TotalConnections uint64
	Draining         bool
}

// ProcessStats is the part of the reply to stats that the process knows.
type ProcessStats struct {
	Log        LogStats
	PID        int
	UserTime   time.Duration
	SystemTime time.Duration
	Uptime     time.Duration
	ID         string // 16 hexadecimal digits, drawn at start
	Hostname   string
	OS         string // the version of the kernel
	Platform   string // the machine's architecture
}

// LogStats is what stats tells of the store, in the terms of beanstalkd's log.
// A store is one file in these terms, number 1, and never moves a record.
type LogStats struct {
	File    uint64 // 1 with a store, 0 without
	Written uint64 // records since the start
	MaxSize uint64 // the value of -s
}

// DefaultLogSize is beanstalkd's default for -s, in bytes, which it reports also
// when it keeps no log.
const DefaultLogSize = 10485760

// AppendStats appends the document of stats. Keys and their order are
// beanstalkd's; clients compare whole dictionaries, so none may be added.
func AppendStats(dst []byte, q *QueueStats, p *ProcessStats) []byte {
	y := yaml{append(dst, yamlStart...)}
	y.jobCounts(&q.Jobs)
	for v := Put; v < verbs; v++ {
		if ruleOf[v].shown {
			y.uint("cmd-"+ruleOf[v].word, q.Commands[v])
		}
	}
	y.uint("job-timeouts", q.JobTimeouts)
	y.uint("total-jobs", q.TotalJobs)
	y.uint("max-job-size", uint64(q.MaxJobSize))
	y.uint("current-tubes", q.Tubes)
	y.uint("current-connections", q.Connections)
	y.uint("current-producers", q.Producers)
	y.uint("current-workers", q.Workers)
	y.uint("current-waiting", q.Waiting)
	y.uint("total-connections", q.TotalConnections)
	y.uint("pid", uint64(p.PID))
	y.raw("version", `"`+Version+`"`)
	y.microseconds("rusage-utime", p.UserTime)
	y.microseconds("rusage-stime", p.SystemTime)
	y.seconds("uptime", p.Uptime)
	y.uint("binlog-oldest-index", p.Log.File)
	y.uint("binlog-current-index", p.Log.File)
	y.uint("binlog-records-migrated", 0)
	y.uint("binlog-records-written", p.Log.Written)
	y.uint("binlog-max-size", p.Log.MaxSize)
	y.raw("draining", strconv.FormatBool(q.Draining))
	y.text("id", p.ID)
	y.text("hostname", p.Hostname)
	y.text("os", p.OS)
	y.text("platform", p.Platform)
	return y.dst
}

// TubeStats is the reply to stats-tube.
type TubeStats struct {
	Name          string
	Jobs          JobCounts
	TotalJobs     uint64
	Using         uint64
	Watching      uint64
	Waiting       uint64
	Deletes       uint64
	Pauses        uint64
	Pause         time.Duration // the length of the running pause, 0 if none
	PauseTimeLeft time.Duration
}

// AppendTubeStats appends the document of stats-tube.
func AppendTubeStats(dst []byte, s *TubeStats) []byte {
	y := yaml{append(dst, yamlStart...)}
	y.text("name", s.Name)
	y.jobCounts(&s.Jobs)
	y.uint("total-jobs", s.TotalJobs)
	y.uint("current-using", s.Using)
	y.uint("current-watching", s.Watching)
	y.uint("current-waiting", s.Waiting)
	y.uint("cmd-delete", s.Deletes)
	y.uint("cmd-pause-tube", s.Pauses)
	y.seconds("pause", s.Pause)
	y.seconds("pause-time-left", s.PauseTimeLeft)
	return y.dst
}

// JobStats is the reply to stats-job.
type JobStats struct {
	ID       JobID
	Tube     string
	State    string // ready, delayed, reserved or buried
	Priority Priority
	Age      time.Duration
	Delay    time.Duration
	TTR      time.Duration
	TimeLeft time.Duration
	File     uint64 // 1 with a store, 0 without
	Reserves uint64
	Timeouts uint64
	Releases uint64
	Buries   uint64
	Kicks    uint64
}

// AppendJobStats appends the document of stats-job.
func AppendJobStats(dst []byte, s *JobStats) []byte {
	y := yaml{append(dst, yamlStart...)}
	y.uint("id", uint64(s.ID))
	y.text("tube", s.Tube)
	y.raw("state", s.State)
	y.uint("pri", uint64(s.Priority))
	y.seconds("age", s.Age)
	y.seconds("delay", s.Delay)
	y.seconds("ttr", s.TTR)
	y.seconds("time-left", s.TimeLeft)
	y.uint("file", s.File)
	y.uint("reserves", s.Reserves)
	y.uint("timeouts", s.Timeouts)
	y.uint("releases", s.Releases)
	y.uint("buries", s.Buries)
	y.uint("kicks", s.Kicks)
	return y.dst
}

// ListStart begins the document of a list of tubes.
func ListStart(dst []byte) []byte {
	return append(dst, yamlStart...)
}

// ListEntry appends a tube to the document of a list. Every version of
// beanstalkd writes the names bare here, whatever they look like, and clients
// cut the lines at "- ".
func ListEntry(dst []byte, tube string) []byte {
	dst = append(dst, "- "...)
	dst = append(dst, tube...)
	return append(dst, '\n')
}
