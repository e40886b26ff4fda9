package api

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/protocol"
)

// tube is a tube as it was at a moment.
type tube struct {
	Name           string  `json:"name"`
	Ready          uint64  `json:"ready"`
	Urgent         uint64  `json:"urgent"`
	Reserved       uint64  `json:"reserved"`
	Delayed        uint64  `json:"delayed"`
	Buried         uint64  `json:"buried"`
	Bytes          uint64  `json:"bytes"`
	TotalJobs      uint64  `json:"total_jobs"`
	OldestReadyAge seconds `json:"oldest_ready_age"`
	Using          uint64  `json:"using"`
	Watching       uint64  `json:"watching"`
	Waiting        uint64  `json:"waiting"`
	Paused         bool    `json:"paused"`
	PauseTimeLeft  seconds `json:"pause_time_left"`
	Pauses         uint64  `json:"pauses"`
	Counts         counts  `json:"counts"`
	// What follows is there if one tube was asked for.
	Wait      *histogram `json:"wait,omitempty"`
	Run       *histogram `json:"run,omitempty"`
	Diagnosis []finding  `json:"diagnosis,omitempty"`
}

// finding is a part of a diagnosis.
type finding struct {
	Code       string `json:"code"`
	Severity   string `json:"severity"`
	Text       string `json:"text"`
	Job        uint64 `json:"job,omitempty"`
	Connection uint32 `json:"connection,omitempty"`
}

func tubeOf(t *operator.Tube) *tube {
	return &tube{
		Name: t.Name, Ready: t.Jobs.Ready, Urgent: t.Jobs.Urgent, Reserved: t.Jobs.Reserved, Delayed: t.Jobs.Delayed,
		Buried: t.Jobs.Buried, Bytes: t.Bytes, TotalJobs: t.TotalJobs, OldestReadyAge: inSeconds(t.OldestReady()),
		Using: uint64(t.Using), Watching: uint64(t.Watching), Waiting: t.Waiting, Paused: t.Pause != 0,
		PauseTimeLeft: inSeconds(t.PauseLeft()), Pauses: t.Pauses, Counts: countsOf(&t.Done),
	}
}

// tubeList is a page of a list of tubes.
type tubeList struct {
	Tubes []*tube `json:"tubes"`
	Next  string  `json:"next"`
}

// tubes lists tubes.
func (a *api) tubes(c *call) (any, error) {
	matches := c.filter("filter")
	by, downwards := c.order()
	after := c.tubeCursor()
	limit := int(c.number("limit", 0, 1, 1_000_000))
	if err := c.check(); err != nil {
		return nil, err
	}
	list := []*tube{}
	err := a.operator.Tubes(c.r.Context(), func(t *operator.Tube) {
		if matches(t.Name) {
			list = append(list, tubeOf(t))
		}
	})
	if err != nil {
		return nil, err
	}
	order := func(a, b *tube) int {
		n := cmp.Compare(by(a), by(b))
		if downwards {
			n = -n
		}
		return cmp.Or(n, cmp.Compare(a.Name, b.Name))
	}
	slices.SortFunc(list, order)
	if after != nil {
		list = slices.DeleteFunc(list, func(t *tube) bool {
			n := cmp.Compare(by(t), after.Key)
			if downwards {
				n = -n
			}
			return cmp.Or(n, cmp.Compare(t.Name, after.Name)) <= 0
		})
	}
	answer := &tubeList{Tubes: list}
	if limit > 0 && len(list) > limit {
		last := list[limit-1]
		answer.Tubes, answer.Next = list[:limit], tubePlace{by(last), last.Name}.cursor()
	}
	return answer, nil
}

// filter reads which names are wanted: those that a pattern with * and ? fits,
// or that contain a text. Neither sign can be in a name.
func (f *form) filter(name string) (matches func(string) bool) {
	text := f.text(name)
	if len(text) > protocol.MaxTubeName {
		f.fault(name, text, fmt.Sprintf("at most %d bytes", protocol.MaxTubeName))
	}
	if strings.ContainsAny(text, "*?") {
		return func(tube string) bool { return fitsPattern(text, tube) }
	}
	return func(tube string) bool { return strings.Contains(tube, text) }
}

// fitsPattern tells whether a pattern is all of a text: * is any text, ? one
// byte. If what follows a * does not fit, only the last * is tried for more,
// which is enough, so that no pattern takes long.
func fitsPattern(pattern, text string) bool {
	p, t := 0, 0
	star, from := -1, 0 // the last *, and where what follows it was tried
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			from++
			p, t = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// keys are what tubes can be sorted by, besides their names.
var keys = map[string]func(*tube) float64{
	"name":             func(*tube) float64 { return 0 },
	"ready":            func(t *tube) float64 { return float64(t.Ready) },
	"urgent":           func(t *tube) float64 { return float64(t.Urgent) },
	"reserved":         func(t *tube) float64 { return float64(t.Reserved) },
	"delayed":          func(t *tube) float64 { return float64(t.Delayed) },
	"buried":           func(t *tube) float64 { return float64(t.Buried) },
	"bytes":            func(t *tube) float64 { return float64(t.Bytes) },
	"total_jobs":       func(t *tube) float64 { return float64(t.TotalJobs) },
	"oldest_ready_age": func(t *tube) float64 { return float64(t.OldestReadyAge) },
	"using":            func(t *tube) float64 { return float64(t.Using) },
	"watching":         func(t *tube) float64 { return float64(t.Watching) },
	"waiting":          func(t *tube) float64 { return float64(t.Waiting) },
	"pause_time_left":  func(t *tube) float64 { return float64(t.PauseTimeLeft) },
}

// sortNames are the values of sort: the keys, and each with a hyphen before it
// for the largest first.
var sortNames = []string{
	"name", "ready", "urgent", "reserved", "delayed", "buried", "bytes", "total_jobs", "oldest_ready_age", "using", "watching",
	"waiting", "pause_time_left", "-ready", "-urgent", "-reserved", "-delayed", "-buried", "-bytes", "-total_jobs",
	"-oldest_ready_age", "-using", "-watching", "-waiting", "-pause_time_left",
}

// order reads how tubes are to be sorted.
func (f *form) order() (by func(*tube) float64, downwards bool) {
	name, downwards := strings.CutPrefix(f.choice("sort", "name", sortNames...), "-")
	return keys[name], downwards
}

// tubePlace is a place in a sorted list of tubes.
type tubePlace struct {
	Key  float64 `json:"k"`
	Name string  `json:"n"`
}

func (p tubePlace) cursor() string {
	text, _ := json.Marshal(p) //nolint:errchkjson // a number and a text
	return base64.RawURLEncoding.EncodeToString(text)
}

// tubeCursor reads after which place a page begins.
func (f *form) tubeCursor() *tubePlace {
	text, ok := f.one("cursor", cursorRule, textKind)
	if !ok || text == "" {
		return nil
	}
	p := new(tubePlace)
	plain, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(plain, p)
	}
	if err != nil {
		f.fault("cursor", text, cursorRule)
	}
	return p
}

// cursorRule is what a cursor may be.
const cursorRule = "what next was in the answer before"

// tube shows one tube, and why its jobs are not done.
func (a *api) tube(c *call) (any, error) {
	name := c.tubeName()
	if err := c.check(); err != nil {
		return nil, err
	}
	t, err := a.operator.Tube(name)
	if err != nil {
		return nil, err
	}
	findings, err := a.operator.Diagnose(c.r.Context(), name)
	if err != nil {
		return nil, err
	}
	answer := tubeOf(&t)
	answer.Wait, answer.Run = histogramOf(&t.Waits), histogramOf(&t.Runs)
	for _, f := range findings {
		answer.Diagnosis = append(answer.Diagnosis, finding{f.Code, string(f.Severity), f.Text, uint64(f.Job), uint32(f.Connection)})
	}
	return answer, nil
}

// pause has a tube give out no jobs for a time.
func (a *api) pause(c *call) (any, error) {
	name := c.tubeName()
	length := c.seconds("seconds", 0, 1)
	c.need("seconds", "how long the pause is")
	if err := c.check(); err != nil {
		return nil, err
	}
	return nil, c.by(a).Pause(name, length)
}

// resume ends a pause.
func (a *api) resume(c *call) (any, error) {
	name := c.tubeName()
	if err := c.check(); err != nil {
		return nil, err
	}
	return nil, c.by(a).Pause(name, 0)
}

// kickTube makes buried jobs of a tube ready, or delayed ones if none is buried.
func (a *api) kickTube(c *call) (any, error) {
	name := c.tubeName()
	n := c.number("count", 0, 1, 1_000_000_000)
	c.need("count", "how many jobs at most")
	if err := c.check(); err != nil {
		return nil, err
	}
	out, err := c.by(a).KickTube(c.r.Context(), name, int(n))
	return finish(&out, err)
}

// clear deletes the jobs of a tube that are in some states.
func (a *api) clear(c *call) (any, error) {
	name := c.tubeName()
	states := c.states("state")
	c.need("state", strings.Join(stateNames, ", "))
	force := c.flag("force")
	if states.Has(stateOf("reserved")) && states != 0 && !force {
		c.fault("state", "reserved", "reserved only with force=true: the jobs are taken from the clients that hold them")
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	out, err := c.by(a).Clear(c.r.Context(), name, states)
	return finish(&out, err)
}

// outcome is what has come of an action on many jobs.
type outcome struct {
	Matched int `json:"matched"`
	Done    int `json:"done"`
	Skipped int `json:"skipped"`
}

// finish answers with an outcome, or a problem that tells what was done before it.
func finish(out *operator.Outcome, err error) (any, error) {
	answer := &outcome{out.Matched, out.Done, out.Skipped}
	if err != nil {
		p := describe(err)
		if p.Status != http.StatusNotFound {
			p.outcome = answer
		}
		return nil, p
	}
	return answer, nil
}
