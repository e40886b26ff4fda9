package docs_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haricotq/haricot/internal/admin"
	"github.com/haricotq/haricot/internal/api"
	"github.com/haricotq/haricot/internal/console"
	"github.com/haricotq/haricot/internal/metrics"
	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/server"
)

const operations = "operations.md"

// TestRunbook: each alert has its section in the runbook, and each section its alert.
func TestRunbook(t *testing.T) {
	rules, err := os.ReadFile("../deploy/prometheus/haricot.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	var alerts, sections []string
	for _, m := range regexp.MustCompile(`(?m)^\s*- alert: (\S+)$`).FindAllStringSubmatch(string(rules), -1) {
		alerts = append(alerts, m[1])
	}
	p := readPage(t, operations)
	for _, heading := range p.order {
		if strings.HasPrefix(heading, "Haricot") {
			sections = append(sections, heading)
		}
	}
	slices.Sort(alerts)
	slices.Sort(sections)
	if diff := cmp.Diff(alerts, sections); diff != "" || len(alerts) == 0 {
		t.Errorf("alerts (-) and sections of the runbook (+):\n%s", diff)
	}
	for _, name := range sections {
		for _, part := range []string{"* Look: ", "* API: ", "* Do: "} {
			if !strings.Contains(p.sections[name], part) {
				t.Errorf("%s has no %q", name, part)
			}
		}
		severity := regexp.MustCompile(`- alert: ` + name + `\n(?s:.*?)severity: ([a-z]+)\n`).FindStringSubmatch(string(rules))
		if len(severity) != 2 || !strings.HasPrefix(strings.ToLower(strings.TrimSpace(p.sections[name])), "*"+severity[1]+".*") {
			t.Errorf("%s does not begin with its severity, %s", name, severity)
		}
	}
	// Annotations may lead to the sections.
	for _, m := range regexp.MustCompile(`operations\.md#([a-z]+)`).FindAllStringSubmatch(string(rules), -1) {
		if !slices.ContainsFunc(sections, func(name string) bool { return strings.EqualFold(name, m[1]) }) {
			t.Errorf("%s leads to no section", m[0])
		}
	}
}

// TestFindings: the page explains everything that a diagnosis may say.
func TestFindings(t *testing.T) {
	var codes []string
	for _, row := range readPage(t, operations).table(t, "Why is this tube stuck", 0) {
		codes = append(codes, strings.Trim(row[0], "`"))
	}
	if diff := cmp.Diff(operator.Findings, codes, sorted); diff != "" {
		t.Errorf("findings (-) and those explained (+):\n%s", diff)
	}
}

var sorted = cmp.Transformer("sorted", func(list []string) []string { return slices.Sorted(slices.Values(list)) })

// TestPictures: the pictures that the page shows are there, no others are, and none is large.
func TestPictures(t *testing.T) {
	const most = 150 << 10
	text, err := os.ReadFile(operations)
	if err != nil {
		t.Fatal(err)
	}
	var shown, there []string
	for _, m := range regexp.MustCompile(`!\[[^]]+\]\(console/([^)]+)\)`).FindAllStringSubmatch(string(text), -1) {
		shown = append(shown, m[1])
	}
	files, err := os.ReadDir("console")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		there = append(there, f.Name())
		if info, err := f.Info(); err != nil || info.Size() > most {
			t.Errorf("%s: %v, or larger than %d bytes", f.Name(), err, most)
		}
	}
	if diff := cmp.Diff(shown, there, sorted); diff != "" {
		t.Errorf("pictures shown (-) and there (+):\n%s", diff)
	}
}

// TestOperationsExamples runs the shell blocks of the page, one after the other, beside the jobs of which it tells.
func TestOperationsExamples(t *testing.T) {
	for _, program := range []string{"curl", "sh", "grep"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatalf("%v; scripts/install has to bring it", err)
			}
			t.Skip(err)
		}
	}
	text, err := os.ReadFile(operations)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```\n(?:```text\n(.*?)```\n)?").FindAllStringSubmatchIndex(string(text), -1)
	if len(blocks) < 10 {
		t.Fatalf("there are %d shell blocks only: they are not found", len(blocks))
	}
	address := openConsole(t)
	for _, b := range blocks {
		line := 1 + bytes.Count(text[:b[2]], []byte("\n"))
		cmd := exec.CommandContext(t.Context(), "sh", "-e")
		cmd.Stdin = bytes.NewReader(text[b[2]:b[3]])
		cmd.Env = append(os.Environ(), "HARICOT="+address, "no_proxy=*")
		var faults bytes.Buffer
		cmd.Stderr = &faults
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("line %d: %v: %s%s", line, err, out, faults.Bytes())
		}
		if b[4] < 0 {
			t.Fatalf("line %d: it is not said what that prints", line)
		}
		if wanted := string(text[b[4]:b[5]]); !asTold(wanted).Match(out) {
			t.Fatalf("line %d: the page has\n%s\nand the server says\n%s", line, wanted, out)
		}
	}
}

// asTold is what an output must be: each line as it stands in the page, where an ellipsis is any text of one line.
func asTold(told string) *regexp.Regexp {
	return regexp.MustCompile(`^` + strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(told)), "…", ".*") + `\s*$`)
}

// openConsole serves all that a server has for operators, beside the jobs that the page tells of, and returns its address.
func openConsole(t *testing.T) string {
	t.Helper()
	silent := slog.New(slog.DiscardHandler)
	srv, err := server.New(server.Config{Observed: true, MaxJobSize: 65535, Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	var listeners [2]net.Listener
	for i := range listeners {
		if listeners[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	if err := srv.Serve(listeners[0]); err != nil {
		t.Fatal(err)
	}
	o := operator.New(srv, silent)
	history := operator.NewHistory(o)
	door := admin.New(admin.Config{Logger: silent})
	door.Serve(listeners[1])
	door.Open(admin.Handlers{
		Metrics: metrics.New(o, metrics.Config{MaxTubes: 100}), API: api.New(o, history, api.Config{}),
		Console: console.New(o, history, console.Config{Token: door.Token()}),
		Ready:   func() error { _, err := o.Totals(); return err },
	})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := srv.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	running.Go(func() { history.Run(ctx) })
	t.Cleanup(func() {
		if err := door.Close(); err != nil {
			t.Error(err)
		}
		cancel()
		running.Wait()
	})
	playScene(t, listeners[0].Addr().String())
	return "http://" + listeners[1].Addr().String()
}

// playScene puts the jobs of which the page tells. The worker of exports stays until the end of the test.
func playScene(t *testing.T, address string) {
	t.Helper()
	var lines, answers strings.Builder
	say := func(answer, format string, args ...any) {
		fmt.Fprintf(&lines, format+"\r\n", args...)
		answers.WriteString(answer + "\r\n")
	}
	id := 0
	put := func(body string) {
		id++
		say(fmt.Sprintf("INSERTED %d", id), "put 1024 0 60 %d\r\n%s", len(body), body)
	}
	reserve := func(body string, job int) {
		say(fmt.Sprintf("RESERVED %d %d\r\n%s", job, len(body), body), "reserve")
	}
	say("USING mail", "use mail")
	for range 3 {
		put("hello")
	}
	say("USING invoices", "use invoices")
	say("WATCHING 2", "watch invoices")
	for i, code := range []string{"card_declined", "card_declined", "customer_unknown"} {
		body := fmt.Sprintf(`{"invoice": %d, "error": {"code": %q}}`, 1000+i, code)
		put(body)
		reserve(body, id)
		say("BURIED", "bury %d 1024", id)
	}
	say("WATCHING 1", "ignore invoices")
	say("USING exports", "use exports")
	for range 3 {
		put("orders")
	}
	say("WATCHING 2", "watch exports")
	say("WATCHING 1", "ignore default")
	reserve("orders", 7)
	say("USING newsletter", "use newsletter")
	put("may")
	say("PAUSED", "pause-tube newsletter 3600")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := conn.Write([]byte(lines.String())); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, answers.Len())
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != answers.String() {
		t.Fatalf("%v, %q; want %q", err, got, answers.String())
	}
}
