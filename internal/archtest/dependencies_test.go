package archtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// decisions is where every module we depend on has a section of its own: why, weight, who keeps it, how to leave it.
const decisions = "docs/adr/0002-dependencies.md"

// testsOnly ends the heading of a module that must never reach the program.
const testsOnly = "(tests only)"

// entrances are the packages from which the shipped program is built.
const entrances = "cmd/..."

// forTests are the packages of ours that only tests import.
var forTests = []string{"conformance/...", "internal/archtest", "internal/load/compare", "internal/memnet"}

// TestDependencies holds go.mod and the decisions about it to each other, and keeps what is for tests out of the program.
func TestDependencies(t *testing.T) {
	sources := readTree(t)
	used := usedModules(requirements(readRepositoryFile(t, "go.mod")), sources)
	explained := explanations(readRepositoryFile(t, decisions))
	report(t, unexplained(used, explained))

	for _, dir := range reachable(actualGraph(sources)) {
		if matchesAny(forTests, dir) {
			t.Errorf("%s is for tests, but the program imports it; ARCHITECTURE.md shows by which way", dir)
		}
		for _, s := range sources {
			if s.dir() == dir && !s.isTest() {
				report(t, strayImports(s, explained))
			}
		}
	}
}

// requirements lists the modules of go.mod.
func requirements(goMod string) []string {
	var required []string
	for line := range strings.Lines(goMod) {
		fields := strings.Fields(strings.TrimPrefix(line, "require "))
		if len(fields) >= 2 && strings.HasPrefix(fields[1], "v") && strings.Contains(fields[0], ".") {
			required = append(required, fields[0])
		}
	}
	return required
}

// usedModules tells which of the modules our own code imports, tests included; the others came with them.
func usedModules(required []string, sources []*source) map[string]bool {
	used := make(map[string]bool)
	for _, s := range sources {
		for _, imported := range s.imports {
			for _, module := range required {
				if matchesAny([]string{module + "/..."}, imported) {
					used[module] = true
				}
			}
		}
	}
	return used
}

// explanations lists the modules that have a section of at least a sentence, with true for those marked for tests only.
func explanations(document string) map[string]bool {
	explained := make(map[string]bool)
	for section := range strings.SplitSeq(document, "\n## ") {
		heading, text, _ := strings.Cut(section, "\n")
		module, mark, _ := strings.Cut(strings.TrimPrefix(heading, "`"), "`")
		if strings.Contains(module, "/") && len(strings.Fields(text)) > 10 {
			explained[module] = strings.TrimSpace(mark) == testsOnly
		}
	}
	return explained
}

func unexplained(used, explained map[string]bool) []string {
	var faults []string
	for module := range used {
		if _, ok := explained[module]; !ok {
			faults = append(faults, fmt.Sprintf("go.mod: %s has no section in %s; write why it is needed, what it weighs, who keeps "+
				"it and how to leave it, or do without it", module, decisions))
		}
	}
	for module := range explained {
		if !used[module] {
			faults = append(faults, fmt.Sprintf("%s: our code does not import %s; remove its section, and the module from go.mod "+
				"if nothing else needs it", decisions, module))
		}
	}
	return faults
}

// reachable lists the packages of ours that the program is made of.
func reachable(g graph) []string {
	var seen []string
	var visit func(dir string)
	visit = func(dir string) {
		if slices.Contains(seen, dir) {
			return
		}
		seen = append(seen, dir)
		for _, next := range g[dir] {
			visit(next)
		}
	}
	for dir := range g {
		if matchesAny([]string{entrances}, dir) {
			visit(dir)
		}
	}
	return seen
}

// strayImports says which imports of a file of the program belong to tests only.
func strayImports(s *source, explained map[string]bool) []string {
	var faults []string
	for _, imported := range s.imports {
		for module, forTests := range explained {
			if forTests && matchesAny([]string{module + "/..."}, imported) {
				faults = append(faults, fmt.Sprintf("%s imports %s, which %s keeps to tests; the program is built from this file",
					s.path, imported, decisions))
			}
		}
		if imported == "testing" || strings.HasPrefix(imported, "testing/") {
			faults = append(faults, fmt.Sprintf("%s imports %s; the program is built from this file", s.path, imported))
		}
	}
	return faults
}

func TestDependencyRulesBite(t *testing.T) {
	required := requirements("module example.org/m\n\ngo 1.26.0\n\nrequire example.org/single v1.0.0\nrequire (\n" +
		"\texample.org/short v1.0.0\n\texample.org/other v0.0.1 // indirect\n)\n")
	if want := []string{"example.org/single", "example.org/short", "example.org/other"}; !slices.Equal(required, want) {
		t.Fatalf("requirements = %q, want %q", required, want)
	}
	imports := "package queue\n\nimport (\n\t\"testing\"\n\t\"example.org/single\"\n\t\"example.org/short/below\"\n\t\"example.org/gone\"\n)\n"
	s := parse(t, "internal/queue/job.go", []byte(imports))
	explained := explanations("# Title\n\n## `example.org/single`\n\nA sentence of enough words to be taken for an explanation of it.\n" +
		"\n## `example.org/gone` (tests only)\n\nA sentence of enough words to be taken for an explanation of it.\n" +
		"\n## `example.org/short`\n\nToo short.\n")
	got := unexplained(usedModules(required, []*source{s}), explained)
	slices.Sort(got)
	if len(got) != 2 || !strings.Contains(got[0], "not import example.org/gone") || !strings.Contains(got[1], "example.org/short has no section") {
		t.Errorf("unexplained = %q, want one fault for gone and one for short", got)
	}
	if got := strayImports(s, explained); len(got) != 2 {
		t.Errorf("strayImports = %q, want one fault for testing and one for gone", got)
	}
	got = reachable(graph{"cmd/p": {"a"}, "a": {"b"}, "b": nil, "c": {"a"}})
	if slices.Sort(got); !slices.Equal(got, []string{"a", "b", "cmd/p"}) {
		t.Errorf("reachable = %q, want a, b and cmd/p", got)
	}
}
