package api

import (
	"encoding/base64"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// job is a job as it was at a moment.
type job struct {
	ID    uint64  `json:"id"`
	Tube  string  `json:"tube"`
	State string  `json:"state"`
	Pri   uint32  `json:"pri"`
	Age   seconds `json:"age"`
	Delay uint64  `json:"delay"`
	TTR   uint64  `json:"ttr"`
	// TimeLeft is until it is ready, or taken back from the client that holds it.
	TimeLeft seconds `json:"time_left"`
	Size     uint32  `json:"size"`
	Reserves uint32  `json:"reserves"`
	Timeouts uint32  `json:"timeouts"`
	Releases uint32  `json:"releases"`
	Buries   uint32  `json:"buries"`
	Kicks    uint32  `json:"kicks"`
	// ReadyAge is how long a ready job is ready.
	ReadyAge *seconds `json:"ready_age,omitempty"`
	Holder   *holder  `json:"holder,omitempty"`
	// Of these there is one.
	Body       *string `json:"body,omitempty"`
	BodyBase64 *string `json:"body_base64,omitempty"`
	BodyError  string  `json:"body_error,omitempty"`

	BodyTruncated bool `json:"body_truncated"`
}

// holder is the client that holds a job.
type holder struct {
	Connection uint32  `json:"connection"`
	Address    string  `json:"address"`
	PID        int     `json:"pid,omitempty"`
	HeldFor    seconds `json:"held_for"`
}

// holders finds the clients that hold jobs, each once.
type holders struct {
	*api
	peers map[queue.ClientID]*operator.Connection
}

func newHolders(a *api) *holders { return &holders{a, make(map[queue.ClientID]*operator.Connection)} }

// of is who holds a reserved job.
func (h *holders) of(j *operator.Job) *holder {
	answer := &holder{Connection: uint32(j.Owner), HeldFor: between(j.Since, j.Now)}
	c, known := h.peers[j.Owner]
	if !known {
		// It may have gone, and another one have its number by now: what holds
		// the job at this moment is all that is asked.
		c, _, _ = h.operator.Connection(j.Owner)
		h.peers[j.Owner] = c
	}
	if c != nil {
		answer.Address, answer.PID = c.Address, c.PID
	}
	return answer
}

// jobOf makes the answer for a job.
func (h *holders) jobOf(j *operator.Job) *job {
	answer := &job{
		ID: uint64(j.ID), Tube: j.Tube, State: j.State.String(), Pri: uint32(j.Priority), Age: between(j.Created, j.Now),
		Delay: whole(j.Delay), TTR: whole(j.TTR), TimeLeft: between(j.Now, j.Until), Size: j.Size,
		Reserves: j.Reserves, Timeouts: j.Timeouts, Releases: j.Releases, Buries: j.Buries, Kicks: j.Kicks,
	}
	switch j.State {
	case queue.Ready:
		age := between(j.Since, j.Now)
		answer.ReadyAge = &age
	case queue.Reserved:
		answer.Holder = h.of(j)
	}
	answer.showBody(j)
	return answer
}

// showBody tells what a job's body is.
func (answer *job) showBody(j *operator.Job) {
	if j.Unreadable != nil {
		answer.BodyError = j.Unreadable.Error()
		return
	}
	answer.BodyTruncated = j.Truncated()
	body := j.Body
	if answer.BodyTruncated {
		body = wholeRunes(body)
	}
	if utf8.Valid(body) {
		text := string(body)
		answer.Body = &text
		return
	}
	text := base64.StdEncoding.EncodeToString(j.Body)
	answer.BodyBase64 = &text
}

// wholeRunes is text without the part of a character at its end, if it was cut
// there.
func wholeRunes(p []byte) []byte {
	for i := len(p) - 1; i >= 0 && i >= len(p)-utf8.UTFMax; i-- {
		if utf8.RuneStart(p[i]) {
			if !utf8.FullRune(p[i:]) {
				return p[:i]
			}
			break
		}
	}
	return p
}

// jobList is a page of a list of jobs.
type jobList struct {
	Jobs []*job `json:"jobs"`
	Next string `json:"next"`
}

func (a *api) jobList(jobs []*operator.Job, next string) *jobList {
	h := newHolders(a)
	answer := &jobList{Jobs: make([]*job, 0, len(jobs)), Next: next}
	for _, j := range jobs {
		answer.Jobs = append(answer.Jobs, h.jobOf(j))
	}
	return answer
}

// tubeJobs lists the jobs of a tube that are in a state, in their order.
func (a *api) tubeJobs(c *call) (any, error) {
	name := c.tubeName()
	r := operator.PageRequest{Tube: name, State: stateOf(c.choice("state", "ready", stateNames...))}
	if text, ok := c.one("cursor", cursorRule, textKind); ok && text != "" {
		if n, err := fmt.Sscanf(text+"\n", "%d-%d\n", &r.After.Key, &r.After.ID); n != 2 || err != nil {
			c.fault("cursor", text, cursorRule)
		}
	}
	r.Limit, r.BodyLimit = c.page()
	if err := c.check(); err != nil {
		return nil, err
	}
	page, err := a.operator.Page(c.r.Context(), &r)
	if err != nil {
		return nil, err
	}
	next := ""
	if page.More {
		next = fmt.Sprintf("%d-%d", page.Next.Key, page.Next.ID)
	}
	return a.jobList(page.Jobs, next), nil
}

// job shows a job, with its whole body unless less is asked for.
func (a *api) job(c *call) (any, error) {
	id := c.jobID()
	limit := c.bodyLimit(protocol.MaxJobSizeLimit)
	if err := c.check(); err != nil {
		return nil, err
	}
	j, err := a.operator.Job(c.r.Context(), id, limit)
	if err != nil {
		return nil, err
	}
	return newHolders(a).jobOf(j), nil
}

// do does something to the job of a call.
func (a *api) do(c *call, id protocol.JobID, action operator.Action) (any, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	return nil, c.by(a).Do(action, id)
}

func (a *api) remove(c *call) (any, error) { return a.do(c, c.jobID(), operator.Delete(c.hold())) }

func (a *api) kick(c *call) (any, error) { return a.do(c, c.jobID(), operator.Kick()) }

func (a *api) bury(c *call) (any, error) { return a.do(c, c.jobID(), operator.Bury(c.hold())) }

func (a *api) release(c *call) (any, error) {
	return a.do(c, c.jobID(), operator.Release(c.seconds("delay", 0, 0)))
}

func (a *api) move(c *call) (any, error) {
	id := c.jobID()
	to := c.tubeOf("tube")
	c.need("tube", "the tube to which the job goes")
	return a.do(c, id, operator.Move(to, c.hold()))
}

// change changes a job in its place.
func (a *api) change(c *call) (any, error) {
	id := c.jobID()
	alteration := c.alteration()
	c.hint = " Release it first."
	return a.do(c, id, operator.Alter(alteration))
}

// alteration reads what to change of a job.
func (f *form) alteration() *queue.Alteration {
	alteration := new(queue.Alteration)
	pri := protocol.Priority(f.number("pri", 0, 0, mostPriority))
	delay, ttr := f.seconds("delay", 0, 0), f.seconds("ttr", 0, leastTTR)
	if f.has("pri") {
		alteration.Priority = &pri
	}
	if f.has("delay") {
		alteration.Delay = &delay
	}
	if f.has("ttr") {
		alteration.TTR = &ttr
	}
	if *alteration == (queue.Alteration{}) {
		f.fault("pri", "", "missing; at least one of pri, delay and ttr has to be there")
	}
	return alteration
}

const (
	// mostPriority is the number of the least urgent job.
	mostPriority = 1<<32 - 1
	// leastTTR is the shortest time to run, in seconds.
	leastTTR = uint64(protocol.MinTTR / time.Second)
)
