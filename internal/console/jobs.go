package console

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/haricotq/haricot/internal/console/body"
	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// jobRoutes are the pages of tubes and jobs.
func (c *Console) jobRoutes(mux *http.ServeMux) {
	c.route(mux, "GET /tubes/{tube}", c.tube)
	c.route(mux, "GET /tubes/{$}", c.tube)
	c.route(mux, "POST /tube/pause", c.pauseTube)
	c.route(mux, "POST /tube/resume", c.resumeTube)
	c.route(mux, "POST /tube/kick", c.kickTube)

	c.route(mux, "GET /jobs/{id}", c.job)
	c.route(mux, "GET /jobs/{id}/body", c.jobBody)
	c.route(mux, "POST /jobs/{id}/{deed}", c.doToJob)

	c.route(mux, "GET /buried", c.buried)
	c.route(mux, "GET /tubes/{tube}/buried", c.buried)
	c.route(mux, "GET /search", c.search)
	c.route(mux, "GET /bulk", c.bulk)
	c.route(mux, "POST /bulk", c.doInBulk)

	c.route(mux, "GET /put", c.putForm)
	c.route(mux, "POST /put", c.put)
	c.route(mux, "GET /jobs/{id}/edit", c.editForm)
	c.route(mux, "POST /jobs/{id}/edit", c.edit)
}

const (
	// previewBytes is how much of a body is read for a list, previewLength how
	// many characters of it are shown.
	previewBytes  = 600
	previewLength = 200
	// jobsPerPage is how many jobs of a list a page has.
	jobsPerPage = 50
)

// jobID reads the id in an address.
func jobID(r *http.Request) (protocol.JobID, error) {
	id, err := strconv.ParseUint(r.PathValue("id"), 10, 64)
	if err != nil || id == 0 {
		return 0, queue.ErrNoJob
	}
	return protocol.JobID(id), nil
}

func jobURL(id protocol.JobID) string { return fmt.Sprintf("/jobs/%d", id) }

// rankText writes a place in a list for an address.
func rankText(r queue.Rank) string { return fmt.Sprintf("%d-%d", r.Key, r.ID) }

// readRank reads what rankText wrote; nothing is the start of the list.
func readRank(text string) (rank queue.Rank, err error) {
	if text == "" {
		return rank, nil
	}
	key, id, _ := strings.Cut(text, "-")
	k, err := strconv.ParseUint(key, 10, 64)
	n, otherErr := strconv.ParseUint(id, 10, 64)
	if err != nil || otherErr != nil {
		return rank, badRequest("There is no such place in the list.")
	}
	return queue.Rank{Key: k, ID: protocol.JobID(n)}, nil
}

// jobRow is a job in a list.
type jobRow struct {
	*operator.Job
	// Client is who holds it, if it is reserved.
	Client string
}

// Preview is the beginning of its body in one line.
func (j *jobRow) Preview() string {
	if j.Unreadable != nil {
		return "(the body cannot be read)"
	}
	return body.Preview(j.Body, !j.Truncated(), previewLength)
}

// jobRows makes rows of jobs.
func (c *Console) jobRows(jobs []*operator.Job) ([]jobRow, error) {
	rows := make([]jobRow, 0, len(jobs))
	clients := make(map[queue.ClientID]string)
	for _, j := range jobs {
		row := jobRow{Job: j}
		if j.State == queue.Reserved {
			name, known := clients[j.Owner]
			if !known {
				holder, err := c.holder(j)
				if err != nil {
					return nil, err
				}
				if holder != nil {
					name = holder.Client()
				}
				clients[j.Owner] = name
			}
			row.Client = name
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// holder is who holds a job, nil if nobody does any more.
func (c *Console) holder(j *operator.Job) (*connectionRow, error) {
	if j.State != queue.Reserved {
		return nil, nil //nolint:nilnil // nobody is an answer
	}
	connection, ok, err := c.operator.Connection(j.Owner)
	if err != nil || !ok {
		return nil, err
	}
	return &connectionRow{*connection, processName(make(map[int]string), connection.PID)}, nil
}

// jobStates are the states of jobs in the order in which pages show them.
var jobStates = []queue.State{queue.Ready, queue.Reserved, queue.Delayed, queue.Buried}

// stateOf is the state of a name.
func stateOf(name string) (queue.State, bool) {
	for _, s := range jobStates {
		if s.String() == name {
			return s, true
		}
	}
	return 0, false
}

// inState is how many of the counted jobs are in a state.
func inState(counts *protocol.JobCounts, s queue.State) uint64 {
	switch s {
	case queue.Ready:
		return counts.Ready
	case queue.Reserved:
		return counts.Reserved
	case queue.Delayed:
		return counts.Delayed
	case queue.Buried:
		return counts.Buried
	default:
		return 0
	}
}
