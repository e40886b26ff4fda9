// Package cookbook_test runs docs/cookbook.md: every shell block against a real server, one for each task, and finds the output
// that stands there.
package cookbook_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// tasks is how many there are to be.
const tasks = 10

// programs is where haricot is built, and where programs stand that take the place of the system's.
var programs string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "haricot-cookbook-")
	if err != nil {
		panic(err)
	}
	programs = dir
	status := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		panic(err)
	}
	os.Exit(status)
}

// stand-ins for programs that a test must not run as they are. systemctl runs the server as the unit does; a sleep does what is to
// happen meanwhile, and is short; watch looks once; chown has nobody to give the files to.
var standIns = map[string]string{
	"systemctl": `#!/bin/sh -e
stop() { kill "$(cat "$PLACE/pid")"; while kill -0 "$(cat "$PLACE/pid")" 2>/dev/null; do /bin/sleep 0.01; done; }
start() {
	haricot serve -l "$HARICOT_ADDR" -b "$PLACE/var/lib/haricot" 2>"$PLACE/log" </dev/null >/dev/null &
	echo $! >"$PLACE/pid"
	until haricot stats >/dev/null 2>&1; do kill -0 $!; /bin/sleep 0.01; done
}
case "$1 $2" in
	"stop haricot") stop ;;
	"start haricot") start ;;
	"restart haricot") stop; start ;;
	*) echo "systemctl: $*?" >&2; exit 1 ;;
esac
`,
	"sleep": "#!/bin/sh\nsh -ec \"$DURING_SLEEP\" >/dev/null\n",
	"watch": "#!/bin/sh -e\n[ \"$1\" = -n ]\nshift 2\nexec \"$@\" >/dev/null\n",
	"chown": "#!/bin/sh -e\n[ \"$1 $2\" = \"-R haricot:haricot\" ]\ntest -d \"$3\"\n",
}

var (
	sections = regexp.MustCompile(`(?m)^## (.*)\n`)
	blocks   = regexp.MustCompile("(?s)```(sh|text)\n(.*?)```|<!-- test: ([a-z ]+): (.*?) -->")
)

// task is one of the document: the script that its blocks come to, and what it is to print.
type task struct {
	title       string
	scripts     []string
	output      string
	before      []string
	beforeLast  []string
	duringSleep string
}

// document reads the tasks.
func document(t *testing.T) []task {
	t.Helper()
	text, err := os.ReadFile("../../docs/cookbook.md")
	if err != nil {
		t.Fatal(err)
	}
	var list []task
	places := sections.FindAllSubmatchIndex(text, -1)
	for i, place := range places {
		end := len(text)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		k := task{title: string(text[place[2]:place[3]])}
		for _, block := range blocks.FindAllStringSubmatch(string(text[place[1]:end]), -1) {
			switch {
			case block[1] == "sh":
				k.scripts = append(k.scripts, block[2])
			case block[1] == "text":
				k.output += block[2]
			case block[3] == "before":
				k.before = append(k.before, block[4])
			case block[3] == "before last":
				k.beforeLast = append(k.beforeLast, block[4])
			case block[3] == "during sleep":
				k.duringSleep = block[4]
			default:
				t.Errorf("%s: what does %q mean?", k.title, block[0])
			}
		}
		list = append(list, k)
	}
	return list
}

func TestCookbook(t *testing.T) {
	list := document(t)
	if len(list) != tasks {
		t.Errorf("the cookbook has %d tasks, want %d", len(list), tasks)
	}
	build := exec.Command("go", "build", "-o", filepath.Join(programs, "haricot"), "../../cmd/haricot")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, text := range standIns {
		if err := os.WriteFile(filepath.Join(programs, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range list {
		t.Run(k.title, func(t *testing.T) {
			if len(k.scripts) == 0 {
				t.Fatal("there is no command in this task")
			}
			k.run(t)
		})
	}
}

// run carries out a task: the blocks are one script, so that a later one knows what an earlier one has set. What only the test does
// says nothing, and the server is started and stopped outside of it.
func (k *task) run(t *testing.T) {
	place := t.TempDir()
	for _, dir := range []string{"var/lib/haricot", "var/backups", "work"} {
		if err := os.MkdirAll(filepath.Join(place, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"), "PLACE="+place,
		"HARICOT_ADDR=unix:"+filepath.Join(place, "s"), "DURING_SLEEP="+k.duringSleep, "LC_ALL=C")
	shell := func(script string) (stdout, stderr string, err error) {
		cmd := exec.Command("sh", "-eu")
		cmd.Stdin = strings.NewReader(script)
		cmd.Dir, cmd.Env = filepath.Join(place, "work"), env
		var out, said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &said
		err = cmd.Run()
		return out.String(), said.String(), err
	}
	t.Cleanup(func() {
		if _, said, err := shell("systemctl stop haricot"); err != nil {
			t.Errorf("stopping the server: %v\n%s", err, said)
		}
	})
	if _, said, err := shell("systemctl start haricot"); err != nil {
		t.Fatalf("starting the server: %v\n%s", err, said)
	}

	places := strings.NewReplacer("/var/lib/", place+"/var/lib/", "/var/backups/", place+"/var/backups/")
	var script strings.Builder
	last := len(k.scripts) - 1
	quiet := func(lines []string) {
		for _, line := range lines {
			fmt.Fprintf(&script, "{ %s; } >/dev/null\n", line)
		}
	}
	quiet(k.before)
	for i, block := range k.scripts {
		if i == last {
			quiet(k.beforeLast)
		}
		script.WriteString(places.Replace(block))
	}
	got, said, err := shell(script.String())
	if err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(places.Replace(k.output)), "…", ".*?")
	if !regexp.MustCompile("^" + pattern + "$").MatchString(got) {
		t.Errorf("the output is\n%s\nand should be\n%s\nand this was said:\n%s", got, k.output, said)
	}
}
