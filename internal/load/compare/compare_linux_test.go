package main

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/haricotq/haricot/internal/load"
)

// TestSmoke runs every row as small as it can be. It looks at whether figures come out, not at what they are; wrong replies fail it.
func TestSmoke(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds haricot and starts a hundred servers")
	}
	reference, err := exec.LookPath("beanstalkd")
	if err != nil && os.Getenv("HARICOT_REQUIRE_REFERENCE") != "" {
		t.Fatal(err)
	}
	haricot := filepath.Join(t.TempDir(), "haricot")
	if out, err := exec.Command("go", "build", "-o", haricot, "../../../cmd/haricot").CombinedOutput(); err != nil {
		t.Fatalf("building haricot: %v\n%s", err, out)
	}
	if reference == "" {
		t.Log("the reference is not installed: haricot takes its place too")
		reference = haricot
	}
	for _, r := range rows() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			c := &comparison{ours: haricot, theirs: reference, dir: t.TempDir(), rounds: 1}
			r := smallest.apply(r)
			results, err := c.row(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if r.alone != (len(results[1]) == 0) {
				t.Errorf("results of the reference: %d", len(results[1]))
			}
			for _, g := range r.goals {
				if v := g.metric.Median(results[0]); counts(g.metric.Name) && !(v > 0) {
					t.Errorf("%s: %v", g.metric.Name, v)
				}
			}
		})
	}
}

// counts tells whether a figure is more than nothing however small the row.
func counts(figure string) bool {
	switch figure {
	case load.Each.Name, load.Busy.Name:
		return false // a few jobs may fit into what the server had before, and an idle server may do nothing
	default:
		return true
	}
}

func TestRows(t *testing.T) {
	seen := make(map[string]bool)
	for _, r := range rows() {
		if seen[r.name] {
			t.Errorf("two rows are called %q", r.name)
		}
		seen[r.name] = true
		if _, err := load.Find(r.workload); err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
		if len(r.goals) == 0 {
			t.Errorf("%s has no goals", r.name)
		}
		for _, g := range r.goals {
			if g.floor != 0 && g.aim != 0 && (g.aim < g.floor) == g.metric.Higher && g.aim != g.floor {
				t.Errorf("%s, %s: the aim %v is easier than the floor %v", r.name, g.metric.Name, g.aim, g.floor)
			}
		}
	}
}

func TestMark(t *testing.T) {
	tests := []struct {
		goal goal
		v    float64
		want string
	}{
		{ops(1.4, 1.5), 1.5, "aim"},
		{ops(1.4, 1.5), 1.4, "floor"},
		{ops(1.4, 1.5), 1.39, "BELOW"},
		{cpu(0.7, 0.6), 0.6, "aim"},
		{cpu(0.7, 0.6), 0.65, "floor"},
		{cpu(0.7, 0.6), 0.71, "BELOW"},
		{cpu(0.7, 0), 0.1, "floor"},
		{p99(0.9), 0.9, "aim"},
		{p99(0.9), 1, "short"},
		{ops(1, 2), math.NaN(), ""},
		{ops(0, 0), 3, ""},
	}
	for _, test := range tests {
		if got := test.goal.mark(test.v); got != test.want {
			t.Errorf("%s, floor %v, aim %v: %v is marked %q, want %q",
				test.goal.metric.Name, test.goal.floor, test.goal.aim, test.v, got, test.want)
		}
	}
}

func TestTable(t *testing.T) {
	var out strings.Builder
	table := &table{out: &out}
	table.head()
	result := func(took float64) []load.Result { return []load.Result{{Took: 1, Each: took}} }
	table.row(row{name: "a row", goals: []goal{
		{metric: load.Each, floor: 0.5, aim: 0.2},
		{metric: load.Each, floor: 3, absolute: true},
	}}, [2][]load.Result{result(4), result(10)})
	got := regexp.MustCompile(` +`).ReplaceAllString(out.String(), " ")
	for _, want := range []string{
		"| a row | resident B each | 4.00 | 10.0 | 0.400 | 0.500 | 0.200 | floor |",
		"| | resident B each | 4.00 | 10.0 | - | =3.00 | | BELOW |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the table lacks %q:\n%s", want, got)
		}
	}
}

func TestCommandLine(t *testing.T) {
	for _, args := range [][]string{{}, {"one"}, {"-only", "(", "a", "b"}, {"/no/such/program", "/no/such/program"}, {"-nothing", "a", "b"}} {
		if err := run(args, new(strings.Builder), new(strings.Builder)); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
}
