package metrics

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// watcher is a running Prometheus server, from Debian's package.
type watcher struct {
	t    *testing.T
	base string
}

// listening finds the address in the log of a Prometheus that was given port 0.
var listening = regexp.MustCompile(`msg="Listening on" address=(\S+)`)

// startPrometheus has one scrape a handler once a second, and evaluate the rules
// in deploy. It is killed, and waited for, at the end of the test.
func startPrometheus(t *testing.T, target string) *watcher {
	t.Helper()
	path, err := exec.LookPath("prometheus")
	if err != nil {
		missing(t, "prometheus is not installed", err)
	}
	rules, err := filepath.Abs(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	text := fmt.Sprintf(`global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs:
  - job_name: haricot
    static_configs: [{targets: [%q]}]
`, rules, target)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(path, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0")
	endWithTest(command)
	log, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	found := make(chan string, 1)
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(found)
		var lines strings.Builder
		for in := bufio.NewScanner(log); in.Scan(); {
			if match := listening.FindStringSubmatch(in.Text()); match != nil {
				select {
				case found <- match[1]:
				default:
				}
			}
			fmt.Fprintln(&lines, in.Text())
		}
		if t.Failed() {
			t.Log(lines.String())
		}
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-read
		_ = command.Wait() // reports the kill
		http.DefaultClient.CloseIdleConnections()
	})
	select {
	case address, ok := <-found:
		if !ok {
			t.Fatal("prometheus ended before it listened")
		}
		return &watcher{t, "http://" + address}
	case <-time.After(patience):
		t.Fatal("prometheus does not listen")
	}
	return nil
}

// get asks the API; the status that it answers with may be an error.
func (p *watcher) get(path string, values url.Values, data any) error {
	response, err := http.Get(p.base + path + "?" + values.Encode())
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("%s: %w: %.200q", response.Status, err, body)
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s", response.Status, answer.Error)
	}
	return nil
}

// ask evaluates an expression; the values are in the order of their labels.
func (p *watcher) ask(expression string) (values []float64, err error) {
	var data struct {
		ResultType string
		Result     []struct {
			Metric map[string]string
			Value  [2]any
		}
	}
	if err := p.get("/api/v1/query", url.Values{"query": {expression}}, &data); err != nil {
		return nil, err
	}
	for _, r := range data.Result {
		text, _ := r.Value[1].(string)
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, nil
}

// until asks until an expression has one value, and that is the one wanted.
func (p *watcher) until(expression string, want float64) {
	p.t.Helper()
	p.wait(expression, func() (string, bool) {
		values, err := p.ask(expression)
		return fmt.Sprintf("%v, %v; want %g", values, err, want), err == nil && len(values) == 1 && values[0] == want
	})
}

// wait asks now and then until something holds.
func (p *watcher) wait(what string, holds func() (got string, ok bool)) {
	p.t.Helper()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for began := time.Now(); ; <-ticker.C {
		got, ok := holds()
		if ok {
			return
		}
		if time.Since(began) > patience {
			p.t.Fatalf("%s: %s", what, got)
		}
	}
}

// TestPrometheus has a real Prometheus scrape a real server, and asks it for
// what has arrived there.
func TestPrometheus(t *testing.T) {
	s := openDurable(t)
	c, worker := s.client(), s.client()
	for i, name := range hostile {
		c.ask("USING", "use %s", name)
		for range i + 1 {
			c.put("INSERTED", 0, "body")
		}
		worker.ask("WATCHING", "watch %s", name)
	}
	web := httptest.NewServer(s.handler)
	t.Cleanup(web.Close)
	p := startPrometheus(t, strings.TrimPrefix(web.URL, "http://"))

	p.until(`up{job="haricot"}`, 1)
	for i, name := range hostile {
		p.until(fmt.Sprintf(`haricot_tube_jobs{state="ready", tube=%q}`, name), float64(i+1))
	}
	p.until(`sum(haricot_tube_puts_total) - on () haricot_puts_total`, 0)
	worker.ask("DELETED", "delete %d", worker.ask("RESERVED", "reserve").ID())
	worker.ask("BURIED", "bury %d 5", worker.ask("RESERVED", "reserve").ID())
	p.until(`haricot_job_run_seconds_count`, 1)
	p.until(`sum(haricot_tube_job_wait_seconds_bucket{le="+Inf"})`, 2)
	p.until(`haricot_jobs{state="buried"}`, 1)
	p.until(`haricot_commands_total{command="delete"}`, 1)
	p.until(`count by (__name__) (haricot_commit_duration_seconds_bucket{le="+Inf"})`, 1)
	p.until(`haricot_disk_free_bytes <= bool haricot_disk_total_bytes`, 1)
	p.until(`count(haricot_tube_jobs{tube="default", state="ready"})`, 1)
	// A tube is gone with its last job and client, and so are its series.
	c.ask("USING", "use brief")
	p.until(`count(haricot_tube_jobs{tube="brief"})`, 4)
	c.ask("USING", "use default")
	p.wait("the end of a tube", func() (string, bool) {
		values, err := p.ask(`{tube="brief"}`)
		return fmt.Sprint(values, err), err == nil && len(values) == 0
	})
	p.metadata(s)
	p.dashboard()
	p.alert(s)
}

// metadata compares types and texts with those that were sent.
func (p *watcher) metadata(s *site) {
	var metadata map[string][]struct{ Type, Help string }
	p.wait("metadata", func() (string, bool) {
		err := p.get("/api/v1/metadata", nil, &metadata)
		return fmt.Sprint(err), err == nil && len(metadata) > 20
	})
	for _, match := range regexp.MustCompile(`(?m)^# TYPE (haricot_\S+) (\S+)$`).FindAllStringSubmatch(s.text(), -1) {
		name := match[1]
		got := metadata[name]
		if got == nil { // OpenMetrics has counters without their ending
			got = metadata[strings.TrimSuffix(name, "_total")]
		}
		if len(got) != 1 || got[0].Type != match[2] || got[0].Help == "" {
			p.t.Errorf("%s arrived as %v, want a %s", name, got, match[2])
		}
	}
}

// dashboard asks each query of the dashboard. All must be understood, and all
// but those that look for what this server does not have must find something.
func (p *watcher) dashboard() {
	_, queries := readDashboard(p.t)
	p.until("count_over_time(up[1m]) > bool 3", 1) // so that there are rates
	for _, q := range queries {
		values, err := p.ask(q.expr)
		if err != nil {
			p.t.Errorf("%s: %v\n%s", q.panel, err, q.expr)
		}
		if len(values) == 0 && !strings.HasSuffix(q.expr, " > 0") {
			p.t.Errorf("%s: the query finds nothing: %s", q.panel, q.expr)
		}
	}
}

// alert stops the server and waits for the rule that has to see it.
func (p *watcher) alert(s *site) {
	s.stop()
	p.until(`up{job="haricot"}`, 0)
	p.wait("the alert", func() (string, bool) {
		values, err := p.ask(`ALERTS{alertname="HaricotDown", severity="critical"}`)
		return fmt.Sprint(values, err), err == nil && len(values) == 1
	})
}
