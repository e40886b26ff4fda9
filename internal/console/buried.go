package console

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/queue"
)

// buriedPage shows the buried jobs of a tube, or of all, one at a time.
type buriedPage struct {
	*jobQuery        // what the form for many jobs begins with
	Tube      string // empty is all
	TubeThere bool
	Number    int // of the job in the list, from 1
	Count     int
	Job       *jobView // nil if there is none, or none behind the last
	First     string   // addresses; empty if there is none
	Previous  string
	Next      string
}

// buriedURL leads to the buried jobs of a tube.
func buriedURL(tube string) string {
	if tube == "" {
		return "/buried"
	}
	if tube == "." || tube == ".." { // which a path cannot name
		return "/buried?" + url.Values{"tube": {tube}}.Encode()
	}
	return tubeURL(tube) + "/buried"
}

// ListURL leads to the list of the jobs.
func (p *buriedPage) ListURL() string {
	if p.Tube == "" {
		return "/search?state=buried"
	}
	return tubeStateURL(p.Tube, queue.Buried)
}

func (c *Console) buried(w http.ResponseWriter, r *http.Request) error {
	tube := r.PathValue("tube")
	if tube == "" {
		tube = r.FormValue("tube")
	}
	at, err := readRank(r.FormValue("at"))
	if err != nil {
		return err
	}
	p := &buriedPage{
		jobQuery: readQuery(url.Values{"tube": {tube}, "state": {queue.Buried.String()}}),
		Tube:     tube, First: buriedURL(tube),
	}
	switch _, err := c.operator.Tube(tube); {
	case err == nil:
		p.TubeThere = true
	case !errors.Is(err, queue.ErrNoTube):
		return err
	}
	if err := c.spot(r, p, at); err != nil {
		return err
	}
	return c.show(w, r, "buried.html", p)
}

// spot fills in the job at a place of the list. One that goes while it is looked
// at is passed over.
func (c *Console) spot(r *http.Request, p *buriedPage, at queue.Rank) error {
	for {
		s, err := c.operator.Spot(r.Context(), p.Tube, queue.Buried, at)
		if err != nil {
			return err
		}
		p.Number, p.Count = s.Before+1, s.Before+s.After
		if s.Previous.ID != 0 {
			p.Previous = p.at(s.Previous)
		}
		if !s.Found {
			return nil
		}
		p.Count++
		j, err := c.operator.Job(r.Context(), s.At.ID, shownBody)
		switch {
		case err == nil && j.State == queue.Buried && j.Rank == s.At:
			if s.Next.ID != 0 {
				p.Next = p.at(s.Next)
			}
			return c.spotJob(r, p, j)
		case err != nil && !errors.Is(err, queue.ErrNoJob):
			return err
		}
		at = queue.Rank{Key: s.At.Key, ID: s.At.ID + 1}
	}
}

// spotJob shows the job; after a change its page has the next one.
func (c *Console) spotJob(r *http.Request, p *buriedPage, j *operator.Job) (err error) {
	if p.Job, err = c.viewJob(r, j); err == nil {
		p.Job.Back = p.at(j.Rank)
	}
	return err
}

// at leads to a place of the list.
func (p *buriedPage) at(rank queue.Rank) string { return withQuery(p.First, "at", rankText(rank)) }
