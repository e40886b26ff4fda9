package api

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/haricotq/haricot/internal/operator"
)

// connection is a client as it was at a moment.
type connection struct {
	ID       uint32  `json:"id"`
	Address  string  `json:"address"`
	PID      int     `json:"pid,omitempty"`
	Name     string  `json:"name"`
	Age      seconds `json:"age"`
	Producer bool    `json:"producer"`
	Worker   bool    `json:"worker"`
	Waiting  bool    `json:"waiting"`
	Uses     string  `json:"uses"`
	// Watches and Holds are the first only, if there are many.
	Watches    []string  `json:"watches"`
	WatchCount int       `json:"watch_count"`
	Holds      []holding `json:"holds"`
	HoldCount  int       `json:"hold_count"`
	// LongestHeld is how long it has held the job that it has held for longest.
	LongestHeld seconds `json:"longest_held"`
}

// holding is a job in the hands of a client.
type holding struct {
	Job      uint64  `json:"job"`
	Tube     string  `json:"tube"`
	HeldFor  seconds `json:"held_for"`
	TimeLeft seconds `json:"time_left"`
}

func connectionOf(c *operator.Connection) *connection {
	answer := &connection{
		ID: uint32(c.ID), Address: c.Address, PID: c.PID, Age: between(c.Opened, c.Now), Producer: c.Producer, Worker: c.Worker,
		Waiting: c.Waiting, Uses: c.Uses, Watches: slices.Concat([]string{}, c.Watches), WatchCount: c.WatchCount,
		Holds: make([]holding, 0, len(c.Holds)), HoldCount: c.HoldCount, LongestHeld: between(c.OldestSince, c.Now),
	}
	for _, h := range c.Holds {
		answer.Holds = append(answer.Holds, holding{uint64(h.Job), h.Tube, between(h.Since, c.Now), between(c.Now, h.Until)})
	}
	return answer
}

// connectionList is a page of the list of connections.
type connectionList struct {
	Connections []*connection `json:"connections"`
	Next        string        `json:"next"`
}

// connections lists the connections in the order of their numbers.
func (a *api) connections(c *call) (any, error) {
	limit := int(c.number("limit", 0, 1, 1_000_000))
	after := uint64(0)
	if text, ok := c.one("cursor", cursorRule, textKind); ok && text != "" {
		var err error
		if after, err = strconv.ParseUint(text, 10, 32); err != nil {
			c.fault("cursor", text, cursorRule)
		}
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	list := []*connection{}
	err := a.operator.Connections(c.r.Context(), func(v *operator.Connection) {
		if uint64(v.ID) > after {
			list = append(list, connectionOf(v))
		}
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b *connection) int { return cmp.Compare(a.ID, b.ID) })
	answer := &connectionList{Connections: list}
	if limit > 0 && len(list) > limit {
		answer.Connections, answer.Next = list[:limit], strconv.FormatUint(uint64(list[limit-1].ID), 10)
	}
	for _, v := range answer.Connections {
		v.Name = operator.ProcessName(v.PID)
	}
	return answer, nil
}

// connection shows one connection.
func (a *api) connection(c *call) (any, error) {
	id := c.connectionID()
	if err := c.check(); err != nil {
		return nil, err
	}
	v, ok, err := a.operator.Connection(id)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, &problem{Status: http.StatusNotFound, Detail: fmt.Sprintf("There is no connection %d.", id)}
	}
	answer := connectionOf(v)
	answer.Name = operator.ProcessName(answer.PID)
	return answer, nil
}
