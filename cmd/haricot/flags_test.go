package main

import (
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestRunningDocument holds the table of flags in docs/running.md to the command line: every flag has a row, every row a flag.
func TestRunningDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/running.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## Flags\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if !found {
		t.Fatal("docs/running.md has no section Flags")
	}
	rows := make(map[string]bool)
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) > 2 && strings.Contains(cells[1], "`") {
			rows[strings.TrimSpace(cells[1])] = true
		}
	}
	parser, err := kong.New(&serveCommand{})
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range parser.Model.Flags {
		row := "`--" + flag.Name + "`"
		if flag.Short != 0 {
			row = "`-" + string(flag.Short) + "`, " + row
		}
		if !rows[row] {
			t.Errorf("docs/running.md has no row for %s", row)
		}
		delete(rows, row)
	}
	for row := range rows {
		t.Errorf("docs/running.md explains %s, which is no flag", row)
	}
}

// TestHelpNamesFlags lists every flag that does something, and none that is refused or ignored.
func TestHelpNamesFlags(t *testing.T) {
	var stderr strings.Builder
	if got := run([]string{"haricot", "-h"}, &process{stdout: &strings.Builder{}, stderr: &stderr}); got != exitOK {
		t.Fatalf("exit status %d, want 0", got)
	}
	parser, err := kong.New(&serveCommand{})
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range parser.Model.Flags {
		if shown := strings.Contains(stderr.String(), "--"+flag.Name); shown == flag.Hidden {
			t.Errorf("--%s: shown %v, hidden %v", flag.Name, shown, flag.Hidden)
		}
	}
}
