package main

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/haricotq/haricot/internal/protocol"
)

// updateManual writes docs/cli.md and docs/man anew: go test ./cmd/haricot -run TestManual -update-manual.
var updateManual = flag.Bool("update-manual", false, "write docs/cli.md and docs/man anew")

// generated begins the part of docs/cli.md that is made of the commands; what stands before it is written by hand.
const generated = "<!-- From here on made of the commands themselves: go test ./cmd/haricot -run TestManual -update-manual -->\n"

// TestManual holds docs/cli.md and the man pages to the commands.
func TestManual(t *testing.T) {
	model := newParser(&commands{}, "haricot", &process{}).Model
	manual := filepath.Join("..", "..", "docs", "cli.md")
	text, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	intro, _, found := strings.Cut(string(text), generated)
	if !found {
		t.Fatalf("%s lacks the line %q", manual, generated)
	}
	compare(t, manual, intro+generated+markdown(model))

	dir := filepath.Join("..", "..", "docs", "man")
	pages := map[string]string{"haricot.1": overview(model)}
	for _, node := range visible(model) {
		pages["haricot-"+node.Name+".1"] = manPage(node)
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		compare(t, filepath.Join(dir, name), pages[name])
	}
	there, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range there {
		if pages[filepath.Base(path)] == "" {
			t.Errorf("%s is the page of no command", path)
		}
	}
}

// compare holds a file to what it should be, or makes it so.
func compare(t *testing.T, path, want string) {
	t.Helper()
	if *updateManual {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s is not current (%v): go test ./cmd/haricot -run TestManual -update-manual", path, err)
	}
}

// TestManPagesFormat has groff read the pages, which warns of what it does not understand.
func TestManPagesFormat(t *testing.T) {
	groff := installed(t, "groff", "groff-base")
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "man", "*.1"))
	if err != nil || len(pages) < 10 {
		t.Fatalf("there are %d man pages (%v)", len(pages), err)
	}
	for _, page := range pages {
		out, err := exec.Command(groff, "-man", "-ww", "-b", "-z", "-K", "utf8", "-T", "utf8", page).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s: %v: %s", page, err, out)
		}
	}
}

// TestShells sees to it that where all tests run, completions are tried in all shells: the script that does it leaves out those that
// are not installed.
func TestShells(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		installed(t, shell, shell)
	}
}

// installed finds a program.
func installed(t *testing.T, program, pkg string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is not installed, and this is CI: %v", program, err)
	}
	t.Skipf("%s is not installed: apt-get install %s", program, pkg)
	return ""
}

// visible are the commands that are shown.
func visible(model *kong.Application) []*kong.Node {
	return slices.DeleteFunc(slices.Clone(model.Children), func(n *kong.Node) bool { return n.Hidden })
}

// usageOf is how a command is called.
func usageOf(node *kong.Node) string { return flagsFirst("haricot " + node.Summary()) }

// shown are a command's own flags, in their order.
func shown(node *kong.Node) []*kong.Flag {
	return slices.DeleteFunc(slices.Clone(node.Flags), func(f *kong.Flag) bool { return f.Hidden || f.Name == "help" })
}

// spelled is how a flag is written.
func spelled(f *kong.Flag) string {
	text := "--" + f.Name
	if !f.IsBool() && !f.IsCounter() {
		text += "=" + f.FormatPlaceHolder()
	}
	if f.Short != 0 {
		text = "-" + string(f.Short) + ", " + text
	}
	return text
}

// markdown describes all commands.
func markdown(model *kong.Application) string {
	var out strings.Builder
	for _, group := range groups {
		fmt.Fprintf(&out, "\n## %s\n", strings.TrimSuffix(group.Title, ":"))
		for _, node := range visible(model) {
			if node.Group == nil || node.Group.Key != group.Key {
				continue
			}
			fmt.Fprintf(&out, "\n### haricot %s\n\n    %s\n\n%s\n", node.Name, usageOf(node), node.Help)
			if node.Detail != "" {
				fmt.Fprintf(&out, "\n%s\n", escapeMarkdown(node.Detail))
			}
			if len(node.Positional)+len(shown(node)) == 0 {
				continue
			}
			out.WriteString("\n| | |\n|---|---|\n")
			for _, arg := range node.Positional {
				fmt.Fprintf(&out, "| `%s` | %s |\n", arg.Summary(), cell(kong.DefaultHelpValueFormatter(arg)))
			}
			for _, f := range shown(node) {
				fmt.Fprintf(&out, "| `%s` | %s |\n", spelled(f), cell(kong.DefaultHelpValueFormatter(f.Value)))
			}
		}
	}
	return out.String()
}

// cell writes text into a table.
func cell(text string) string { return strings.ReplaceAll(escapeMarkdown(text), "|", `\|`) }

// escapeMarkdown keeps text from being taken for something else.
func escapeMarkdown(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "<", `\<`).Replace(text)
}

// roff writes text as it is.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// paragraphs writes text in paragraphs, of which those that are indented are kept in lines.
func paragraphs(text string) string {
	var out strings.Builder
	for part := range strings.SplitSeq(text, "\n\n") {
		out.WriteString(".PP\n")
		if strings.HasPrefix(part, "  ") {
			out.WriteString(".nf\n" + roff(part) + "\n.fi\n")
		} else {
			out.WriteString(roff(part) + "\n")
		}
	}
	return out.String()
}

// heading begins a page.
func heading(out *bytes.Buffer, name, help string) {
	fmt.Fprintf(out, ".\\\" Made of the commands themselves: go test ./cmd/haricot -run TestManual -update-manual\n")
	fmt.Fprintf(out, ".TH %s 1 \"\" \"haricot %s\" \"haricot\"\n", strings.ToUpper(roff(name)), protocol.Version)
	fmt.Fprintf(out, ".SH NAME\n%s \\- %s\n", roff(name), roff(strings.ToLower(help[:1])+strings.TrimSuffix(help[1:], ".")))
}

// item writes an entry of a list.
func item(out *bytes.Buffer, term, text string) {
	fmt.Fprintf(out, ".TP\n.B %s\n%s\n", roff(term), roff(text))
}

// manPage is the page of a command.
func manPage(node *kong.Node) string {
	var out bytes.Buffer
	heading(&out, "haricot-"+node.Name, node.Help)
	fmt.Fprintf(&out, ".SH SYNOPSIS\n.nf\n%s\n.fi\n.SH DESCRIPTION\n%s", roff(usageOf(node)), paragraphs(node.Help))
	if node.Detail != "" {
		out.WriteString(paragraphs(node.Detail))
	}
	if len(node.Positional) > 0 {
		out.WriteString(".SH ARGUMENTS\n")
		for _, arg := range node.Positional {
			item(&out, arg.Summary(), kong.DefaultHelpValueFormatter(arg))
		}
	}
	out.WriteString(".SH OPTIONS\n")
	for _, f := range shown(node) {
		item(&out, spelled(f), kong.DefaultHelpValueFormatter(f.Value))
	}
	item(&out, "-h, --help", "Print a help page to standard error and exit.")
	statuses(&out)
	fmt.Fprintf(&out, ".SH SEE ALSO\n.BR haricot (1)\n")
	return out.String()
}

// statusTexts are what exit statuses mean.
var statusTexts = []struct {
	status int
	text   string
}{
	{exitOK, "It is done."},
	{exitInternal, "It failed."},
	{exitUsage, "The command line is wrong."},
	{exitNothing, "What was asked for is not there: a tube, a job, or any job at all."},
	{exitTimeout, "It did not happen in time: the server has not answered, or no job has come."},
	{exitFlags, "The command line of serve is wrong, as with beanstalkd."},
	{exitStore, "A directory of a store cannot be used."},
	{exitSocket, "A socket cannot be had (serve), or one of the servers not be reached (migrate)."},
}

func statuses(out *bytes.Buffer) {
	out.WriteString(".SH EXIT STATUS\n")
	for _, s := range statusTexts {
		item(out, fmt.Sprint(s.status), s.text)
	}
}

// overview is the page of the program.
func overview(model *kong.Application) string {
	var out bytes.Buffer
	heading(&out, "haricot", "Work queue server and its tools, beanstalk protocol.")
	fmt.Fprintf(&out, ".SH SYNOPSIS\n.nf\n%s\n%s\n.fi\n.SH DESCRIPTION\n%s", roff("haricot [flags]"), roff("haricot <command> [flags]"), paragraphs(description))
	out.WriteString(paragraphs("Each command has a page of its own, such as haricot-put(1). haricot-serve(1) has the flags of the server."))
	for _, group := range groups {
		fmt.Fprintf(&out, ".SS %s\n", roff(strings.TrimSuffix(group.Title, ":")))
		for _, node := range visible(model) {
			if node.Group != nil && node.Group.Key == group.Key {
				item(&out, node.Name, node.Help)
			}
		}
	}
	statuses(&out)
	out.WriteString(".SH ENVIRONMENT\n")
	item(&out, "HARICOT_ADDR", "The server that commands talk to, unless --addr names one: HOST, HOST:PORT or unix:PATH.")
	item(&out, "HARICOT_API", "Its JSON API, unless --api names one: http://HOST:PORT, HOST:PORT or unix:PATH.")
	return out.String()
}

// TestGroups sees to it that every command stands under a heading.
func TestGroups(t *testing.T) {
	for _, node := range visible(newParser(&commands{}, "haricot", &process{}).Model) {
		if node.Group == nil {
			t.Errorf("%s has no group", node.Name)
		}
	}
}
