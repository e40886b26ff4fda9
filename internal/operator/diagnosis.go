package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/haricotq/haricot/internal/engine"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// Severity tells how much a finding matters.
type Severity string

// The severities, in their order.
const (
	OK       Severity = "ok"       // all is as it should be
	Info     Severity = "info"     // worth knowing
	Warning  Severity = "warning"  // jobs may be kept from being done
	Critical Severity = "critical" // jobs are kept from being done until somebody acts
)

// Finding is a fact about a tube that tells what keeps its jobs from being done,
// or that nothing does.
type Finding struct {
	// Code names the kind of the finding and never changes its meaning; see [Findings].
	Code     string
	Severity Severity
	// Text says it in a sentence or two of plain English.
	Text string
	// Job is the job that the finding is about, 0 if it is about none.
	Job protocol.JobID
	// Connection is the client that the finding is about, 0 if it is about none.
	Connection queue.ClientID
}

// Findings are the codes that findings have.
var Findings = []string{
	"paused", "no_workers", "workers_busy", "workers_idle", "all_buried", "buried", "oldest_ready", "job_held", "timeouts",
	"delayed_only", "draining", "full", "no_producers", "empty", "working", "fine",
}

const (
	// flowTime is for how long jobs may be ready before somebody asks why: a
	// worker takes a moment between two jobs.
	flowTime = 2 * time.Second
	// longWait is from when on the wait of the oldest ready job is a warning.
	longWait = time.Minute
	// heldMuch is by how many times a job is held longer than nine of ten are,
	// and heldLong from when on at all, before it stands out.
	heldMuch = 10
	heldLong = 10 * time.Second
	// fewRuns is up to how many runs tell nothing about how long one takes.
	fewRuns = 20
	// fewTimeouts is up to how many timeouts are nothing special, and
	// timeoutShare the share of all reservations from which on they are.
	fewTimeouts  = 3
	timeoutShare = 0.1
)

// facts are what a diagnosis is made of.
type facts struct {
	Tube
	draining, full bool

	// watchers are the connections that watch the tube and were seen to. Of them
	// workers have asked for a job at least once; busy ones hold a job, of
	// whatever tube, and idle ones neither hold one nor wait for one.
	watchers, workers, busy, idle int
	// holders are the connections that hold a job of this tube.
	holders int
	// held is the job of this tube that has been held for longest, if there is
	// one, and its holder.
	held    queue.Holding
	holder  queue.ClientID
	peer    engine.Peer
	heldTTR time.Duration

	nextDue time.Duration // until the first delayed job is ready, if all are delayed
}

// Diagnose tells what keeps a tube's jobs from being done, the worst first; it
// always has something to tell. It returns queue.ErrNoTube if there is no such
// tube.
func (o *Operator) Diagnose(ctx context.Context, tube string) ([]Finding, error) {
	f, err := o.facts(ctx, tube)
	if err != nil {
		return nil, err
	}
	return f.diagnose(), nil
}

// facts collects what a diagnosis needs.
func (o *Operator) facts(ctx context.Context, tube string) (*facts, error) {
	t, err := o.Tube(tube)
	if err != nil {
		return nil, err
	}
	f := &facts{Tube: t}
	at := queue.Position(0)
	err = o.inSteps(ctx, func(t *engine.Turn) bool {
		at = t.Clients(at, portion, connectionMost, func(v *queue.ClientView) { f.meet(t, v) })
		if at == 0 {
			totals := t.Totals()
			f.draining, f.full = totals.Draining, totals.Full
			if v, ok := t.Job(f.held.Job); ok {
				f.heldTTR = v.TTR
			}
		}
		return at != 0
	})
	if err != nil || !f.delayedOnly() {
		return f, err
	}
	p, err := o.Page(ctx, &PageRequest{Tube: tube, State: queue.Delayed, Limit: 1})
	if err == nil && len(p.Jobs) > 0 {
		f.nextDue = max(0, time.Duration(p.Jobs[0].Until-p.Jobs[0].Now))
	}
	return f, err
}

// meet notes what a client has to do with the tube.
func (f *facts) meet(t *engine.Turn, v *queue.ClientView) {
	for _, h := range v.Holds { // in the order in which they were reserved
		if h.Tube != f.Name {
			continue
		}
		f.holders++
		if f.held.Job == 0 || h.Since < f.held.Since {
			f.held, f.holder = h, v.ID
			f.peer, _ = t.Peer(v.ID)
		}
		break
	}
	for _, name := range v.Watches {
		if name == f.Name {
			f.watcher(v)
			return
		}
	}
}

func (f *facts) watcher(v *queue.ClientView) {
	f.watchers++
	if !v.Worker && !v.Waiting && v.HoldCount == 0 {
		return
	}
	f.workers++
	switch {
	case v.HoldCount > 0:
		f.busy++
	case !v.Waiting:
		f.idle++
	}
}

func (f *facts) delayedOnly() bool {
	return f.Jobs.Delayed > 0 && f.Jobs.Ready+f.Jobs.Reserved+f.Jobs.Buried == 0
}

// none tells whether the tube has no jobs at all.
func (f *facts) none() bool { return f.Jobs.Ready+f.Jobs.Reserved+f.Jobs.Delayed+f.Jobs.Buried == 0 }

// diagnose makes findings of the facts.
func (f *facts) diagnose() (list []Finding) {
	for _, look := range []func(*facts) (Finding, bool){
		paused, noWorkers, allBuried, full, workersIdle, workersBusy, jobHeld, oldestReady, timeouts, buried, draining,
	} {
		if finding, ok := look(f); ok {
			list = append(list, finding)
		}
	}
	return order(append(list, f.rest(len(list) > 0)...))
}

// order sorts findings by severity, and leaves those of one as they are.
func order(list []Finding) (sorted []Finding) {
	for _, severity := range []Severity{Critical, Warning, Info, OK} {
		for _, f := range list {
			if f.Severity == severity {
				sorted = append(sorted, f)
			}
		}
	}
	return sorted
}

// rest is what is said of a tube besides what is wrong with it.
func (f *facts) rest(found bool) (list []Finding) {
	if f.delayedOnly() {
		list = append(list, Finding{Code: "delayed_only", Severity: Info, Text: fmt.Sprintf(
			"%s delayed; the next is ready in %s.", allOf(f.Jobs.Delayed), span(f.nextDue))})
	}
	switch {
	case f.none():
		list = append(list, f.empty())
		if f.Using == 0 {
			list = append(list, Finding{Code: "no_producers", Severity: Info, Text: "No connection uses this tube, so nobody is about to put a job into it."})
		}
	case f.Jobs.Reserved > 0 && f.Jobs.Ready == 0:
		list = append(list, Finding{Code: "working", Severity: OK, Text: fmt.Sprintf(
			"%s being worked on, and no job has to wait.", are(f.Jobs.Reserved, "job"))})
	case !found && f.Jobs.Ready > 0:
		list = append(list, Finding{Code: "fine", Severity: OK, Text: fmt.Sprintf(
			"%s ready, and %s on the tube: nothing seems to be in the way.", are(f.Jobs.Ready, "job"), are(uint64(f.workers), "worker"))})
	}
	return list
}

func (f *facts) empty() Finding {
	text := "The tube is empty, and no worker waits for its next job."
	switch {
	case f.Waiting == 1:
		text = "The tube is empty, and 1 worker waits for its next job."
	case f.Waiting > 1:
		text = fmt.Sprintf("The tube is empty, and %d workers wait for its next job.", f.Waiting)
	}
	if f.TotalJobs == 0 {
		text += " No job has been put into it since it was made."
	}
	return Finding{Code: "empty", Severity: OK, Text: text}
}

func paused(f *facts) (Finding, bool) {
	if f.Pause == 0 {
		return Finding{}, false
	}
	text := fmt.Sprintf("The tube is paused for another %s.", span(f.PauseLeft()))
	severity := Info
	switch {
	case f.Jobs.Ready == 1:
		text, severity = text+" 1 ready job is not given out until then.", Critical
	case f.Jobs.Ready > 1:
		text, severity = text+fmt.Sprintf(" %d ready jobs are not given out until then.", f.Jobs.Ready), Critical
	}
	return Finding{Code: "paused", Severity: severity, Text: text}, true
}

// stuck tells whether ready jobs wait for somebody to take them.
func (f *facts) stuck() bool { return f.Jobs.Ready > 0 && f.Pause == 0 }

func noWorkers(f *facts) (Finding, bool) {
	// A connection that watches very many tubes may not have been seen to watch
	// this one; it is taken for a worker.
	if !f.stuck() || f.workers > 0 || f.watchers < f.Watching {
		return Finding{}, false
	}
	text := fmt.Sprintf("No worker watches this tube: %s waiting for one.", are(f.Jobs.Ready, "ready job"))
	if f.watchers > 0 {
		text = fmt.Sprintf("%s watching this tube, but none has ever asked for a job: %s waiting for a worker.",
			are(uint64(f.watchers), "connection"), are(f.Jobs.Ready, "ready job"))
	}
	return Finding{Code: "no_workers", Severity: Critical, Text: text}, true
}

func workersBusy(f *facts) (Finding, bool) {
	if !f.stuck() || f.busy == 0 || f.idle > 0 {
		return Finding{}, false
	}
	who := fmt.Sprintf("All %d workers", f.busy)
	if f.busy == 1 {
		who = "The only worker"
	}
	text := fmt.Sprintf("%s that %s this tube %s busy: %s waiting until one is done.",
		who, verb(uint64(f.busy), "watches", "watch"), verb(uint64(f.busy), "is", "are"), are(f.Jobs.Ready, "ready job"))
	severity := Info
	if f.OldestReady() >= longWait {
		severity = Warning
	}
	return Finding{Code: "workers_busy", Severity: severity, Text: text}, true
}

func workersIdle(f *facts) (Finding, bool) {
	if !f.stuck() || f.idle == 0 || f.OldestReady() < flowTime {
		return Finding{}, false
	}
	return Finding{Code: "workers_idle", Severity: Warning, Text: fmt.Sprintf(
		"%d of %s that %s this tube %s no job and %s not ask for one, though %s waiting: busy with something else, or hanging.",
		f.idle, plural(uint64(f.workers), "worker"), verb(uint64(f.workers), "watches", "watch"),
		verb(uint64(f.idle), "holds", "hold"), verb(uint64(f.idle), "does", "do"), are(f.Jobs.Ready, "ready job"))}, true
}

func oldestReady(f *facts) (Finding, bool) {
	wait := f.OldestReady()
	if f.Jobs.Ready == 0 || wait < flowTime {
		return Finding{}, false
	}
	severity := Info
	if wait >= longWait {
		severity = Warning
	}
	return Finding{Code: "oldest_ready", Severity: severity, Text: fmt.Sprintf("The oldest ready job has been waiting for about %s.", span(wait))}, true
}

func allBuried(f *facts) (Finding, bool) {
	if f.Jobs.Buried == 0 || f.Jobs.Ready+f.Jobs.Reserved+f.Jobs.Delayed > 0 {
		return Finding{}, false
	}
	return Finding{Code: "all_buried", Severity: Critical, Text: fmt.Sprintf(
		"%s buried: nothing happens to %s until somebody kicks or deletes %s.",
		allOf(f.Jobs.Buried), verb(f.Jobs.Buried, "it", "them"), verb(f.Jobs.Buried, "it", "them"))}, true
}

func buried(f *facts) (Finding, bool) {
	if _, all := allBuried(f); all || f.Jobs.Buried == 0 {
		return Finding{}, false
	}
	return Finding{Code: "buried", Severity: Warning, Text: fmt.Sprintf(
		"%s buried: nothing happens to %s until somebody kicks or deletes %s. The other jobs go on.",
		are(f.Jobs.Buried, "job"), verb(f.Jobs.Buried, "it", "them"), verb(f.Jobs.Buried, "it", "them"))}, true
}

func jobHeld(f *facts) (Finding, bool) {
	if f.held.Job == 0 {
		return Finding{}, false
	}
	held := max(0, time.Duration(f.Now-f.held.Since))
	var why string
	usual, known := Quantile(&f.Runs, 0.9)
	switch {
	case f.heldTTR > 0 && held > f.heldTTR+time.Second:
		why = fmt.Sprintf("longer than its time to run of %s: the worker keeps asking for more time", span(f.heldTTR))
	case known && f.Runs.Count > fewRuns && held > heldLong && held > heldMuch*usual:
		why = fmt.Sprintf("while 9 of 10 jobs of this tube are done within %s", span(usual))
	default:
		return Finding{}, false
	}
	peer := f.peer.Address
	if peer == "" {
		peer = "a unix socket"
		if f.peer.PID > 0 {
			peer = fmt.Sprintf("process %d", f.peer.PID)
		}
	}
	return Finding{Code: "job_held", Severity: Warning, Job: f.held.Job, Connection: f.holder, Text: fmt.Sprintf(
		"Connection %d (%s) has held job %d for %s, %s.", f.holder, peer, f.held.Job, span(held), why)}, true
}

func timeouts(f *facts) (Finding, bool) {
	n, of := f.Done[queue.Timeouts], f.Done[queue.Reserves]
	if n <= fewTimeouts || float64(n) < timeoutShare*float64(of) {
		return Finding{}, false
	}
	return Finding{Code: "timeouts", Severity: Warning, Text: fmt.Sprintf(
		"Jobs often run out of their time to run: %s in %s so far, and %s deleted. The time is too short, or workers hang.",
		plural(n, "timeout"), plural(of, "reservation"), plural(f.Done[queue.Deletes], "job"))}, true
}

func draining(f *facts) (Finding, bool) {
	return Finding{Code: "draining", Severity: Warning, Text: "The server is draining: it refuses new jobs, and gives out those it has."}, f.draining
}

func full(f *facts) (Finding, bool) {
	return Finding{Code: "full", Severity: Critical, Text: "The disk of the server is full: it refuses new jobs until some are deleted."}, f.full
}
