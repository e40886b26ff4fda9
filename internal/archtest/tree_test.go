package archtest

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// modulePath is what our own import paths begin with, as go.mod says.
const modulePath = "github.com/haricotq/haricot"

// source is one parsed Go file of the main module.
type source struct {
	path    string // from the repository's root, with slashes
	lines   int
	files   *token.FileSet
	syntax  *ast.File
	imports []string
}

// dir is the package's directory, which is also its import path below modulePath.
func (s *source) dir() string {
	return s.path[:max(0, strings.LastIndexByte(s.path, '/'))]
}

func (s *source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// at is the place of a node, as path:line.
func (s *source) at(node ast.Node) string {
	return s.path + ":" + strconv.Itoa(s.files.Position(node.Pos()).Line)
}

// ours is an import path without the module's, and false for everybody else's.
func ours(importPath string) (string, bool) {
	return strings.CutPrefix(importPath, modulePath+"/")
}

// readTree parses every Go file of the main module, whatever system it is for.
func readTree(t *testing.T) []*source {
	t.Helper()
	root := filepath.Join("..", "..")
	var all []*source
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && isForeign(path, entry.Name()):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		all = append(all, parse(t, filepath.ToSlash(name), text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("found no Go file: the tests look in the wrong place")
	}
	return all
}

// isForeign reports whether a directory is hidden, holds no code of ours, or is the root of another module.
func isForeign(path, name string) bool {
	if strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules" {
		return true
	}
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil
}

// parse makes a source of a file's text; the tests of the rules give it examples.
func parse(t *testing.T, path string, text []byte) *source {
	t.Helper()
	s := &source{path: path, lines: bytes.Count(text, []byte("\n")), files: token.NewFileSet()}
	var err error
	if s.syntax, err = parser.ParseFile(s.files, path, text, parser.SkipObjectResolution); err != nil {
		t.Fatal(err)
	}
	for _, spec := range s.syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		s.imports = append(s.imports, imported)
	}
	return s
}

// readRepositoryFile gives the text of a file named from the repository's root.
func readRepositoryFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// report fails the test once for each message, in order.
func report(t *testing.T, messages []string) {
	t.Helper()
	slices.Sort(messages)
	for _, message := range slices.Compact(messages) {
		t.Error(message)
	}
}
