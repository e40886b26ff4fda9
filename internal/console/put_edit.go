package console

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// errReadOnly says that a page is about a change, which the server does not allow.
var errReadOnly = badRequest("This server is read-only: it was started so that its pages change nothing.")

// editForm is the form that puts a changed job in the place of another. A job's
// body never changes: the new job has another id.
func (c *Console) editForm(w http.ResponseWriter, r *http.Request) error {
	if c.config.ReadOnly {
		return errReadOnly
	}
	id, err := jobID(r)
	if err != nil {
		return err
	}
	j, err := c.operator.Job(r.Context(), id, editedBody)
	switch {
	case err != nil:
		return err
	case j.Unreadable != nil:
		return badRequest("The body of this job cannot be read, so that it cannot be edited.")
	case j.Truncated():
		return badRequest(fmt.Sprintf("The body has %s, which is too large to be edited here.", size(j.Size)))
	}
	f := &jobForm{
		Tube: j.Tube, Priority: strconv.FormatUint(uint64(j.Priority), 10), Delay: usualDelay, TTR: timeText(j.TTR),
		LineEnd: "lf", Back: back(r, jobURL(id)),
	}
	f.writeBody(j.Body)
	if f.Replaces, err = c.viewJob(r, j); err != nil {
		return err
	}
	return c.showJobForm(w, r, http.StatusOK, f)
}

func (c *Console) edit(w http.ResponseWriter, r *http.Request) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	f := readJobForm(r)
	in, ok := f.insertion()
	if !ok {
		return c.editAgain(w, r, id, f, nil)
	}
	newID, err := c.hand(r).Replace(id, in, holdOf(r))
	if err != nil {
		return c.editAgain(w, r, id, f, err)
	}
	to := f.Back
	if to == "" || pathOf(to) == jobURL(id) {
		to = jobURL(newID)
	}
	c.done(w, r, to, fmt.Sprintf("Job %d in tube %s has taken the place of job %d.", newID, in.Tube, id))
	return nil
}

// editAgain shows the form again, with what is wrong in it or why the server has
// refused the change.
func (c *Console) editAgain(w http.ResponseWriter, r *http.Request, id protocol.JobID, f *jobForm, refused error) error {
	j, err := c.operator.Job(r.Context(), id, 0)
	switch {
	case errors.Is(err, queue.ErrNoJob):
		if refused = err; pathOf(f.Back) == jobURL(id) {
			f.Back = ""
		}
	case err != nil:
		return err
	default:
		if f.Replaces, err = c.viewJob(r, j); err != nil {
			return err
		}
	}
	if refused != nil {
		return c.refuseJob(w, r, f, refused)
	}
	return c.showJobForm(w, r, http.StatusUnprocessableEntity, f)
}
