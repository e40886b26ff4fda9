package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// whole is the subject of metrics of the server as a whole.
var whole subject[server]

// serverFamilies are those that every server has.
var serverFamilies = []family[server]{
	whole.family("haricot_build_info", "The version of the server. Always 1.", func(_ *server, to *outlet) {
		to.value(prometheus.GaugeValue, 1, protocol.Version)
	}, "version"),
	whole.family("haricot_server_info", "Who the server is; its id is drawn anew at each start. Always 1.", func(s *server, to *outlet) {
		p := &s.Process
		to.value(prometheus.GaugeValue, 1, p.ID, p.Hostname, p.OS, p.Platform, strconv.Itoa(p.PID))
	}, "id", "hostname", "os", "platform", "pid"),
	whole.gauge("haricot_start_time_seconds", "When the server was started, in seconds since 1970.", func(s *server) float64 {
		return float64(s.Started.UnixMilli()) / 1000
	}),
	whole.family("haricot_cpu_seconds_total", "Processor time that the process has used, by mode: user or system.", func(s *server, to *outlet) {
		to.value(prometheus.CounterValue, s.Process.UserTime.Seconds(), "user")
		to.value(prometheus.CounterValue, s.Process.SystemTime.Seconds(), "system")
	}, "mode"),
	whole.flag("haricot_draining", "1 while the server refuses new jobs because it was told to.", func(s *server) bool { return s.Draining }),

	whole.family("haricot_jobs", "Jobs that are there, by state.", func(s *server, to *outlet) { states(&s.Jobs, to) }, "state"),
	whole.gauge("haricot_urgent_jobs", "Ready jobs with a priority below 1024.", func(s *server) float64 { return float64(s.Jobs.Urgent) }),
	whole.gauge("haricot_oldest_ready_seconds", "How long the oldest ready job has been ready, at most an eighth too much; 0 if none is.", func(s *server) float64 {
		return s.OldestReady().Seconds()
	}),
	whole.events("haricot_puts_total", "Jobs that have been put.", queue.Puts, doneByServer),
	whole.events("haricot_reserves_total", "Reservations that have been made.", queue.Reserves, doneByServer),
	whole.events("haricot_deletes_total", "Jobs that have been deleted.", queue.Deletes, doneByServer),
	whole.events("haricot_releases_total", "Reserved jobs that have been released.", queue.Releases, doneByServer),
	whole.events("haricot_buries_total", "Jobs that have been buried.", queue.Buries, doneByServer),
	whole.events("haricot_kicks_total", "Buried and delayed jobs that have been kicked.", queue.Kicks, doneByServer),
	whole.events("haricot_timeouts_total", "Reservations whose time to run was over.", queue.Timeouts, doneByServer),
	whole.distribution("haricot_job_wait_seconds", "How long jobs were ready before they were reserved.", func(s *server) (histogram, bool) {
		return durations(&s.Wait), true
	}),
	whole.distribution("haricot_job_run_seconds", "How long jobs were reserved before they were deleted by who held them.", func(s *server) (histogram, bool) {
		return durations(&s.Run), true
	}),
	whole.gauge("haricot_job_size_limit_bytes", "The largest body of a job that the server takes.", func(s *server) float64 { return float64(s.MaxJobSize) }),

	whole.family("haricot_commands_total", "Commands that clients have sent, by the word of the command.", commands, "command"),
	whole.gauge("haricot_connections", "Connections that are open.", func(s *server) float64 { return float64(s.Connections) }),
	whole.counter("haricot_connections_accepted_total", "Connections that have been opened.", func(s *server) float64 { return float64(s.TotalConnections) }),
	whole.gauge("haricot_producers", "Open connections that have put a job.", func(s *server) float64 { return float64(s.Producers) }),
	whole.gauge("haricot_workers", "Open connections that have reserved a job.", func(s *server) float64 { return float64(s.Workers) }),
	whole.gauge("haricot_workers_waiting", "Open connections that are waiting for a job.", func(s *server) float64 { return float64(s.Waiting) }),

	whole.gauge("haricot_tubes", "Tubes that are there.", func(s *server) float64 { return float64(s.Tubes) }),
	whole.gauge("haricot_metrics_tubes_left_out", "Tubes that have no metrics of their own because the limit to their number is reached.", func(s *server) float64 {
		return float64(s.LeftOut)
	}),
	whole.limit("haricot_tube_jobs_limit", "Jobs that a tube may have; absent without a limit.", func(s *server) float64 { return float64(s.Limits.TubeJobs) }),
	whole.limit("haricot_tube_body_limit_bytes", "Size that the bodies in a tube may have; absent without a limit.", func(s *server) float64 {
		return float64(s.Limits.TubeBytes)
	}),

	whole.counter("haricot_loop_busy_seconds_total", "Time in which the event loop worked, commits apart. Its rate is the share of time it works; at 1 the server is at its limit.", func(s *server) float64 {
		return s.Workload.Busy.Seconds()
	}),
	whole.counter("haricot_loop_turns_total", "Turns of the event loop.", func(s *server) float64 { return float64(s.Workload.Turns) }),
	whole.gauge("haricot_job_memory_bytes", "Memory in use for jobs.", func(s *server) float64 { return float64(s.Memory) }),
	whole.limit("haricot_job_memory_limit_bytes", "Memory that jobs may use; absent without a limit.", func(s *server) float64 { return float64(s.MemoryLimit) }),
}

// states gives how many jobs are in which state.
func states(c *protocol.JobCounts, to *outlet) {
	to.value(prometheus.GaugeValue, float64(c.Ready), queue.Ready.String())
	to.value(prometheus.GaugeValue, float64(c.Reserved), queue.Reserved.String())
	to.value(prometheus.GaugeValue, float64(c.Delayed), queue.Delayed.String())
	to.value(prometheus.GaugeValue, float64(c.Buried), queue.Buried.String())
}

func doneByServer(s *server) *queue.Counts { return &s.Done }

// commands gives how often each verb was used. A quit is not counted by the
// queue, for no client could ask about it.
func commands(s *server, to *outlet) {
	for _, v := range protocol.Verbs() {
		if v != protocol.Quit {
			to.value(prometheus.CounterValue, float64(s.Commands[v]), v.String())
		}
	}
}
