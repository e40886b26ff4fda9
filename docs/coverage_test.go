package docs_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haricotq/haricot/internal/protocol"
)

// A page is a Markdown file cut into its sections.
type page struct {
	order    []string // headings without their marks
	sections map[string]string
}

func readPage(t *testing.T, file string) page {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := page{sections: map[string]string{}}
	heading, fenced := "", false
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if strings.HasPrefix(line, "#") && !fenced {
			heading = strings.TrimSpace(strings.TrimLeft(line, "#"))
			p.order = append(p.order, heading)
			continue
		}
		p.sections[heading] += line
	}
	return p
}

// table returns the rows of the n-th table of a section, cells trimmed, without its head.
func (p page) table(t *testing.T, heading string, n int) [][]string {
	t.Helper()
	tables := p.tables(heading)
	if n >= len(tables) {
		t.Fatalf("section %q has no table %d", heading, n)
	}
	return tables[n]
}

func (p page) tables(heading string) [][][]string {
	var all [][][]string
	inside := false
	for line := range strings.Lines(p.sections[heading]) {
		line = strings.TrimSpace(line)
		switch row := strings.HasPrefix(line, "|"); {
		case !row:
			inside = false
			continue
		case !inside:
			all = append(all, nil)
			inside = true
			continue // the head
		case strings.HasPrefix(line, "|---"):
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		all[len(all)-1] = append(all[len(all)-1], cells)
	}
	return all
}

var code = regexp.MustCompile("`([^`]+)`")

// codeWord returns the first word of the first piece of code in a cell.
func codeWord(cell string) string {
	m := code.FindStringSubmatch(cell)
	if m == nil {
		return ""
	}
	word, _, _ := strings.Cut(m[1], " ")
	return word
}

// TestEveryCommandHasASection holds the page to the grammar, in both directions: a command must have a section that shows its form,
// and a section of a command must have one in the grammar.
func TestEveryCommandHasASection(t *testing.T) {
	p := readPage(t, "protocol.md")
	var verbs []string
	for _, v := range protocol.Verbs() {
		word := v.String()
		verbs = append(verbs, word)
		section, ok := p.sections["`"+word+"`"]
		if !ok {
			t.Errorf("the command %s has no section", word)
			continue
		}
		if form := regexp.MustCompile("(?m)^" + word + `( <[a-z]+>)*$`); !form.MatchString(section) {
			t.Errorf("the section of %s does not show its form", word)
		}
	}
	for _, h := range p.order {
		if strings.HasPrefix(h, "`") && !slices.Contains(verbs, strings.Trim(h, "`")) {
			t.Errorf("the section %s describes no command", h)
		}
	}
}

// TestEveryReplyHasARow does the same for the words of the replies and the tables of replies and errors.
func TestEveryReplyHasARow(t *testing.T) {
	p := readPage(t, "protocol.md")
	described := map[string]bool{}
	for _, section := range []string{"Replies", "Errors"} {
		for _, row := range p.table(t, section, 0) {
			described[codeWord(row[0])] = true
		}
	}
	for _, w := range protocol.Words() {
		if !described[w.String()] {
			t.Errorf("the reply %s has no row", w)
		}
		delete(described, w.String())
	}
	for word := range described {
		t.Errorf("the row %q describes no reply", word)
	}
}

// TestEveryFieldHasARow asks each server for its statistics and holds the tables to the fields and their order.
func TestEveryFieldHasARow(t *testing.T) {
	p := readPage(t, "protocol.md")
	for _, m := range makers() {
		t.Run(m.name, func(t *testing.T) {
			m.require(t)
			w := dialWire(t, m.start(t, 0))
			if _, err := w.ask("put 0 0 60 0\r\n"); err != nil {
				t.Fatal(err)
			}
			for command, section := range map[string]string{
				"stats":              "`stats`",
				"stats-tube default": "`stats-tube`",
				"stats-job 1":        "`stats-job`",
			} {
				fields, err := w.stats(command)
				if err != nil {
					t.Fatal(err)
				}
				var sent, described []string
				for _, f := range fields {
					sent = append(sent, f.key)
				}
				for _, row := range p.table(t, section, 0) {
					described = append(described, codeWord(row[0]))
				}
				if diff := cmp.Diff(sent, described); diff != "" {
					t.Errorf("%s: fields sent (-) and described (+):\n%s", command, diff)
				}
			}
		})
	}
}

// TestLinksLeadSomewhere checks the links inside the pages and between them.
func TestLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([a-z0-9./_-]*)(#[^)]+)?\)`)
	drop := regexp.MustCompile(`[^a-z0-9 -]`)
	for _, file := range []string{"protocol.md", "differences.md", operations} {
		p := readPage(t, file)
		for _, section := range p.sections {
			for _, m := range link.FindAllStringSubmatch(section, -1) {
				target, anchor := m[1], strings.TrimPrefix(m[2], "#")
				if target == "" {
					target = file
				}
				if _, err := os.Stat(target); err != nil {
					t.Errorf("%s: %s: %v", file, m[0], err)
					continue
				}
				if anchor == "" {
					continue
				}
				if !slices.ContainsFunc(readPage(t, target).order, func(h string) bool {
					return strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(h), ""), " ", "-") == anchor
				}) {
					t.Errorf("%s: %s leads to no heading", file, m[0])
				}
			}
		}
	}
}
