package api

import (
	"github.com/haricotq/haricot/internal/protocol"
)

// stats is the server in numbers.
type stats struct {
	Version         string `json:"version"`
	ProtocolVersion string `json:"protocol_version"`
	ID              string `json:"id"`
	Hostname        string `json:"hostname"`
	OS              string `json:"os"`
	Platform        string `json:"platform"`
	PID             int    `json:"pid"`

	Uptime     seconds `json:"uptime"`
	UserTime   seconds `json:"user_time"`
	SystemTime seconds `json:"system_time"`

	Draining bool `json:"draining"`
	DiskFull bool `json:"disk_full"`

	Jobs           jobCounts `json:"jobs"`
	OldestReadyAge seconds   `json:"oldest_ready_age"`
	TotalJobs      uint64    `json:"total_jobs"`
	MaxJobSize     uint32    `json:"max_job_size"`

	Tubes            uint64 `json:"tubes"`
	Connections      uint64 `json:"connections"`
	Producers        uint64 `json:"producers"`
	Workers          uint64 `json:"workers"`
	Waiting          uint64 `json:"waiting"`
	TotalConnections uint64 `json:"total_connections"`

	Memory      int64 `json:"memory"`
	MemoryLimit int64 `json:"memory_limit"`
	Store       store `json:"store"`
	Loop        loop  `json:"loop"`

	Counts   counts            `json:"counts"`
	Commands map[string]uint64 `json:"commands"`
	Wait     *histogram        `json:"wait"`
	Run      *histogram        `json:"run"`
}

// jobCounts says how many jobs are in which state.
type jobCounts struct {
	Ready    uint64 `json:"ready"`
	Urgent   uint64 `json:"urgent"`
	Reserved uint64 `json:"reserved"`
	Delayed  uint64 `json:"delayed"`
	Buried   uint64 `json:"buried"`
}

func jobCountsOf(c *protocol.JobCounts) jobCounts {
	return jobCounts{c.Ready, c.Urgent, c.Reserved, c.Delayed, c.Buried}
}

// store is what has been made safe.
type store struct {
	Durable bool `json:"durable"`
	// RecordsWritten counts in the terms of beanstalkd's log.
	RecordsWritten uint64 `json:"records_written"`
	// Commits is how long commits took, Changes how many jobs and pauses they
	// wrote, and Synced how many commits somebody waited for.
	Commits *histogram `json:"commits"`
	Changes uint64     `json:"changes"`
	Synced  uint64     `json:"synced"`
}

// loop is how much the loop has done.
type loop struct {
	Turns uint64  `json:"turns"`
	Busy  seconds `json:"busy"`
}

// stats shows the server as a whole.
func (a *api) stats(c *call) (any, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	t, err := a.operator.Totals()
	if err != nil {
		return nil, err
	}
	s := &stats{
		Version: a.config.Version, ProtocolVersion: protocol.Version, ID: t.Process.ID, Hostname: t.Process.Hostname,
		OS: t.Process.OS, Platform: t.Process.Platform, PID: t.Process.PID,
		Uptime: inSeconds(t.Process.Uptime), UserTime: inSeconds(t.Process.UserTime), SystemTime: inSeconds(t.Process.SystemTime),
		Draining: t.Draining, DiskFull: t.Full,
		Jobs: jobCountsOf(&t.Jobs), OldestReadyAge: inSeconds(t.OldestReady()), TotalJobs: t.TotalJobs, MaxJobSize: t.MaxJobSize,
		Tubes: t.Tubes, Connections: t.Connections, Producers: t.Producers, Workers: t.Workers, Waiting: t.Waiting,
		TotalConnections: t.TotalConnections, Memory: t.Memory, MemoryLimit: t.MemoryLimit,
		Store: store{
			Durable: t.Process.Log.File != 0, RecordsWritten: t.Process.Log.Written, Commits: histogramOf(&t.Workload.Commit),
			Changes: t.Workload.Changes, Synced: t.Workload.Synced,
		},
		Loop:   loop{t.Workload.Turns, inSeconds(t.Workload.Busy)},
		Counts: countsOf(&t.Done), Commands: make(map[string]uint64), Wait: histogramOf(&t.Wait), Run: histogramOf(&t.Run),
	}
	for verb := protocol.Put; verb <= protocol.Quit; verb++ {
		s.Commands[verb.String()] = t.Commands[verb]
	}
	return s, nil
}
