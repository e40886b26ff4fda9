package metrics

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	haricot "github.com/haricotq/haricot/internal/server"
)

const (
	dashboardFile = "../../deploy/grafana/haricot.json"
	document      = "../../docs/metrics.md"
)

// metricName finds names of metrics in whatever text.
var metricName = regexp.MustCompile(`\b(?:haricot|process|go)_[a-z0-9_]+\b`)

// exported are the families of a server that has all that there is, by name,
// each with its type.
func exported(t *testing.T) (types map[string]string, text string) {
	t.Helper()
	s := openDurable(t)
	c := s.client()
	c.put("INSERTED", 0, "x")
	c.ask("DELETED", "delete %d", c.ask("RESERVED", "reserve").ID())
	text = s.text()
	types = map[string]string{}
	for _, match := range regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`).FindAllStringSubmatch(text, -1) {
		types[match[1]] = match[2]
	}
	return types, text
}

// TestNames holds rules, their tests, the dashboard and the documentation to the
// names that exist.
func TestNames(t *testing.T) {
	types, _ := exported(t)
	for file, least := range map[string]int{rulesFile: 10, rulesTests: 10, dashboardFile: 50, document: 50} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		names := metricName.FindAllString(string(text), -1)
		slices.Sort(names)
		names = slices.Compact(names)
		for _, name := range names {
			if !exists(types, name) {
				t.Errorf("%s names %s, which is not exported", file, name)
			}
		}
		if len(names) < least {
			t.Errorf("%s has only %d names", file, len(names))
		}
	}
}

// exists tells whether a name is that of a family or of a series of one.
func exists(types map[string]string, name string) bool {
	if _, ok := types[name]; ok {
		return true
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		family, ok := strings.CutSuffix(name, suffix)
		if kind := types[family]; ok && (kind == "histogram" || kind == "summary" && suffix != "_bucket") {
			return true
		}
	}
	return false
}

// described is a row of a table in the documentation.
var described = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([a-z]+) \\| ([^|]*) \\| ([^|]+) \\|$")

// TestDocumented holds the table of metrics to what is exported: names, types
// and labels.
func TestDocumented(t *testing.T) {
	types, text := exported(t)
	page, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for _, row := range described.FindAllStringSubmatch(string(page), -1) {
		name, kind, labels := row[1], row[2], row[3]
		if rows[name] {
			t.Errorf("%s is described twice", name)
		}
		rows[name] = true
		if types[name] != kind {
			t.Errorf("%s is a %q, and described as a %s", name, types[name], kind)
		}
		if want := labelsOf(text, name); want != strings.ReplaceAll(labels, "`", "") {
			t.Errorf("%s has the labels %q, and is described with %s", name, want, labels)
		}
	}
	for name := range types {
		if strings.HasPrefix(name, "haricot_") && !rows[name] {
			t.Errorf("%s is not described in %s", name, document)
		}
	}
}

// labelsOf are the labels of a metric's series, le apart, in order.
func labelsOf(text, family string) string {
	series := regexp.MustCompile(`(?m)^` + family + `(?:_bucket|_sum|_count)?(?:\{(.*)\})? \S+$`).FindStringSubmatch(text)
	if series == nil {
		return "no series"
	}
	var labels []string
	for _, match := range regexp.MustCompile(`([a-z]+)="`).FindAllStringSubmatch(series[1], -1) {
		if match[1] != "le" {
			labels = append(labels, match[1])
		}
	}
	slices.Sort(labels)
	return strings.Join(labels, ", ")
}

// TestStatsDocumented holds the table of what became of stats to the keys that
// stats has.
func TestStatsDocumented(t *testing.T) {
	s := open(t, haricot.Config{}, Config{})
	stats := string(s.client().ask("OK", "stats").Data)
	page, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## What became of stats\n")
	for _, match := range regexp.MustCompile(`(?m)^([a-z-]+): `).FindAllStringSubmatch(stats, -1) {
		key := match[1]
		if strings.HasPrefix(key, "cmd-") {
			key = "cmd-…"
		}
		if !strings.Contains(section, "| `"+key+"` |") {
			t.Errorf("%s does not tell what became of %s", document, key)
		}
	}
}

// TestEveryRuleIsTested looks for an alert of each rule in the rules' tests.
func TestEveryRuleIsTested(t *testing.T) {
	rules, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile(rulesTests)
	if err != nil {
		t.Fatal(err)
	}
	alerts := regexp.MustCompile(`(?m)^ +- alert: (\w+)$`).FindAllStringSubmatch(string(rules), -1)
	if len(alerts) < 10 {
		t.Errorf("there are only %d rules", len(alerts))
	}
	for _, alert := range alerts {
		raised := regexp.MustCompile(`alertname: ` + alert[1] + `\n +exp_alerts:\n +- exp_labels:`)
		if !raised.Match(tests) {
			t.Errorf("no test raises %s", alert[1])
		}
	}
}

// query is an expression of the dashboard.
type query struct{ panel, expr string }

// dashboard is what of the dashboard's file this package looks at.
type dashboard struct {
	Panels []struct {
		ID                       int
		Title, Type, Description string
		GridPos                  struct{ H, W, X, Y int }
		FieldConfig              struct {
			Defaults struct{ Unit string }
		}
		Targets []struct{ Expr, RefID string }
	}
	Templating struct {
		List []struct{ Name, Type string }
	}
}

func readDashboard(t *testing.T) (d dashboard, queries []query) {
	t.Helper()
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatalf("%s: %v", dashboardFile, err)
	}
	// What Grafana puts in place of its variables.
	variables := strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*", "$tube", ".*")
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			queries = append(queries, query{p.Title, variables.Replace(target.Expr)})
		}
	}
	return d, queries
}

// TestDashboard looks at the form of the dashboard: what a person would see at
// once if it were opened.
func TestDashboard(t *testing.T) {
	d, queries := readDashboard(t)
	var rows, variables []string
	ids := map[int]bool{}
	taken := map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("%s has the id of another panel", p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s lies over %q at %d, %d", p.Title, other, x, y)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			rows = append(rows, p.Title)
			continue
		}
		if p.Title == "" || len(p.Description) < 20 || len(p.Targets) == 0 {
			t.Errorf("panel %d, %q, lacks a title, a description or a query", p.ID, p.Title)
		}
		if p.Type != "table" && p.Type != "heatmap" && p.FieldConfig.Defaults.Unit == "" {
			t.Errorf("%s has no unit", p.Title)
		}
	}
	for _, v := range d.Templating.List {
		variables = append(variables, v.Name+" "+v.Type)
	}
	if got, want := strings.Join(rows, ", "), "Overview, Tubes, Latency, Durability, Resources"; got != want {
		t.Errorf("the rows are %s, want %s", got, want)
	}
	if got, want := strings.Join(variables, ", "), "datasource datasource, instance query, tube query"; got != want {
		t.Errorf("the variables are %s, want %s", got, want)
	}
	if len(queries) < 50 {
		t.Errorf("there are only %d queries", len(queries))
	}
	text, _ := os.ReadFile(dashboardFile)
	// Each metric that is exported can be seen somewhere.
	types, _ := exported(t)
	for name := range types {
		if strings.HasPrefix(name, "haricot_") && !strings.Contains(string(text), name) {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
}
