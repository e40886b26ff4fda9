package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/haricotq/haricot/internal/operator"
)

// page asks for a page by way of a unix socket.
func page(t *testing.T, socket, method, path string, headers ...string) (status int, text string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}
	r, err := http.NewRequestWithContext(t.Context(), method, "http://haricot"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// TestHTTP: one process answers clients and operators, and both see the same jobs.
func TestHTTP(t *testing.T) {
	dir := t.TempDir()
	data, web := filepath.Join(dir, "data"), filepath.Join(dir, "web")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	d := serve(t, command("-l", "unix:"+filepath.Join(dir, "s"), "-b", data, "--http", "unix:"+web, "--http", "127.0.0.1:0"), 1)
	const header, value = "X-Requested-With", "test"
	expect := func(method, path string, status int, parts ...string) {
		t.Helper()
		got, text := page(t, web, method, path, header, value)
		if got != status {
			t.Errorf("%s %s: %d %s, want %d", method, path, got, text, status)
		}
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("%s %s lacks %q: %s", method, path, part, text)
			}
		}
	}
	c := dial(t, d.addrs[0])
	if got := c.ask("put 7 0 60 5\r\nhello"); got != "INSERTED 1" {
		t.Fatalf("put: %q", got)
	}
	expect("GET", "/readyz", 200, "ready")
	expect("GET", "/api/v1/tubes/default/jobs", 200, `"body":"hello"`)
	expect("GET", "/metrics", 200, `haricot_tube_jobs{state="ready",tube="default"} 1`, "haricot_sync_duration_seconds_count", "haricot_disk_free_bytes")
	expect("GET", "/", 200, "<!doctype html>")
	if name := operator.ProcessName(os.Getpid()); name != "" { // the system tells who is at the other end
		expect("GET", "/api/v1/connections", 200, `"name":"`+name+`"`)
	}
	expect("POST", "/api/v1/jobs/1/bury", 204)
	if got := c.ask("peek-buried"); got != "FOUND 1 5" {
		t.Errorf("peek-buried: %q", got)
	}
	if change := d.event("operator: bury", 0); !strings.Contains(change.String("by"), "uid ") {
		t.Errorf("the log says of the change: %v", change)
	}
	expect("GET", "/debug/pprof/", 404)

	// Draining is not being ready; stopping ends both.
	if err := d.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	d.event("draining", 0)
	expect("GET", "/healthz", 200, "ok")
	for {
		if status, text := page(t, web, "GET", "/readyz"); status == 503 && strings.Contains(text, "draining") {
			break
		}
	}
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-d.ended
	if code := d.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	if _, err := os.Stat(web); err == nil {
		t.Error("the socket for HTTP stays behind")
	}
}

// TestHTTPReadOnly: what is asked by HTTP changes nothing, and profiles are there if they are wanted.
func TestHTTPReadOnly(t *testing.T) {
	dir := t.TempDir()
	web := filepath.Join(dir, "web")
	d := serve(t, command("-l", "unix:"+filepath.Join(dir, "s"), "--http", "unix:"+web, "--http-read-only", "--http-pprof"), 1)
	c := dial(t, d.addrs[0])
	if got := c.ask("put 7 0 60 5\r\nhello"); got != "INSERTED 1" {
		t.Fatalf("put: %q", got)
	}
	if status, text := page(t, web, "DELETE", "/api/v1/jobs/1", "X-Requested-With", "x"); status != 403 || !strings.Contains(text, "read-only") {
		t.Errorf("a delete: %d %s", status, text)
	}
	if status, text := page(t, web, "GET", "/debug/pprof/"); status != 200 || !strings.Contains(text, "goroutine") {
		t.Errorf("the profiles: %d %s", status, text)
	}
	if got := c.ask("peek 1"); got != "FOUND 1 5" {
		t.Errorf("peek: %q", got)
	}
}
