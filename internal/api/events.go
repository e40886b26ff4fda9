package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/queue"
)

// sample is the server at a moment, with what has happened since the sample
// before.
type sample struct {
	At             time.Time   `json:"at"`
	Jobs           jobCounts   `json:"jobs"`
	OldestReadyAge seconds     `json:"oldest_ready_age"`
	Rates          rates       `json:"rates"`
	Busy           float64     `json:"busy"`
	Connections    uint64      `json:"connections"`
	Workers        uint64      `json:"workers"`
	Waiting        uint64      `json:"waiting"`
	Memory         int64       `json:"memory"`
	Tube           *tubeSample `json:"tube,omitempty"`
}

// tubeSample is a tube at the moment of a sample.
type tubeSample struct {
	*tube
	Rates rates `json:"rates"`
}

// rates says how often what happens in a second.
type rates struct {
	Puts     float64 `json:"puts"`
	Reserves float64 `json:"reserves"`
	Deletes  float64 `json:"deletes"`
	Releases float64 `json:"releases"`
	Buries   float64 `json:"buries"`
	Kicks    float64 `json:"kicks"`
	Timeouts float64 `json:"timeouts"`
}

func ratesOf(before, after *queue.Counts, passed time.Duration) rates {
	rate := func(e queue.Event) float64 {
		if passed <= 0 || after[e] < before[e] {
			return 0
		}
		return float64(inSeconds(time.Duration(float64(after[e]-before[e]) / passed.Seconds() * float64(time.Second))))
	}
	return rates{
		rate(queue.Puts), rate(queue.Reserves), rate(queue.Deletes), rate(queue.Releases), rate(queue.Buries), rate(queue.Kicks),
		rate(queue.Timeouts),
	}
}

const (
	// heartbeat is after how long of silence a stream says that it is still there.
	heartbeat = 10 * time.Second
	// sendPatience is how long a client may take to receive an event.
	sendPatience = 20 * time.Second
)

// stream sends samples to a client.
type stream struct {
	api    *api
	w      http.ResponseWriter
	out    *http.ResponseController
	before *operator.Sample
	tube   string
	// seen is the tube as it was at the sample before, nil if it was not there.
	seen *operator.Tube
}

// events sends a sample each second, until the client goes or the server stops.
func (a *api) events(c *call) (any, error) {
	s := &stream{api: a, w: c.w, out: http.NewResponseController(c.w), tube: c.tubeOf("tube")}
	if err := c.check(); err != nil {
		return nil, err
	}
	samples, stop := a.history.Watch()
	defer stop()
	if _, err := a.operator.Totals(); err != nil { // it may have stopped
		return nil, err
	}
	if list := a.history.Samples(); len(list) > 0 {
		s.before = &list[len(list)-1]
	}
	if _, _, err := s.look(); err != nil {
		return nil, err
	}
	c.w.Header().Set("Content-Type", "text/event-stream")
	c.w.WriteHeader(http.StatusOK)
	err := s.send("retry: 2000\n\n")
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for err == nil {
		select {
		case <-c.r.Context().Done():
			return streamed{}, nil
		case next := <-samples:
			ticker.Reset(heartbeat)
			err = s.sample(&next)
		case <-ticker.C: // no samples come any more: is there still a server?
			if _, err = a.operator.Totals(); err == nil {
				err = s.send(": still here\n\n")
			}
		}
	}
	return streamed{}, nil // the client has gone, or the server has stopped
}

// look notes how the tube is, and returns it.
func (s *stream) look() (before, now *operator.Tube, err error) {
	if s.tube == "" {
		return nil, nil, nil
	}
	t, err := s.api.operator.Tube(s.tube)
	before = s.seen
	switch {
	case err == nil:
		s.seen = &t
	case errors.Is(err, queue.ErrNoTube):
		s.seen, err = nil, nil
	}
	return before, s.seen, err
}

// sample sends a sample.
func (s *stream) sample(next *operator.Sample) error {
	answer := sample{
		At: next.At.UTC(), Jobs: jobCountsOf(&next.Jobs), OldestReadyAge: inSeconds(next.Oldest), Busy: next.Busy,
		Connections: next.Connections, Workers: next.Workers, Waiting: next.Waiting, Memory: next.Memory,
	}
	if s.before != nil {
		answer.Rates = ratesOf(&s.before.Done, &next.Done, next.At.Sub(s.before.At))
	}
	s.before = next
	before, now, err := s.look()
	if err != nil {
		return err
	}
	if now != nil {
		answer.Tube = &tubeSample{tube: tubeOf(now)}
		if before != nil {
			answer.Tube.Rates = ratesOf(&before.Done, &now.Done, time.Duration(now.Now-before.Now))
		}
	}
	var text bytes.Buffer
	text.WriteString("event: sample\ndata: ")
	if err := json.NewEncoder(&text).Encode(answer); err != nil {
		return err
	}
	text.WriteByte('\n')
	return s.send(text.String())
}

// send sends a piece of the stream at once.
func (s *stream) send(text string) error {
	_ = s.out.SetWriteDeadline(time.Now().Add(sendPatience)) // without it the connection may hang, no more
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.out.Flush()
}
