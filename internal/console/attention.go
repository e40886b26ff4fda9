package console

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/queue"
)

// urgency is how soon somebody should look at a tube, as far as a glance tells.
// operator.Diagnose looks closer, and longer.
type urgency int

const (
	calm    urgency = iota
	notable         // jobs are late, buried or time out
	stuck           // jobs are not done until somebody acts
)

const (
	// late is how long jobs may be ready before a tube is notable.
	late = time.Minute
	// fewTimeouts is up to how many timeouts are nothing special, and one in
	// timeoutShare reservations from which on they are.
	fewTimeouts  = 3
	timeoutShare = 10
)

// glance is what a tube's numbers alone tell.
type glance struct {
	urgency
	Paused, Unwatched, AllBuried, Late, TimesOut bool
}

// Calm tells that nobody needs to look at the tube.
func (g glance) Calm() bool { return g.urgency == calm }

// look glances at a tube.
func look(t *operator.Tube) (g glance) {
	ready, others := t.Jobs.Ready, t.Jobs.Reserved+t.Jobs.Delayed
	g.Paused = t.Pause > 0
	g.Unwatched = ready > 0 && t.Watching == 0
	g.AllBuried = t.Jobs.Buried > 0 && ready+others == 0
	g.Late = t.OldestReady() >= late
	timeouts, reserves := t.Done[queue.Timeouts], t.Done[queue.Reserves]
	g.TimesOut = timeouts > fewTimeouts && timeouts*timeoutShare >= reserves
	switch {
	case g.Unwatched, g.AllBuried, g.Paused && ready > 0:
		g.urgency = stuck
	case g.Late, g.TimesOut, t.Jobs.Buried > 0:
		g.urgency = notable
	}
	return g
}

// patient is a tube with what is wrong with it.
type patient struct {
	operator.Tube
	Findings []operator.Finding // the worst first
}

// Worst is what is most wrong with it.
func (p *patient) Worst() operator.Finding { return p.Findings[0] }

// mostPatients is of how many tubes an overview tells in words what is wrong.
const mostPatients = 12

// ward is the tubes of a server at a glance.
type ward struct {
	Tubes    int
	Patients []patient
	// Others is how many more tubes are stuck or notable.
	Others int
}

// visit looks at all tubes, and closer at those that seem to be unwell.
func (c *Console) visit(ctx context.Context) (*ward, error) {
	w, unwell := &ward{}, 0
	first := firsts[tubeRow]{most: mostPatients, compare: tubeOrder(&listing{Sort: "urgency", Down: true})}
	row := new(tubeRow)
	err := c.operator.Tubes(ctx, func(t *operator.Tube) {
		w.Tubes++
		if *row = (tubeRow{Tube: *t, glance: look(t)}); row.urgency > calm {
			unwell++
			first.add(row)
		}
	})
	if err != nil {
		return nil, err
	}
	list := first.sorted()
	w.Others = unwell - len(list)
	for _, t := range list {
		findings, err := c.operator.Diagnose(ctx, t.Name)
		if err != nil || len(findings) == 0 {
			continue // it has gone
		}
		w.Patients = append(w.Patients, patient{t.Tube, findings})
	}
	slices.SortStableFunc(w.Patients, func(a, b patient) int {
		return cmp.Compare(rankOf(b.Worst().Severity), rankOf(a.Worst().Severity))
	})
	return w, ctx.Err()
}

// rankOf orders severities, the worst has the highest rank.
func rankOf(s operator.Severity) int {
	return slices.Index([]operator.Severity{operator.OK, operator.Info, operator.Warning, operator.Critical}, s)
}

// toneOf is the class in which a severity is shown.
func toneOf(s operator.Severity) string {
	switch s {
	case operator.Critical:
		return "bad"
	case operator.Warning:
		return "warn"
	case operator.Info:
		return "info"
	case operator.OK:
		return "good"
	default:
		return ""
	}
}
