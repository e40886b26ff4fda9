package archtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// graph says for each package of ours which packages of ours it imports. Directories stand for import paths.
type graph map[string][]string

// TestImportGraph holds the imports between our packages to the block in ARCHITECTURE.md, both ways: what is imported
// must be allowed, and what is allowed must be imported, or the picture is out of date.
func TestImportGraph(t *testing.T) {
	allowed, faults := parseGraph(readRepositoryFile(t, "ARCHITECTURE.md"))
	report(t, faults)
	report(t, compareGraphs(allowed, actualGraph(readTree(t))))
}

// actualGraph reads the graph from the sources. Tests may import what they like: only what is built counts.
func actualGraph(sources []*source) graph {
	edges := make(map[string]map[string]bool)
	for _, s := range sources {
		if s.isTest() {
			continue
		}
		if edges[s.dir()] == nil {
			edges[s.dir()] = make(map[string]bool)
		}
		for _, imported := range s.imports {
			if dir, ok := ours(imported); ok {
				edges[s.dir()][dir] = true
			}
		}
	}
	g := make(graph)
	for from, to := range edges {
		g[from] = slices.Sorted(maps.Keys(to))
	}
	return g
}

// parseGraph reads the block fenced as "imports". A line is a package, an arrow, and the packages it may import, or
// the word nothing.
func parseGraph(document string) (graph, []string) {
	_, block, found := strings.Cut(document, "\n```imports\n")
	block, _, closed := strings.Cut(block, "\n```")
	if !found || !closed {
		return nil, []string{"ARCHITECTURE.md: the block fenced with ```imports is missing; it is the picture the code is held to"}
	}
	g := make(graph)
	var faults []string
	for line := range strings.Lines(block) {
		from, list, ok := strings.Cut(strings.TrimSpace(line), "->")
		from = strings.TrimSpace(from)
		to := strings.Fields(list)
		_, twice := g[from]
		if !ok || from == "" || len(to) == 0 || twice {
			faults = append(faults, fmt.Sprintf("ARCHITECTURE.md: %q is not one package, an arrow and its imports "+
				"(or the word nothing), or names a package twice", strings.TrimSpace(line)))
			continue
		}
		if slices.Equal(to, []string{"nothing"}) {
			to = nil
		}
		g[from] = to
	}
	return g, faults
}

// compareGraphs says what differs and what to do about it.
func compareGraphs(allowed, actual graph) []string {
	var faults []string
	for from, to := range actual {
		permitted, known := allowed[from]
		if !known {
			faults = append(faults, fmt.Sprintf("%s: the package has no line in ARCHITECTURE.md; add one, and say in the "+
				"text above it what the package is for", from))
		}
		for _, dir := range to {
			if known && !slices.Contains(permitted, dir) {
				faults = append(faults, fmt.Sprintf("%s imports %s, which ARCHITECTURE.md does not allow; let the owner of the "+
					"state offer what is needed, or change the picture and say why in docs/adr", from, dir))
			}
		}
	}
	for from, permitted := range allowed {
		to, exists := actual[from]
		if !exists {
			faults = append(faults, fmt.Sprintf("ARCHITECTURE.md: there is no package %s; remove its line", from))
		}
		for _, dir := range permitted {
			if exists && !slices.Contains(to, dir) {
				faults = append(faults, fmt.Sprintf("ARCHITECTURE.md: %s no longer imports %s; remove it from the line", from, dir))
			}
		}
	}
	return faults
}

func TestCompareGraphs(t *testing.T) {
	document := "text\n```imports\na -> b c\nb -> nothing\nc -> nothing\ngone -> nothing\nb -> a\nno arrow\n```\n"
	allowed, faults := parseGraph(document)
	if len(faults) != 2 {
		t.Errorf("parseGraph found %d faults, want 2, the repeated line and the one without an arrow: %q", len(faults), faults)
	}
	got := compareGraphs(allowed, graph{"a": {"b"}, "b": {"c"}, "c": nil, "new": nil})
	slices.Sort(got)
	want := []string{
		"ARCHITECTURE.md: a no longer imports c;",
		"ARCHITECTURE.md: there is no package gone;",
		"b imports c, which ARCHITECTURE.md does not allow;",
		"new: the package has no line in ARCHITECTURE.md;",
	}
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("compareGraphs = %q, want messages that begin %q", got, want)
	}
	if _, faults := parseGraph("no block"); len(faults) != 1 {
		t.Errorf("parseGraph without a block found %q, want one fault", faults)
	}
}
