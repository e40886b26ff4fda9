package console

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// tubePage is the page of one tube.
type tubePage struct {
	operator.Tube
	Findings    []operator.Finding
	Wait, Run   spread
	Tabs        []stateTab
	State       queue.State
	Rows        []jobRow
	First, Next string // addresses of other pages of the list; empty if there is none
}

// stateTab leads to the jobs of a state.
type stateTab struct {
	queue.State
	Count   uint64
	URL     string
	Current bool
}

// Timeouts is how often a job of the tube ran out of its time to run.
func (p *tubePage) Timeouts() uint64 { return p.Done[queue.Timeouts] }

// Kickable is how many jobs a kick can make ready, Kicked of which state: the
// buried ones if there are any, else the delayed ones.
func (p *tubePage) Kickable() uint64 {
	if p.Jobs.Buried > 0 {
		return p.Jobs.Buried
	}
	return p.Jobs.Delayed
}

// Kicked is the state of the jobs that a kick makes ready.
func (p *tubePage) Kicked() queue.State {
	if p.Jobs.Buried > 0 {
		return queue.Buried
	}
	return queue.Delayed
}

// BuriedURL leads to the buried jobs one by one.
func (p *tubePage) BuriedURL() string { return buriedURL(p.Name) }

// SearchURL leads to the search in this tube.
func (p *tubePage) SearchURL() string { return "/search?" + url.Values{"tube": {p.Name}}.Encode() }

// PutURL leads to the form that puts a job into this tube.
func (p *tubePage) PutURL() string { return "/put?" + url.Values{"tube": {p.Name}}.Encode() }

// ClearURL leads to the question whether to delete all jobs of the state.
func (p *tubePage) ClearURL() string {
	return "/bulk?" + url.Values{"tube": {p.Name}, "state": {p.State.String()}, "do": {"delete"}}.Encode()
}

// tubeStateURL is the address of the jobs of a tube in a state.
func tubeStateURL(tube string, s queue.State) string {
	return withQuery(tubeURL(tube), "state", s.String())
}

// withQuery adds a parameter to an address of ours.
func withQuery(address, name, value string) string {
	mark := "?"
	if u, err := url.Parse(address); err == nil && u.RawQuery != "" {
		mark = "&"
	}
	return address + mark + name + "=" + url.QueryEscape(value)
}

func (c *Console) tube(w http.ResponseWriter, r *http.Request) error {
	name := tubeName(r)
	t, err := c.operator.Tube(name)
	if err != nil {
		return err
	}
	p := &tubePage{Tube: t, Wait: spreadOf(&t.Waits), Run: spreadOf(&t.Runs)}
	if p.Findings, err = c.operator.Diagnose(r.Context(), name); err != nil {
		return err
	}
	if p.State, err = stateAskedFor(r, &t.Jobs); err != nil {
		return err
	}
	for _, s := range jobStates {
		p.Tabs = append(p.Tabs, stateTab{s, inState(&t.Jobs, s), tubeStateURL(name, s), s == p.State})
	}
	if strings.Contains(r.Header.Get("HX-Target"), "tube-state") {
		return c.show(w, r, "tube.html", p) // the list is not what is wanted
	}
	if err := c.listTube(r, p); err != nil {
		return err
	}
	return c.show(w, r, "tube.html", p)
}

// listTube fills in a page of the list of jobs.
func (c *Console) listTube(r *http.Request, p *tubePage) error {
	after, err := readRank(r.FormValue("after"))
	if err != nil {
		return err
	}
	page, err := c.operator.Page(r.Context(), &operator.PageRequest{
		Tube: p.Name, State: p.State, After: after, Limit: jobsPerPage, BodyLimit: previewBytes,
	})
	if err != nil {
		return err
	}
	if p.Rows, err = c.jobRows(page.Jobs); err != nil {
		return err
	}
	if after != (queue.Rank{}) {
		p.First = tubeStateURL(p.Name, p.State)
	}
	if page.More {
		p.Next = withQuery(tubeStateURL(p.Name, p.State), "after", rankText(page.Next))
	}
	return nil
}

// stateAskedFor is the state of the tab that is to be shown: if none is asked
// for, the first that has jobs.
func stateAskedFor(r *http.Request, counts *protocol.JobCounts) (queue.State, error) {
	if name := r.FormValue("state"); name != "" {
		if s, ok := stateOf(name); ok {
			return s, nil
		}
		return 0, badRequest("The states of jobs are ready, reserved, delayed and buried.")
	}
	for _, s := range jobStates {
		if inState(counts, s) > 0 {
			return s, nil
		}
	}
	return queue.Ready, nil
}

// spread is how long something took, as a histogram tells it.
type spread struct {
	Count       uint64
	Mean        time.Duration
	P50         string
	P90         string
	P99         string
	Bars        []bar
	First, Last time.Duration // the bounds of the drawing
}

// bar is a bucket in the drawing of a histogram.
type bar struct {
	X, Y, Height float64
	Title        string
}

const (
	// spreadHeight and barStep are the size of the drawing; see tube.html.
	spreadHeight = 36.0
	barStep      = 10.0
)

// SpreadWidth is how wide the drawing is.
func (s *spread) SpreadWidth() float64 { return float64(len(s.Bars)) * barStep }

func spreadOf(h *queue.Histogram) spread {
	s := spread{Count: h.Count, P50: within(h, 0.5), P90: within(h, 0.9), P99: within(h, 0.99)}
	if h.Count == 0 {
		return s
	}
	s.Mean = h.Sum / time.Duration(h.Count) //nolint:gosec // no more durations than fit into their sum
	first, last, most := queue.HistogramBuckets, 0, uint64(1)
	for i, n := range h.Buckets {
		if n > 0 {
			first, last, most = min(first, i), max(last, i), max(most, n)
		}
	}
	if first > last {
		return s // all are beyond the last bound
	}
	if first > 0 {
		s.First = queue.HistogramBound(first - 1)
	}
	s.Last = queue.HistogramBound(last)
	for i := first; i <= last; i++ {
		b := bar{X: float64(i-first) * barStep, Title: plural(h.Buckets[i], "job", "jobs") + " within " + duration(queue.HistogramBound(i))}
		if n := h.Buckets[i]; n > 0 {
			b.Height = max(1, spreadHeight*float64(n)/float64(most))
		}
		b.Y = spreadHeight - b.Height
		s.Bars = append(s.Bars, b)
	}
	return s
}

// within writes a time within which a share of all was over.
func within(h *queue.Histogram, share float64) string {
	if h.Count == 0 {
		return "–"
	}
	d, ok := operator.Quantile(h, share)
	if !ok {
		return "> " + duration(queue.HistogramBound(queue.HistogramBuckets-1))
	}
	if d == time.Millisecond {
		return "< 1ms"
	}
	return "≤ " + duration(d)
}

// pauseTube, resumeTube and kickTube name the tube in a field, as some names
// cannot be in a path.
func (c *Console) pauseTube(w http.ResponseWriter, r *http.Request) error {
	tube := r.PostFormValue("tube")
	to := back(r, tubeURL(tube))
	length, err := readTime(r.PostFormValue("length"))
	why := ""
	switch {
	case err != nil:
		why = err.Error()
	case length == 0:
		why = "a pause takes a second at least"
	}
	if why != "" {
		c.refused(w, r, to, "The tube is not paused: "+why+".")
		return nil
	}
	err = c.hand(r).Pause(tube, length)
	return c.answer(w, r, err, to, "Tube "+tube+" is paused for "+duration(length)+".")
}

func (c *Console) resumeTube(w http.ResponseWriter, r *http.Request) error {
	tube := r.PostFormValue("tube")
	err := c.hand(r).Pause(tube, 0)
	return c.answer(w, r, err, back(r, tubeURL(tube)), "Tube "+tube+" gives out jobs again.")
}

func (c *Console) kickTube(w http.ResponseWriter, r *http.Request) error {
	tube := r.PostFormValue("tube")
	to := back(r, tubeURL(tube))
	n, ok := readCount(r.PostFormValue("n"))
	if !ok {
		c.refused(w, r, to, "No job is kicked: say how many, 1 or more.")
		return nil
	}
	out, err := c.hand(r).KickTube(r.Context(), tube, n)
	return c.answer(w, r, err, to, outcomeText("Kicked", &out))
}

// readCount reads how many jobs are meant: 1 or more.
func readCount(text string) (n int, ok bool) {
	n, err := strconv.Atoi(strings.ReplaceAll(strings.TrimSpace(text), ",", ""))
	return n, err == nil && n >= 1 && n <= 1_000_000_000
}
