package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/haricotq/haricot/internal/console/body"
	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/queue"
)

const (
	// shownBody is how much of a body a page shows, in bytes.
	shownBody = 1 << 20
	// editedBody is how large a body may be to be edited in a page, in bytes.
	editedBody = 256 << 10
	// everyByte is no limit to how much of a body is read.
	everyByte = 1 << 31
)

// jobView is a job with its body, as the job's page and the buried view show it.
type jobView struct {
	*operator.Job
	Holder *connectionRow // who holds it, if it is reserved
	// Back is where forms lead to, Here the address of the page without the view.
	Back, Here string
	Format     string // what the body seems to be
	Views      []viewTab
	Picture    body.Picture
	// Raw is the body itself, if it is text that can be copied.
	Raw      string
	Copyable bool
	Editable bool
	Token    string
	ReadOnly bool
}

// viewTab leads to another view of the body.
type viewTab struct {
	body.View
	URL     string
	Current bool
}

// Held is how long its client has held it.
func (v *jobView) Held() time.Duration { return time.Duration(v.Now - v.Since) }

// TTRText is the time to run as a form takes it.
func (v *jobView) TTRText() string { return timeText(v.TTR) }

// Shown is how many bytes of the body the page has.
func (v *jobView) Shown() int { return len(v.Body) }

// Hold is what a form about the job says of a job that is held: who saw that it
// is may take it.
func (v *jobView) Hold() string {
	if v.State == queue.Reserved {
		return "take"
	}
	return ""
}

// EditURL leads to the form that puts a changed job in its place.
func (v *jobView) EditURL() string {
	return jobURL(v.ID) + "/edit?" + url.Values{"back": {v.Back}}.Encode()
}

// viewJob looks at a job with its body, in the view that is asked for.
func (c *Console) viewJob(r *http.Request, j *operator.Job) (*jobView, error) {
	v := &jobView{Job: j, Back: here(r), Token: c.config.Token, ReadOnly: c.config.ReadOnly}
	var err error
	if v.Holder, err = c.holder(j); err != nil {
		return nil, err
	}
	query := r.URL.Query()
	query.Del("view")
	address := url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: query.Encode()}
	v.Here = address.String()
	b := body.Read(j.Body, !j.Truncated())
	current := b.Pick(r.FormValue("view"))
	v.Format, v.Picture = b.Format(), b.Show(current)
	for i, view := range b.Views() {
		tab := viewTab{view, v.Here, view == current}
		if i > 0 {
			tab.URL = withQuery(v.Here, "view", string(view))
		}
		v.Views = append(v.Views, tab)
	}
	if !j.Truncated() && len(j.Body) <= editedBody && utf8.Valid(j.Body) && !strings.Contains(string(j.Body), "\x00") {
		v.Raw, v.Copyable = string(j.Body), len(j.Body) > 0
	}
	v.Editable = int(j.Size) <= editedBody && j.Unreadable == nil
	return v, nil
}

func (c *Console) job(w http.ResponseWriter, r *http.Request) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	j, err := c.operator.Job(r.Context(), id, shownBody)
	if err != nil {
		return err
	}
	v, err := c.viewJob(r, j)
	if err != nil {
		return err
	}
	return c.show(w, r, "job.html", v)
}

// jobBody answers with a body as a file, which no browser may take for a page.
func (c *Console) jobBody(w http.ResponseWriter, r *http.Request) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	j, err := c.operator.Job(r.Context(), id, everyByte)
	if err != nil {
		return err
	}
	if j.Unreadable != nil {
		return fmt.Errorf("console: reading the body of job %d: %w", id, j.Unreadable)
	}
	kind, ending := "application/octet-stream", "bin"
	if utf8.Valid(j.Body) {
		kind, ending = "text/plain; charset=utf-8", "txt"
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="job-%d.%s"`, id, ending))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	_, _ = w.Write(j.Body) // a reader who has gone needs no body
	return nil
}
