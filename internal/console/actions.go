package console

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// hand is the hand of whoever has sent a request.
func (c *Console) hand(r *http.Request) *operator.Hand {
	return c.operator.By(operator.Who(r.Context()))
}

// answer answers a form after the change that it asked for: with what has been
// done, or with why it was refused. A fault of the server is returned.
func (c *Console) answer(w http.ResponseWriter, r *http.Request, err error, to, text string) error {
	if err == nil {
		c.done(w, r, to, text)
		return nil
	}
	why, isRefusal := refusal(err)
	if !isRefusal {
		return err
	}
	c.refused(w, r, to, why)
	return nil
}

// refusal says in words why a change was refused; ok is false of a fault.
func refusal(err error) (why string, ok bool) {
	var bad badRequest
	switch {
	case errors.Is(err, queue.ErrReserved):
		return "Nothing is changed: a worker has reserved the job in the meantime.", true
	case errors.Is(err, queue.ErrNoJob):
		return "Nothing is changed: the job has been deleted in the meantime.", true
	case errors.Is(err, queue.ErrNotReserved):
		return "Nothing is changed: the job is not reserved any more.", true
	case errors.Is(err, queue.ErrNotKickable):
		return "Nothing is changed: the job is neither buried nor delayed any more.", true
	case errors.Is(err, queue.ErrNoTube):
		return "Nothing is changed: the tube is gone, as its last job and its last client are.", true
	case errors.Is(err, queue.ErrTooBig), errors.Is(err, queue.ErrDraining), errors.Is(err, queue.ErrNoRoom):
		return "Nothing is changed: " + err.Error() + ".", true
	case errors.As(err, &bad):
		return "Nothing is changed: " + string(bad), true
	}
	return "", false
}

// deed is something that can be done to jobs, one or many.
type deed struct {
	Name string // in addresses
	Verb string // as an order
	past string
	// Takes tells that it can be done to a job that a client holds, which loses it.
	Takes bool
	// Destroys tells that it cannot be undone.
	Destroys bool
	action   func(fields url.Values, hold queue.Hold) (operator.Action, error)
}

// deeds are what can be done to jobs.
var deeds = []deed{
	{Name: "kick", Verb: "Kick", past: "Kicked", action: func(url.Values, queue.Hold) (operator.Action, error) {
		return operator.Kick(), nil
	}},
	{Name: "bury", Verb: "Bury", past: "Buried", Takes: true, action: func(_ url.Values, hold queue.Hold) (operator.Action, error) {
		return operator.Bury(hold), nil
	}},
	{Name: "release", Verb: "Release", past: "Released", action: release},
	{Name: "delete", Verb: "Delete", past: "Deleted", Takes: true, Destroys: true, action: func(_ url.Values, hold queue.Hold) (operator.Action, error) {
		return operator.Delete(hold), nil
	}},
	{Name: "move", Verb: "Move", past: "Moved", Takes: true, action: move},
	{Name: "alter", Verb: "Change", past: "Changed", action: alter},
}

func deedOf(name string) (*deed, error) {
	for i := range deeds {
		if deeds[i].Name == name {
			return &deeds[i], nil
		}
	}
	return nil, errNoPage
}

// release takes jobs from their workers.
func release(fields url.Values, _ queue.Hold) (operator.Action, error) {
	text := fields.Get("delay")
	if strings.TrimSpace(text) == "" {
		return operator.Release(0), nil
	}
	delay, err := readTime(text)
	if err != nil {
		return operator.Action{}, badRequest("the delay " + err.Error() + ".")
	}
	return operator.Release(delay), nil
}

func move(fields url.Values, hold queue.Hold) (operator.Action, error) {
	to := fields.Get("to")
	if why := tubeNameFault(to); why != "" {
		return operator.Action{}, badRequest(why + ".")
	}
	return operator.Move(to, hold), nil
}

// alter changes what the fields say, and nothing that they leave empty.
func alter(fields url.Values, _ queue.Hold) (operator.Action, error) {
	var a queue.Alteration
	if text := strings.TrimSpace(fields.Get("pri")); text != "" {
		pri, err := readPriority(text)
		if err != nil {
			return operator.Action{}, badRequest("the priority " + err.Error() + ".")
		}
		a.Priority = &pri
	}
	if text := strings.TrimSpace(fields.Get("delay")); text != "" {
		delay, err := readTime(text)
		if err != nil {
			return operator.Action{}, badRequest("the delay " + err.Error() + ".")
		}
		a.Delay = &delay
	}
	if text := strings.TrimSpace(fields.Get("ttr")); text != "" {
		ttr, err := readTTR(text)
		if err != nil {
			return operator.Action{}, badRequest("the time to run " + err.Error() + ".")
		}
		a.TTR = &ttr
	}
	if a == (queue.Alteration{}) {
		return operator.Action{}, badRequest("say what to change: a priority, a delay or a time to run.")
	}
	return operator.Alter(&a), nil
}

// tubeNameFault says why a name cannot be a tube's, or nothing.
func tubeNameFault(name string) string {
	switch {
	case name == "":
		return "A tube needs a name"
	case len(name) > protocol.MaxTubeName:
		return fmt.Sprintf("A tube's name has %d characters at most", protocol.MaxTubeName)
	case !protocol.ValidTube([]byte(name)):
		return "A tube's name has letters, digits and -+/;.$_() only, and does not begin with -"
	}
	return ""
}

func readPriority(text string) (protocol.Priority, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("“%s” is no priority; it is a number from 0, the most urgent, to 4294967295", shortened(text))
	}
	return protocol.Priority(n), nil
}

// holdOf says whether a form means to take a job from the client that holds it.
func holdOf(r *http.Request) queue.Hold {
	return queue.Hold(r.PostFormValue("hold") == "take")
}

// doToJob does something to one job.
func (c *Console) doToJob(w http.ResponseWriter, r *http.Request) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	d, err := deedOf(r.PathValue("deed"))
	if err != nil {
		return err
	}
	to := back(r, jobURL(id))
	var tube string
	if j, err := c.operator.Job(r.Context(), id, 0); err == nil {
		tube = j.Tube
	}
	action, err := d.action(r.PostForm, holdOf(r))
	if err == nil {
		err = c.hand(r).Do(action, id)
	}
	if pathOf(to) == jobURL(id) && (err == nil && d.Destroys || errors.Is(err, queue.ErrNoJob)) {
		to = tubeURL(tube)
	}
	to = c.stillThere(to)
	return c.answer(w, r, err, to, fmt.Sprintf("%s job %d%s.", d.past, id, d.detail(r.PostForm)))
}

// detail says how a deed was done, where that is not certain.
func (d *deed) detail(fields url.Values) string {
	switch d.Name {
	case "move":
		return " to tube " + fields.Get("to")
	case "release":
		if delay, err := readTime(fields.Get("delay")); err == nil && delay > 0 {
			return ", ready in " + duration(delay)
		}
	}
	return ""
}

// stillThere is an address of ours, or the list of tubes if it is the page of a
// tube that is gone with its last job.
func (c *Console) stillThere(address string) string {
	name, ok := strings.CutPrefix(pathOf(address), "/tubes/")
	if !ok || strings.Contains(name, "/") {
		return address
	}
	if u, err := url.Parse(address); err == nil && name == "" {
		name = u.Query().Get("name")
	} else if name, err = url.PathUnescape(name); err != nil {
		return address
	}
	if _, err := c.operator.Tube(name); errors.Is(err, queue.ErrNoTube) {
		return "/tubes"
	}
	return address
}

// pathOf is an address without its query.
func pathOf(address string) string {
	path, _, _ := strings.Cut(address, "?")
	return path
}
