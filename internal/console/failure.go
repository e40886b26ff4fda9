package console

import (
	"context"
	"errors"
	"net/http"

	"github.com/haricotq/haricot/internal/queue"
)

// errNoPage says that no page has the address that was asked for.
var errNoPage = errors.New("there is no such page")

// failure is an error page: what is wrong, and what may help.
type failure struct {
	Status int
	Title  string
	Advice string
}

// badRequest is what somebody asked for that makes no sense; its text is shown.
type badRequest string //nolint:errname // return badRequest("...") says it best

// Error returns what is wrong.
func (b badRequest) Error() string { return string(b) }

// failureOf says in words what an error is.
func failureOf(err error) failure {
	var bad badRequest
	switch {
	case errors.Is(err, errNoPage):
		return failure{http.StatusNotFound, "There is no such page", "The address may be mistyped."}
	case errors.Is(err, queue.ErrNoJob):
		return failure{
			http.StatusNotFound, "There is no such job",
			"It has been deleted since, most likely by the worker that has done it. Ids are never used again.",
		}
	case errors.Is(err, queue.ErrNoTube):
		return failure{
			http.StatusNotFound, "There is no such tube",
			"A tube exists while it has jobs, or while a client uses or watches it.",
		}
	case errors.Is(err, errNoConnection):
		return failure{http.StatusNotFound, "There is no such connection", "It has been closed. Its jobs are ready again."}
	case errors.As(err, &bad):
		return failure{http.StatusBadRequest, "That cannot be answered", string(bad)}
	case errors.Is(err, queue.ErrReserved), errors.Is(err, queue.ErrNotReserved), errors.Is(err, queue.ErrNotKickable):
		return failure{http.StatusConflict, "The job is in another state by now", sentence(err)}
	case errors.Is(err, queue.ErrTooBig):
		return failure{http.StatusRequestEntityTooLarge, "The body is too large", sentence(err)}
	case errors.Is(err, queue.ErrDraining), errors.Is(err, queue.ErrNoRoom):
		return failure{http.StatusServiceUnavailable, "The server takes no jobs now", sentence(err)}
	default:
		return failure{
			http.StatusInternalServerError, "The page could not be made",
			"The server's log says why. It may be stopping.",
		}
	}
}

// fail answers with the page for an error.
func (c *Console) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // nobody waits for the page any more
	}
	f := failureOf(err)
	if f.Status == http.StatusInternalServerError {
		c.config.Logger.Error("a page of the console could not be made", "path", r.URL.Path, "error", err)
	}
	if err := c.showAs(w, r, f.Status, "failure.html", f); err != nil {
		c.config.Logger.Error("the error page of the console could not be made", "error", err)
		http.Error(w, f.Title, f.Status)
	}
}
