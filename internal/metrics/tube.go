package metrics

import (
	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/queue"
)

// each is the subject of metrics that every tube has its own of.
var each = subject[operator.Tube]{"tube"}

// tubeFamilies are those of a tube.
var tubeFamilies = []family[operator.Tube]{
	each.family("haricot_tube_jobs", "Jobs in the tube, by state.", func(t *operator.Tube, to *outlet) { states(&t.Jobs, to) }, "state"),
	each.gauge("haricot_tube_urgent_jobs", "Ready jobs in the tube with a priority below 1024.", func(t *operator.Tube) float64 { return float64(t.Jobs.Urgent) }),
	each.gauge("haricot_tube_oldest_ready_seconds", "How long the oldest ready job of the tube has been ready, at most an eighth too much; 0 if none is.", func(t *operator.Tube) float64 {
		return t.OldestReady().Seconds()
	}),
	each.gauge("haricot_tube_body_bytes", "Size of the bodies of the jobs in the tube.", func(t *operator.Tube) float64 { return float64(t.Bytes) }),
	each.events("haricot_tube_puts_total", "Jobs that have been put into the tube.", queue.Puts, doneByTube),
	each.events("haricot_tube_reserves_total", "Reservations of jobs of the tube.", queue.Reserves, doneByTube),
	each.events("haricot_tube_deletes_total", "Jobs of the tube that have been deleted.", queue.Deletes, doneByTube),
	each.events("haricot_tube_releases_total", "Reserved jobs of the tube that have been released.", queue.Releases, doneByTube),
	each.events("haricot_tube_buries_total", "Jobs of the tube that have been buried.", queue.Buries, doneByTube),
	each.events("haricot_tube_kicks_total", "Buried and delayed jobs of the tube that have been kicked.", queue.Kicks, doneByTube),
	each.events("haricot_tube_timeouts_total", "Reservations of jobs of the tube whose time to run was over.", queue.Timeouts, doneByTube),
	each.distribution("haricot_tube_job_wait_seconds", "How long jobs of the tube were ready before they were reserved; absent until one was.", func(t *operator.Tube) (histogram, bool) {
		return durations(&t.Waits), t.Waits.Count > 0
	}),
	each.distribution("haricot_tube_job_run_seconds", "How long jobs of the tube were reserved before they were deleted by who held them; absent until one was.", func(t *operator.Tube) (histogram, bool) {
		return durations(&t.Runs), t.Runs.Count > 0
	}),
	each.gauge("haricot_tube_clients_using", "Connections that use the tube: what they put goes there.", func(t *operator.Tube) float64 { return float64(t.Using) }),
	each.gauge("haricot_tube_clients_watching", "Connections that watch the tube.", func(t *operator.Tube) float64 { return float64(t.Watching) }),
	each.gauge("haricot_tube_clients_waiting", "Connections that are waiting for a job of the tube.", func(t *operator.Tube) float64 { return float64(t.Waiting) }),
	each.counter("haricot_tube_pauses_total", "Times the tube has been paused or resumed.", func(t *operator.Tube) float64 { return float64(t.Pauses) }),
	each.gauge("haricot_tube_pause_remaining_seconds", "How long the tube is still paused; 0 if it is not.", func(t *operator.Tube) float64 {
		return t.PauseLeft().Seconds()
	}),
}

func doneByTube(t *operator.Tube) *queue.Counts { return &t.Done }
