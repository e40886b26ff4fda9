package console

import (
	"fmt"
	"net/http"
	"time"

	"github.com/haricotq/haricot/internal/operator"
)

// overview is the page that says whether all is well.
type overview struct {
	Totals operator.Totals
	*ward
	*trend
	Span     string
	Disk     *Disk
	Troubles []trouble // of the server as a whole
	// Commit is within which time 99 of 100 commits are done; 0 if there were none.
	Commit time.Duration
}

// trouble is something wrong with the server itself.
type trouble struct{ Tone, Text string }

const (
	// nearlyFull is the share of a limit from which on it is mentioned.
	nearlyFull = 0.9
	// nearlyBusy is the share of the time that the loop works at which clients
	// begin to wait for each other.
	nearlyBusy = 0.8
)

func (c *Console) overview(w http.ResponseWriter, r *http.Request) error {
	span := r.FormValue("span")
	if span == "" {
		span = usualSpan
	}
	length, ok := spans[span]
	if !ok {
		return badRequest("Charts show 5m, 15m or 1h.")
	}
	o := &overview{Span: span}
	var err error
	if o.Totals, err = c.operator.Totals(); err != nil {
		return err
	}
	if o.ward, err = c.visit(r.Context()); err != nil {
		return err
	}
	o.trend = readTrend(c.history.Samples(), length)
	if c.config.Disk != nil {
		disk := c.config.Disk()
		o.Disk = &disk
	}
	if commits := o.Totals.Workload.Commit; commits.Count > 0 {
		o.Commit, _ = operator.Quantile(&commits, 0.99)
	}
	o.Troubles = o.troubles()
	return c.show(w, r, "overview.html", o)
}

// troubles says what is wrong with the server, the worst first.
func (o *overview) troubles() (list []trouble) {
	t := &o.Totals
	if t.Full {
		list = append(list, trouble{"bad", "The disk is full: new jobs are refused until some are deleted."})
	} else if d := o.Disk; d != nil && d.Share() >= nearlyFull {
		list = append(list, trouble{"warn", "The disk is nearly full: " + size(d.Free) + " are free."})
	}
	if t.MemoryLimit > 0 && float64(t.Memory) >= nearlyFull*float64(t.MemoryLimit) {
		text := "Memory for jobs is nearly used up: " + size(t.Memory) + " of " + size(t.MemoryLimit) + "."
		if t.Process.Log.File == 0 {
			text += " At the limit new jobs are refused."
		} else {
			text += " At the limit bodies are kept on disk only."
		}
		list = append(list, trouble{"warn", text})
	}
	if t.Draining {
		list = append(list, trouble{"warn", "The server is draining: it refuses new jobs and gives out those it has."})
	}
	if o.Busy() >= nearlyBusy {
		list = append(list, trouble{"warn", fmt.Sprintf(
			"The server is near its limit: its loop works %s of the time, so clients wait for each other.", percent(o.Busy()))})
	}
	return list
}

// Verdict says in a line what needs attention.
func (o *overview) Verdict() string {
	tubes := len(o.Patients) + o.Others
	switch {
	case tubes == 0:
		return "The server needs attention"
	case tubes == 1 && len(o.Troubles) == 0:
		return "1 tube needs attention"
	case len(o.Troubles) == 0:
		return number(tubes) + " tubes need attention"
	default:
		return "The server and " + plural(tubes, "tube", "tubes") + " need attention"
	}
}

// Share is how full the disk is: of what the store uses and what is free.
func (d *Disk) Share() float64 {
	if d.Used+d.Free <= 0 {
		return 0
	}
	return float64(d.Used) / float64(d.Used+d.Free)
}

// Spans are the times that charts can show, the shortest first.
func (o *overview) Spans() []string { return []string{"5m", "15m", "1h"} }
