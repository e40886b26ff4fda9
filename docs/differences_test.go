package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryDifferenceIsHeld holds differences.md to its last column: each difference names at least one test, and each test named
// there exists, as a function or as a script of the conformance suite.
func TestEveryDifferenceIsHeld(t *testing.T) {
	held := testNames(t)
	p := readPage(t, "differences.md")
	rows := 0
	for _, heading := range p.order {
		for _, table := range p.tables(heading) {
			for _, row := range table {
				rows++
				names := code.FindAllStringSubmatch(row[len(row)-1], -1)
				if len(row) != 5 || len(names) == 0 {
					t.Errorf("%s: %q: no test is named", heading, row[0])
				}
				for _, name := range names {
					if !held[name[1]] {
						t.Errorf("%s: %q: there is no test %s", heading, row[0], name[1])
					}
				}
			}
		}
	}
	if rows == 0 {
		t.Fatal("differences.md holds no table")
	}
}

var testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// testNames collects the tests of the module and the paths of the conformance scripts, from the module's root.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "node_modules", "vendor"}, d.Name()):
			return fs.SkipDir
		case d.IsDir():
			return nil
		case strings.HasSuffix(path, "_test.go"):
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range testFunc.FindAllSubmatch(text, -1) {
				names[string(m[1])] = true
			}
		case strings.Contains(filepath.ToSlash(path), "/testdata/"):
			names[strings.TrimPrefix(filepath.ToSlash(path), "../")] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
