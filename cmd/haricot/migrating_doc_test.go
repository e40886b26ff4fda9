package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	shellBlocks = regexp.MustCompile("(?s)```sh\n(.*?)```")
	outputLine  = regexp.MustCompile(`(?m)^    (\S.*)$`)
	plurals     = regexp.MustCompile(`\b(job|record|file)s\b`)
	digits      = regexp.MustCompile(`[0-9]+(\.[0-9]+ KiB)?`)
)

// TestMigratingDocument runs the commands of docs/migrating.md in their order, with directories and addresses of its own in place of
// those that stand there, and finds the output that it shows, whatever the numbers.
func TestMigratingDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/migrating.md")
	if err != nil {
		t.Fatal(err)
	}
	log, root := startBeanstalkd(t, t.TempDir()), t.TempDir()
	for _, body := range []string{"one", strings.Repeat("two", 500)} {
		connected(t, log.address).put("default", 0, 0, body)
	}
	damaged := startBeanstalkd(t, t.TempDir())
	for _, body := range []string{"body 0", "body 1"} {
		connected(t, damaged.address).put("default", 0, 0, body)
	}
	damaged.kill()
	spoil(t, filepath.Join(damaged.dir, "binlog.1"), 4+99-1)
	live, to := startBeanstalkd(t, ""), startHaricot(t)
	connected(t, live.address).put("mail", 0, 0, "moved")

	places := strings.NewReplacer(
		"/var/lib/beanstalkd-damaged", damaged.dir, "/var/lib/beanstalkd", log.dir,
		"/var/lib/haricot-rest", filepath.Join(root, "rest"), "/var/lib/haricot", filepath.Join(root, "haricot"),
		"/var/tmp", root, "--from 127.0.0.1:11300", "--from "+live.address, "--to 127.0.0.1:11301", "--to "+to,
		"unix:/run/beanstalkd.sock", live.address, "-p 11300", "-p 0",
	)
	var said strings.Builder
	for _, block := range shellBlocks.FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(block[1]) {
			words := strings.Fields(places.Replace(line))
			switch {
			case line == "systemctl stop beanstalkd\n":
				log.kill()
			case words[0] == "haricot" && words[len(words)-1] == "&":
				serve(t, exec.Command("haricot", append(words[1:len(words)-1], "--log-format", "json")...), 1)
			case words[0] == "haricot":
				out := runs(t, words[0], words[1:]...)
				if out.status != exitOK {
					t.Errorf("%q: %+v", words, out)
				}
				said.WriteString(out.stderr)
			default:
				t.Errorf("what does %q do?", line)
			}
		}
	}
	blur := func(text string) string { return digits.ReplaceAllString(plurals.ReplaceAllString(text, "$1"), "0") }
	for _, shown := range outputLine.FindAllStringSubmatch(string(text), -1) {
		if want := blur(places.Replace(shown[1])); !strings.Contains(blur(said.String()), want) {
			t.Errorf("no command says %q:\n%s", shown[1], said.String())
		}
	}
}
