package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client calls the API of one server.
type Client struct {
	http *http.Client
	base string // with /api/v1
	// patience is how long the server may take to begin its answer.
	patience time.Duration
}

// New makes a client for an address: http://HOST:PORT, HOST:PORT or unix:PATH. It does not connect yet. patience is how long a call
// may take, a page of jobs or a change to many of them included.
func New(address string, patience time.Duration) (*Client, error) {
	if address == "" {
		return nil, ErrNeeded
	}
	transport := &http.Transport{DisableCompression: true, ResponseHeaderTimeout: patience}
	c := &Client{http: &http.Client{Transport: transport}, patience: patience}
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
		c.base = "http://localhost/api/v1"
		return c, nil
	}
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is %w; give http://HOST:PORT, HOST:PORT or unix:PATH", address, ErrAddress)
	}
	c.base = u.Scheme + "://" + u.Host + strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/api/v1") + "/api/v1"
	return c, nil
}

// Close ends the connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// get asks for something.
func (c *Client) get(ctx context.Context, path string, query url.Values, answer any) error {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return c.call(ctx, http.MethodGet, path, nil, answer)
}

// change changes something, as its parameters say.
func (c *Client) change(ctx context.Context, method, path string, parameters, answer any) error {
	content, err := json.Marshal(parameters)
	if err != nil {
		return fmt.Errorf("apiclient: %w", err)
	}
	return c.call(ctx, method, path, content, answer)
}

// call makes a request and reads its answer, which is nil if there is to be none.
func (c *Client) call(ctx context.Context, method, path string, content []byte, answer any) error {
	response, err := c.request(ctx, method, path, content)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNoContent || answer == nil {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return ErrNoAPI
	}
	if err := json.NewDecoder(response.Body).Decode(answer); err != nil {
		return fmt.Errorf("reading the answer of %s: %w", path, err)
	}
	return nil
}

// request makes a request. What is no success is an error.
func (c *Client) request(ctx context.Context, method, path string, content []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("apiclient: %w", err)
	}
	r.Header.Set("X-Requested-With", "haricot")
	if content != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(r)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err // The rest names method and address once more.
		}
		return nil, fmt.Errorf("the API cannot be reached: %w", err)
	}
	if response.StatusCode < http.StatusMultipleChoices {
		return response, nil
	}
	defer response.Body.Close()
	return nil, problemOf(response)
}

// problemOf reads a refusal.
func problemOf(response *http.Response) error {
	const most = 1 << 20
	text, err := io.ReadAll(io.LimitReader(response.Body, most))
	if err != nil {
		return fmt.Errorf("reading a refusal: %w", err)
	}
	if !strings.Contains(response.Header.Get("Content-Type"), "json") {
		if response.StatusCode == http.StatusNotFound {
			return ErrNoAPI
		}
		return fmt.Errorf("the API answers %s: %.200q", response.Status, text)
	}
	p := &ProblemError{Status: response.StatusCode, Title: response.Status}
	if err := json.Unmarshal(text, p); err != nil {
		return fmt.Errorf("reading a refusal: %w", err)
	}
	return p
}
