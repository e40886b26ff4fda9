//go:build unix

package client_test

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write api.txt anew")

// TestAPI holds what is exported to api.txt, so that a change to it shows in review.
func TestAPI(t *testing.T) {
	var text strings.Builder
	text.WriteString("# What the client exports. Lines may be added in a release, and none changed or taken away: see docs/client.md.\n" +
		"# After a change: go test ./client -run TestAPI -update\n")
	for _, dir := range []string{".", "clienttest"} {
		for _, entry := range exported(t, dir) {
			text.WriteString("\n" + entry + "\n")
		}
	}
	const name = "api.txt"
	if *update {
		must(t, os.WriteFile(name, []byte(text.String()), 0o644))
	}
	recorded, err := os.ReadFile(name)
	must(t, err)
	if text.String() == string(recorded) {
		return
	}
	was := strings.Split(string(recorded), "\n\n")
	is := strings.Split(text.String(), "\n\n")
	for _, entry := range was {
		if !slices.Contains(is, entry) {
			t.Errorf("no longer exported:\n%s", entry)
		}
	}
	for _, entry := range is {
		if !slices.Contains(was, entry) {
			t.Errorf("not in %s:\n%s", name, entry)
		}
	}
	t.Errorf("%s differs from the sources; if that is meant, run go test ./client -run TestAPI -update", name)
}

// exported returns the exported declarations of a package, sorted.
func exported(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	must(t, err)
	var entries []string
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		must(t, err)
		ast.FileExports(file)
		for _, declaration := range file.Decls {
			entries = append(entries, declarationTexts(t, file.Name.Name, files, declaration)...)
		}
	}
	slices.Sort(entries)
	return entries
}

// declarationTexts prints a declaration, the types and variables of a group one by one.
func declarationTexts(t *testing.T, pkg string, files *token.FileSet, declaration ast.Decl) []string {
	t.Helper()
	text := func(node any) string {
		var b bytes.Buffer
		must(t, printer.Fprint(&b, files, node))
		return "package " + pkg + ": " + b.String()
	}
	group, ok := declaration.(*ast.GenDecl)
	if !ok {
		f := declaration.(*ast.FuncDecl)
		f.Body = nil
		if f.Recv != nil && !ast.IsExported(receiver(f.Recv.List[0].Type)) {
			return nil
		}
		return []string{text(f)}
	}
	if group.Tok == token.IMPORT {
		return nil
	}
	if group.Tok == token.CONST {
		return []string{text(group)} // one says the type and the value of the next
	}
	var list []string
	for _, spec := range group.Specs {
		if v, ok := spec.(*ast.ValueSpec); ok && v.Type == nil && isNewError(v) {
			v.Type, v.Values = ast.NewIdent("error"), nil // the text is not part of it
		}
		list = append(list, text(&ast.GenDecl{Tok: group.Tok, Specs: []ast.Spec{spec}}))
	}
	return list
}

// receiver is the name of the type that a method belongs to.
func receiver(of ast.Expr) string {
	switch e := of.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func isNewError(v *ast.ValueSpec) bool {
	call, ok := v.Values[0].(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	return ok && f.Sel.Name == "New"
}
