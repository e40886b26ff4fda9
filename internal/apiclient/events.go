package apiclient

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Sample is a tube at a moment, and what happens there in a second. Raw is all that the API says.
type Sample struct {
	At   time.Time `json:"at"`
	Tube *struct {
		TubeCounts
		Waiting int   `json:"waiting"`
		Rates   Rates `json:"rates"`
	} `json:"tube"`

	Raw json.RawMessage `json:"-"`
}

// Rates are how often something happens in a second.
type Rates struct {
	Puts     float64 `json:"puts"`
	Reserves float64 `json:"reserves"`
	Deletes  float64 `json:"deletes"`
	Releases float64 `json:"releases"`
	Buries   float64 `json:"buries"`
	Kicks    float64 `json:"kicks"`
	Timeouts float64 `json:"timeouts"`
}

// longestEvent bounds a line of the stream.
const longestEvent = 1 << 20

// Watch calls visit with a sample each second, until the context ends, the server stops, or visit returns an error. The end of the
// context is no error.
func (c *Client) Watch(ctx context.Context, tube string, visit func(*Sample) error) error {
	response, err := c.request(ctx, http.MethodGet, "/events?tube="+url.QueryEscape(tube), nil)
	if err != nil {
		return ended(ctx, err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, longestEvent)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		s := &Sample{Raw: json.RawMessage(data)}
		if err := json.Unmarshal(s.Raw, s); err != nil {
			return fmt.Errorf("reading an event: %w", err)
		}
		if err := visit(s); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return ended(ctx, fmt.Errorf("reading events: %w", err))
	}
	return ended(ctx, errors.New("the server has ended the stream of events"))
}

// ended is nil if the context has ended, whatever came of that.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // it was to end
	}
	return err
}
