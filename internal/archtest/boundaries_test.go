package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// boundary keeps some packages from some imports. Patterns are a directory or import path, or one ending in /...,
// which stands for itself and all below it.
type boundary struct {
	imports []string // what the rule is about
	only    []string // packages that may; empty where the rule names those that may not
	never   []string // packages that may not
	remedy  string
}

// boundaries are DESIGN rules about imports of other people's packages. Tests are free of them.
var boundaries = []boundary{
	{
		imports: []string{"net", "net/..."},
		only: []string{
			"client/...", "cmd/...", "internal/server", "internal/service", "internal/control", "internal/memnet", "internal/load",
			"conformance/...", "internal/admin", "internal/api", "internal/apiclient", "internal/console", "internal/metrics",
		},
		remedy: "sockets belong to internal/server, and to internal/control the one beside a store; everything below takes and gives bytes or values",
	},
	{
		imports: []string{"log/slog"},
		// Control and store have goroutines of their own, in which they see what an operator must know (a full disk, a checkpoint for
		// a tool) and have nobody to return it to. Those that answer HTTP have clients, but no caller who would print an error, and
		// operator has a line for each change that somebody makes.
		only: []string{
			"client/...", "cmd/...", "internal/server", "internal/service", "internal/control", "internal/store",
			"internal/admin", "internal/api", "internal/console", "internal/metrics", "internal/operator",
		},
		remedy: "logging belongs to the edges; return the error, or the fact, to them",
	},
	{
		imports: []string{"log"},
		only:    []string{"nobody"},
		remedy:  "the program logs through log/slog, at the edges only",
	},
	{
		imports: []string{"github.com/cockroachdb/..."},
		only:    []string{"internal/store"},
		remedy:  "internal/store is the only package that knows its database, so that another can take its place",
	},
	{
		imports: []string{"github.com/prometheus/..."},
		only:    []string{"internal/metrics"},
		remedy:  "what is counted is counted in plain numbers, and internal/metrics shows them to Prometheus",
	},
	{
		imports: []string{"os", "os/...", "io/fs", "syscall", "golang.org/x/sys/...", "log/...", "context"},
		never:   pure,
		remedy:  "this package is pure: what it needs from the outside comes in as an argument",
	},
	{
		imports: []string{"sync", "sync/..."},
		never:   pure,
		remedy:  "this package has one owner, the loop, and needs no lock",
	},
	{
		imports: []string{"math/rand", "math/rand/...", "crypto/rand", "hash/maphash"},
		never:   pure,
		remedy:  "this package leaves nothing to chance, so that a run can be repeated",
	},
}

// pure are the packages without input, output, clock, lock, goroutine and chance.
var pure = []string{"internal/protocol", "internal/queue"}

// clockless are the packages that are told the time and start nothing: the pure ones, and the memory below them.
var clockless = append([]string{"internal/arena"}, pure...)

// clock are the names of package time that read a clock or wait for one.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

func TestBoundaries(t *testing.T) {
	for _, s := range readTree(t) {
		report(t, crossings(s))
		report(t, clockUses(s))
	}
}

// crossings says which imports of a file break a boundary.
func crossings(s *source) []string {
	if s.isTest() {
		return nil
	}
	var faults []string
	for _, imported := range s.imports {
		for _, b := range boundaries {
			permitted := len(b.only) == 0 || matchesAny(b.only, s.dir())
			if matchesAny(b.imports, imported) && (!permitted || matchesAny(b.never, s.dir())) {
				faults = append(faults, fmt.Sprintf("%s imports %s: %s", s.path, imported, b.remedy))
			}
		}
	}
	return faults
}

// clockUses says where a file of a clockless package reads the clock, starts a goroutine or makes a channel.
func clockUses(s *source) []string {
	if s.isTest() || !slices.Contains(clockless, s.dir()) {
		return nil
	}
	timeName := importName(s, "time")
	var faults []string
	ast.Inspect(s.syntax, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.GoStmt:
			faults = append(faults, s.at(n)+" starts a goroutine: this package runs in its caller's only")
		case *ast.ChanType:
			faults = append(faults, s.at(n)+" names a channel: results of this package are values")
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == timeName && slices.Contains(clock, n.Sel.Name) {
				faults = append(faults, s.at(n)+" uses time."+n.Sel.Name+": this package is told the time; take now as an argument")
			}
		}
		return true
	})
	return faults
}

// importName is the name by which a file knows an imported package, "" if it does not import it.
func importName(s *source, imported string) string {
	for _, spec := range s.syntax.Imports {
		switch {
		case spec.Path.Value != strconv.Quote(imported):
		case spec.Name != nil:
			return spec.Name.Name
		default:
			return path.Base(imported)
		}
	}
	return ""
}

// matchesAny reports whether a path is one of the patterns or below one that ends in /....
func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		above, all := strings.CutSuffix(pattern, "/...")
		return name == above || all && strings.HasPrefix(name, above+"/")
	})
}

func TestBoundaryRulesBite(t *testing.T) {
	text := `package queue

import (
	"sync"
	"net/http"
	clock "time"
)

func wrong(c chan int) {
	go http.ListenAndServe("", nil)
	_ = clock.Now()
	_ = clock.Second
}
`
	for _, test := range []struct {
		path      string
		crossings int
		uses      int
	}{
		{"internal/queue/wrong.go", 2, 3},
		{"internal/arena/wrong.go", 1, 3},
		{"internal/engine/wrong.go", 1, 0},
		{"internal/server/right.go", 0, 0},
		{"internal/queue/wrong_test.go", 0, 0},
	} {
		s := parse(t, test.path, []byte(text))
		if got := crossings(s); len(got) != test.crossings {
			t.Errorf("%s: crossings = %q, want %d", test.path, got, test.crossings)
		}
		if got := clockUses(s); len(got) != test.uses {
			t.Errorf("%s: clockUses = %q, want %d", test.path, got, test.uses)
		}
	}
}
