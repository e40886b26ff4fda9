// Longest prints the ten longest functions of the Go module in a directory, tests and nested modules left out.
//
// The median function of any program is short; programs differ in the tail, so this is the part to watch.
package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// shown is the number of functions printed.
const shown = 10

// function is one declared function and the number of lines from its keyword to its closing brace.
type function struct {
	name  string
	place string
	lines int
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: longest DIR")
		os.Exit(2)
	}
	functions, err := collect(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "longest:", err)
		os.Exit(1)
	}
	slices.SortStableFunc(functions, func(a, b function) int { return cmp.Compare(b.lines, a.lines) })
	for _, f := range functions[:min(shown, len(functions))] {
		fmt.Printf("%4d  %-40s %s\n", f.lines, f.name, f.place)
	}
}

// collect parses every Go file below root that belongs to the module at root.
func collect(root string) ([]function, error) {
	var all []function
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && foreign(path, entry.Name()):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		found, err := functionsOf(root, path)
		all = append(all, found...)
		return err
	})
	return all, err
}

// foreign reports whether a directory is hidden, holds test data, or is the root of another module.
func foreign(path, name string) bool {
	if strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules" {
		return true
	}
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil
}

func functionsOf(root, path string) ([]function, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parse: %w", err)
	}
	shownPath, err := filepath.Rel(root, path)
	if err != nil {
		return nil, fmt.Errorf("relative path: %w", err)
	}
	var found []function
	for _, declaration := range file.Decls {
		f, ok := declaration.(*ast.FuncDecl)
		if !ok {
			continue
		}
		first, last := files.Position(f.Pos()).Line, files.Position(f.End()).Line
		found = append(found, function{
			name:  f.Name.Name,
			place: fmt.Sprintf("%s:%d", filepath.ToSlash(shownPath), first),
			lines: last - first + 1,
		})
	}
	return found, nil
}
