package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"

	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// call is a request on its way through the API.
type call struct {
	w http.ResponseWriter
	r *http.Request
	*form
	// content is the body of a job, if the content of the request is one.
	content []byte
	isBody  bool
	id      protocol.JobID // the job that the path names
	hint    string         // what to do if a client holds it
	status  int            // of an answer that is no refusal
}

const (
	// parametersLimit is how many bytes of JSON a call takes that brings no body.
	parametersLimit = 1 << 20
	// aroundBody is how many bytes of JSON may stand around a body.
	aroundBody = 64 << 10
)

// carryOut reads the parameters and has the route's handler do what they say.
func (c *call) carryOut(a *api, rt route) (any, error) {
	query, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return nil, &problem{Status: http.StatusBadRequest, Detail: "The query of the URL cannot be read: " + err.Error() + "."}
	}
	c.form = queryForm(query)
	if c.r.Method == http.MethodPost || c.r.Method == http.MethodPatch {
		if err := c.readContent(a, rt.bodies); err != nil {
			return nil, err
		}
	}
	return rt.handle(a, c)
}

// readContent reads the content of a request: an object of parameters, or the
// body of a job.
func (c *call) readContent(a *api, bodies bool) error {
	kind, _, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	c.isBody = bodies && kind != "application/json"
	limit := int64(parametersLimit)
	if bodies {
		totals, err := a.operator.Totals()
		if err != nil {
			return err
		}
		if limit = int64(totals.MaxJobSize); !c.isBody {
			limit = 2*limit + aroundBody
		}
	}
	content, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, limit))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return err
	case err != nil:
		return &problem{Status: http.StatusBadRequest, Detail: "The content of the request did not arrive whole."}
	case c.isBody:
		c.content = content
		return nil
	case len(bytes.TrimSpace(content)) == 0:
		return nil
	case kind != "application/json":
		return &problem{Status: http.StatusUnsupportedMediaType, Detail: "Parameters come in the query of the URL, or as application/json."}
	}
	return c.form.addJSON(content)
}

// by is the hand of whoever makes the call.
func (c *call) by(a *api) *operator.Hand { return a.operator.By(operator.Who(c.r.Context())) }

// tubeName is the tube that the path names.
func (c *call) tubeName() string {
	name := c.r.PathValue("tube")
	c.checkTube("tube", name)
	return name
}

// jobID is the job that the path names.
func (c *call) jobID() protocol.JobID {
	c.id = protocol.JobID(c.pathNumber("a number from 1 on", 64))
	return c.id
}

// connectionID is the connection that the path names.
func (c *call) connectionID() queue.ClientID {
	return queue.ClientID(c.pathNumber("a number from 1 on", 32))
}

func (c *call) pathNumber(allowed string, bits int) uint64 {
	text := c.r.PathValue("id")
	n, err := strconv.ParseUint(text, 10, bits)
	if err != nil || n == 0 {
		c.fault("id", text, allowed)
	}
	return n
}

// hold reads whether a job may be taken from the client that holds it.
func (c *call) hold() queue.Hold {
	c.hint = " With force=true it is taken from that client, which then finds its job gone."
	if c.flag("force") {
		return queue.Take
	}
	return queue.Respect
}

const (
	// defaultPage and mostPage are how many jobs a page has.
	defaultPage = 100
	mostPage    = 1000
	// defaultBody is how many bytes of each body a list shows.
	defaultBody = 64 << 10
)

// page reads how many jobs are wanted, and how much of the body of each.
func (c *call) page() (limit, bodyLimit int) {
	return int(c.number("limit", defaultPage, 1, mostPage)), c.bodyLimit(defaultBody)
}

func (c *call) bodyLimit(fallback uint64) int {
	return int(c.number("body_limit", fallback, 0, protocol.MaxJobSizeLimit))
}

// created answers with the id of a new job.
func (c *call) created(id protocol.JobID) any {
	c.w.Header().Set("Location", fmt.Sprintf("%s/jobs/%d", prefix, id))
	c.status = http.StatusCreated
	return created{id}
}

type created struct {
	ID protocol.JobID `json:"id"`
}
