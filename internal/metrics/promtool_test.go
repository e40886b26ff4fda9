package metrics

import (
	"os/exec"
	"strings"
	"testing"
)

// promtool runs Debian's promtool, from the package prometheus.
func promtool(t *testing.T, input string, args ...string) (output string, err error) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		missing(t, "promtool is not installed", err)
	}
	command := exec.CommandContext(t.Context(), path, args...)
	command.Stdin = strings.NewReader(input)
	combined, err := command.CombinedOutput()
	return string(combined), err
}

// TestLint has promtool look at names, units and texts. It says nothing if it
// finds nothing.
func TestLint(t *testing.T) {
	s := openDurable(t)
	c := s.client()
	c.put("INSERTED", 0, "x")
	c.ask("DELETED", "delete %d", c.ask("RESERVED", "reserve").ID())
	text := s.text()
	if output, err := promtool(t, text, "check", "metrics"); err != nil || output != "" {
		t.Errorf("promtool check metrics: %v\n%s", err, output)
	}
	spoiled := text + "# TYPE haricot_bad_milliseconds counter\nharicot_bad_milliseconds 1\n"
	if output, err := promtool(t, spoiled, "check", "metrics"); err == nil || !strings.Contains(output, "haricot_bad_milliseconds") {
		t.Errorf("promtool check metrics finds nothing where something is: %v\n%s", err, output)
	}
}

const (
	rulesFile  = "../../deploy/prometheus/haricot.rules.yml"
	rulesTests = "../../deploy/prometheus/haricot.rules.test.yml"
	configFile = "../../deploy/prometheus/prometheus.yml"
)

// TestRules has promtool read the rules and the example configuration, and run
// the rules' own tests.
func TestRules(t *testing.T) {
	for _, args := range [][]string{
		{"check", "rules", rulesFile}, {"test", "rules", rulesTests}, {"check", "config", configFile},
	} {
		output, err := promtool(t, "", args...)
		if err != nil || strings.Contains(output, "FAILED") || !strings.Contains(output, "SUCCESS") {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, output)
		}
	}
}
