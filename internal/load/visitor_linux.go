package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// visitor asks a server over HTTP, as an operator does, one request after another. It reads answers to their end but keeps none
// that is large, so that it takes little of the machine beside the load.
type visitor struct {
	ctx    context.Context
	giveUp context.CancelFunc
	base   string
	client http.Client
	buffer []byte
}

func visit(ctx context.Context, address string) *visitor {
	ctx, cancel := context.WithCancel(ctx)
	return &visitor{
		ctx: ctx, giveUp: cancel, base: "http://" + address, buffer: make([]byte, 64<<10),
		// A transport of its own, whose connections end with it.
		client: http.Client{Transport: &http.Transport{}},
	}
}

// leave ends what is under way, and closes the connections.
func (v *visitor) leave() {
	v.giveUp()
	v.client.CloseIdleConnections()
}

// ready tells whether the server is.
func (v *visitor) ready() error {
	defer v.leave()
	return v.look("/readyz", 0)
}

// look fetches something of at least so many bytes and drops it. As browsers and Prometheus do it takes it compressed; it does not
// unpack it.
func (v *visitor) look(path string, least int64) error {
	header := http.Header{"Accept-Encoding": {"gzip"}}
	return v.ask(http.MethodGet, path, "", header, func(body io.Reader) error {
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, body, v.buffer)
		if err == nil && n < least {
			err = fmt.Errorf("%w: %d bytes, which is too few", ErrReply, n)
		}
		return err
	})
}

// call has the API do something and reads the JSON that it answers.
func (v *visitor) call(method, path, content string, answer any) error {
	header := http.Header{"Content-Type": {"application/json"}, "X-Requested-With": {"haricot-bench"}}
	return v.ask(method, path, content, header, func(body io.Reader) error { return json.NewDecoder(body).Decode(answer) })
}

// search looks for a text in all bodies, on to the end of all jobs, and tells how many have it.
func (v *visitor) search(text string) (found int, err error) {
	query := url.Values{"q": {text}}
	for {
		var answer struct {
			Jobs []struct{} `json:"jobs"`
			Next string     `json:"next"`
		}
		if err := v.call(http.MethodGet, "/api/v1/jobs?"+query.Encode(), "", &answer); err != nil {
			return 0, err
		}
		found += len(answer.Jobs)
		if answer.Next == "" {
			return found, nil
		}
		query.Set("cursor", answer.Next)
	}
}

// clear deletes all ready jobs of a tube and tells how many there were.
func (v *visitor) clear(tube string) (done int, err error) {
	var answer struct {
		Done int `json:"done"`
	}
	content := fmt.Sprintf(`{"query":{"tube":%q,"state":"ready"},"action":"delete"}`, tube)
	err = v.call(http.MethodPost, "/api/v1/jobs/bulk", content, &answer)
	return answer.Done, err
}

func (v *visitor) ask(method, path, content string, header http.Header, read func(io.Reader) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("load: %s %s: %w", method, path, err)
		}
	}()
	r, err := http.NewRequestWithContext(v.ctx, method, v.base+path, strings.NewReader(content))
	if err != nil {
		return err
	}
	r.Header = header
	answer, err := v.client.Do(r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 300)) // it only explains
		return fmt.Errorf("%w: %s: %s", ErrReply, answer.Status, text)
	}
	return read(answer.Body)
}
