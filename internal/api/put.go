package api

import (
	"encoding/base64"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// What a new job has if the call does not say.
const (
	defaultPriority = 1024
	defaultTTR      = 60
)

// put puts a job.
func (a *api) put(c *call) (any, error) {
	in := queue.Insertion{Tube: c.tubeName(), Priority: defaultPriority, TTR: defaultTTR * time.Second}
	c.insertion(&in)
	if err := c.check(); err != nil {
		return nil, err
	}
	id, err := c.by(a).Put(&in)
	if err != nil {
		return nil, err
	}
	return c.created(id), nil
}

// replace puts a job in place of another, like it but for what the call says.
func (a *api) replace(c *call) (any, error) {
	in := queue.Insertion{Priority: defaultPriority, TTR: defaultTTR * time.Second}
	old := c.jobID()
	if len(c.faults) == 0 {
		j, err := a.operator.Job(c.r.Context(), old, 0)
		if err != nil {
			return nil, err
		}
		in.Tube, in.Priority, in.TTR = j.Tube, j.Priority, j.TTR
	}
	if to := c.tubeOf("tube"); to != "" {
		in.Tube = to
	}
	hold := c.hold()
	c.insertion(&in)
	if err := c.check(); err != nil {
		return nil, err
	}
	id, err := c.by(a).Replace(old, &in, hold)
	if err != nil {
		return nil, err
	}
	return c.created(id), nil
}

// insertion reads a new job.
func (c *call) insertion(in *queue.Insertion) {
	in.Priority = protocol.Priority(c.number("pri", uint64(in.Priority), 0, mostPriority))
	in.Delay = c.seconds("delay", 0, 0)
	in.TTR = c.seconds("ttr", whole(in.TTR), leastTTR)
	if c.isBody {
		in.Body = c.content
		return
	}
	body, plain := c.one("body", bodyRule, textKind)
	encoded, coded := c.one("body_base64", bodyRule, textKind)
	switch {
	case plain && coded:
		c.fault("body_base64", "", "there only if body is not")
	case plain:
		in.Body = []byte(body)
	case coded:
		var err error
		if in.Body, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			c.fault("body_base64", encoded, "base64 with the signs + and /, filled up with =")
		}
	case len(c.faults) == 0:
		c.fault("body", "", "missing; one of body and body_base64 has to be there")
	}
}

// bodyRule is what a body may be in JSON.
const bodyRule = "a text"
