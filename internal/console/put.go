package console

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/haricotq/haricot/internal/console/body"
	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// What a job that is put here gets if nobody says otherwise; as the Go client's.
const (
	usualPriority = "1024"
	usualTTR      = "60s"
	usualDelay    = "0s"
)

// tubesSuggested is how many names of tubes a form suggests.
const tubesSuggested = 500

// jobForm is what is written in the form that puts a job, and what is wrong
// with it.
type jobForm struct {
	Tube, Priority, Delay, TTR, Body string
	Encoding                         string // of the body in the form: text, hex or base64
	LineEnd                          string // of the body as text: lf or crlf
	Back                             string
	Faults                           map[string]string // by field; that of "" is about the whole
	MaxSize                          uint32            // of a body, in bytes
	Tubes                            []string

	// Replaces is the job in whose place the new one comes, if there is one, and
	// Gone tells that it has been deleted since.
	Replaces *jobView
	Gone     bool
}

// readJobForm reads what is written in a form.
func readJobForm(r *http.Request) *jobForm {
	f := &jobForm{
		Tube: strings.TrimSpace(r.PostFormValue("tube")), Priority: r.PostFormValue("pri"), Delay: r.PostFormValue("delay"),
		TTR: r.PostFormValue("ttr"), Body: r.PostFormValue("body"), Encoding: r.PostFormValue("encoding"),
		LineEnd: r.PostFormValue("line_end"), Back: back(r, ""), Faults: make(map[string]string),
	}
	if f.Encoding != "hex" && f.Encoding != "base64" {
		f.Encoding = "text"
	}
	f.Body = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(f.Body) // browsers send every line end as CRLF
	return f
}

// insertion is the job that is written in the form, if there is no fault.
func (f *jobForm) insertion() (in *queue.Insertion, ok bool) {
	in = &queue.Insertion{Tube: f.Tube}
	if why := tubeNameFault(f.Tube); why != "" {
		f.Faults["tube"] = why
	}
	var err error
	if in.Priority, err = readPriority(f.Priority); err != nil {
		f.Faults["pri"] = err.Error()
	}
	if in.Delay, err = readTime(f.Delay); err != nil {
		f.Faults["delay"] = err.Error()
	}
	if in.TTR, err = readTTR(f.TTR); err != nil {
		f.Faults["ttr"] = err.Error()
	}
	if in.Body, err = f.bytes(); err != nil {
		f.Faults["body"] = err.Error()
	}
	return in, len(f.Faults) == 0
}

// readTTR reads a time to run.
func readTTR(text string) (time.Duration, error) {
	d, err := readTime(text)
	if err == nil && d < protocol.MinTTR {
		err = errors.New("is one second at least")
	}
	return d, err
}

// bytes is the body that is written in the form.
func (f *jobForm) bytes() ([]byte, error) {
	packed := strings.Join(strings.Fields(f.Body), "")
	switch f.Encoding {
	case "hex":
		b, err := hex.DecodeString(packed)
		if err != nil {
			return nil, errors.New("the body is not written in hexadecimal digits, two a byte")
		}
		return b, nil
	case "base64":
		b, err := base64.StdEncoding.DecodeString(packed)
		if err != nil {
			return nil, errors.New("the body is not written in base64")
		}
		return b, nil
	}
	if f.LineEnd == "crlf" {
		return []byte(strings.ReplaceAll(f.Body, "\n", "\r\n")), nil
	}
	return []byte(f.Body), nil
}

// writeBody writes a body into the form so that nothing of it changes on its way.
func (f *jobForm) writeBody(b []byte) {
	f.Encoding = "text"
	if !body.Editable(b) {
		f.Encoding = "hex"
		f.Body = hexLines(b)
		return
	}
	if f.Body = string(b); strings.Contains(f.Body, "\r\n") {
		f.LineEnd = "crlf"
		f.Body = strings.ReplaceAll(f.Body, "\r\n", "\n")
	}
}

// hexLines writes bytes in lines of 16.
func hexLines(b []byte) string {
	var lines strings.Builder
	for i, c := range b {
		switch {
		case i == 0:
		case i%16 == 0:
			lines.WriteByte('\n')
		default:
			lines.WriteByte(' ')
		}
		fmt.Fprintf(&lines, "%02x", c)
	}
	return lines.String()
}

func (c *Console) putForm(w http.ResponseWriter, r *http.Request) error {
	if c.config.ReadOnly {
		return errReadOnly
	}
	f := &jobForm{
		Tube: r.FormValue("tube"), Priority: usualPriority, Delay: usualDelay, TTR: usualTTR, Encoding: "text", LineEnd: "lf",
		Back: back(r, ""),
	}
	return c.showJobForm(w, r, http.StatusOK, f)
}

// showJobForm shows the form with what it needs to be filled in.
func (c *Console) showJobForm(w http.ResponseWriter, r *http.Request, status int, f *jobForm) error {
	totals, err := c.operator.Totals()
	if err != nil {
		return err
	}
	f.MaxSize = totals.MaxJobSize
	err = c.operator.Tubes(r.Context(), func(t *operator.Tube) {
		if len(f.Tubes) < tubesSuggested {
			f.Tubes = append(f.Tubes, t.Name)
		}
	})
	if err != nil {
		return err
	}
	return c.showAs(w, r, status, "put.html", f)
}

func (c *Console) put(w http.ResponseWriter, r *http.Request) error {
	f := readJobForm(r)
	in, ok := f.insertion()
	if !ok {
		return c.showJobForm(w, r, http.StatusUnprocessableEntity, f)
	}
	id, err := c.hand(r).Put(in)
	if err != nil {
		return c.refuseJob(w, r, f, err)
	}
	to := jobURL(id)
	if f.Back != "" {
		to = f.Back
	}
	c.done(w, r, to, "Put job "+strconv.FormatUint(uint64(id), 10)+" into tube "+in.Tube+".")
	return nil
}

// refuseJob shows the form again with why the server does not take the job.
func (c *Console) refuseJob(w http.ResponseWriter, r *http.Request, f *jobForm, err error) error {
	status := http.StatusConflict
	switch {
	case errors.Is(err, queue.ErrTooBig):
		status = http.StatusRequestEntityTooLarge
		f.Faults["body"] = err.Error()
	case errors.Is(err, queue.ErrDraining), errors.Is(err, queue.ErrNoRoom):
		status = http.StatusServiceUnavailable
		f.Faults[""] = sentence(err)
	case errors.Is(err, queue.ErrReserved):
		f.Faults[""] = "A worker has reserved the job in the meantime. To put this in its place you have to take it from the worker: see below."
	case errors.Is(err, queue.ErrNoJob):
		f.Gone = true
		f.Faults[""] = "The job has been deleted in the meantime, so there is nothing to replace. You can put what you have written as a new job."
	default:
		return err
	}
	return c.showJobForm(w, r, status, f)
}
