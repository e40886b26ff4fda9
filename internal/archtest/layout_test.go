package archtest

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
)

// maxLines is the longest a file may be that is no test: what a reader can hold in mind at one sitting.
const maxLines = 450

// longFiles may be longer, each for the reason given. One that has become short enough must leave the list.
var longFiles = map[string]string{}

// vagueNames say nothing about what a package or file is for; everything in them belongs elsewhere.
var vagueNames = []string{
	"util", "utils", "common", "helper", "helpers", "type", "types", "misc", "shared", "base", "lib", "core", "consts", "constants",
}

func TestLayout(t *testing.T) {
	sources := readTree(t)
	report(t, vague(sources))
	report(t, tooLong(sources, longFiles))
}

// vague says which packages and files are named for nothing in the domain.
func vague(sources []*source) []string {
	var faults []string
	for _, s := range sources {
		file := strings.TrimSuffix(strings.TrimSuffix(path.Base(s.path), ".go"), "_test")
		names := append(strings.Split(s.dir(), "/"), file, s.syntax.Name.Name)
		for _, name := range names {
			if slices.Contains(vagueNames, name) {
				faults = append(faults, fmt.Sprintf("%s: %q names no thing of the domain; name it for what it holds, or move its "+
					"parts to where they are used", s.path, name))
			}
		}
	}
	return faults
}

// tooLong says which files are over the limit without a reason, and which reasons are no longer needed.
func tooLong(sources []*source, excused map[string]string) []string {
	var faults []string
	long := make(map[string]bool)
	for _, s := range sources {
		if s.isTest() || s.lines <= maxLines {
			continue
		}
		long[s.path] = true
		if excused[s.path] == "" {
			faults = append(faults, fmt.Sprintf("%s has %d lines, more than %d; split it by subject, or name it in longFiles "+
				"with the reason", s.path, s.lines, maxLines))
		}
	}
	for name := range excused {
		if !long[name] {
			faults = append(faults, fmt.Sprintf("%s needs no exception from the limit of %d lines; remove it from longFiles", name, maxLines))
		}
	}
	return faults
}

func TestLayoutRulesBite(t *testing.T) {
	long := parse(t, "internal/queue/job.go", []byte("package queue\n"+strings.Repeat("\n", maxLines)))
	sources := []*source{
		long,
		parse(t, "internal/queue/types.go", []byte("package queue\n")),
		parse(t, "internal/util/heap_test.go", []byte("package util_test\n")),
		parse(t, "internal/queue/heap.go", []byte("package queue\n")),
	}
	if got := vague(sources); len(got) != 2 {
		t.Errorf("vague = %q, want one fault for types.go and one for util", got)
	}
	if got := tooLong(sources, nil); len(got) != 1 {
		t.Errorf("tooLong = %q, want one fault for job.go", got)
	}
	if got := tooLong(sources, map[string]string{long.path: "a table"}); len(got) != 0 {
		t.Errorf("tooLong with an excuse = %q, want nothing", got)
	}
	if got := tooLong(nil, map[string]string{long.path: "a table"}); len(got) != 1 {
		t.Errorf("tooLong with an excuse for a short file = %q, want one fault", got)
	}
}
