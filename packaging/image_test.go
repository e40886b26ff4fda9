package packaging_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// instruction is one of a Dockerfile: its word, and the rest of it with continued lines joined.
type instruction struct{ word, text string }

// image is the last stage of the Dockerfile.
func image(t *testing.T) (build, last []instruction) {
	t.Helper()
	text := regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(read(t, "../Dockerfile"), "")
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		word, rest, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		if word == "FROM" {
			build, last = append(build, last...), nil
		}
		last = append(last, instruction{word, strings.TrimSpace(rest)})
	}
	return build, last
}

// only gives the text of an instruction that stands in a stage once.
func only(t *testing.T, stage []instruction, word string) string {
	t.Helper()
	var found []string
	for _, i := range stage {
		if i.word == word {
			found = append(found, i.text)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s stands there %d times", word, len(found))
	}
	return found[0]
}

// words reads the form of a command line that needs no shell; there is none in the image.
func words(t *testing.T, text string) []string {
	t.Helper()
	var list []string
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%s is not in the form that needs no shell: %v", text, err)
	}
	return list
}

// TestImage does what the Dockerfile says by hand, as no container engine is needed for that: the commands of its build, then its
// last stage as a root directory with nothing else in it, in which the server runs as the image's user, and answers the health check.
func TestImage(t *testing.T) {
	superuser(t)
	build, last := image(t)
	if from := only(t, last, "FROM"); from != "scratch" {
		t.Errorf("the image is made from %s", from)
	}
	user := only(t, last, "USER")
	if !regexp.MustCompile(`^[1-9][0-9]*:[1-9][0-9]*$`).MatchString(user) {
		t.Errorf("the user is %s; without a user database it must be a number, and not root", user)
	}

	out := t.TempDir()
	for _, step := range build {
		if step.word != "RUN" || step.text == "go mod download" {
			continue
		}
		cmd := exec.Command("sh", "-ec", strings.ReplaceAll(step.text, "/out/", out+"/"))
		cmd.Dir = ".."
		output(t, cmd)
	}
	r := &root{t: t, dir: t.TempDir()}
	for _, step := range last {
		if step.word != "COPY" {
			continue
		}
		paths := slices.DeleteFunc(strings.Fields(step.text), func(word string) bool { return strings.HasPrefix(word, "--") })
		from, to := strings.Replace(paths[0], "/out/", out+"/", 1), r.path(paths[1])
		output(t, exec.Command("mkdir", "-p", filepath.Dir(to)))
		output(t, exec.Command("cp", "-a", from, to))
	}
	if state := only(t, last, "VOLUME"); !r.exists(state) {
		t.Errorf("the volume %s is not in the image", state)
	}

	line := append(words(t, only(t, last, "ENTRYPOINT")), words(t, only(t, last, "CMD"))...)
	// A socket takes the place of the port, of which this machine has only one.
	output(t, exec.Command("install", "-d", "-m", "0777", r.path("run")))
	s := r.serve(contained(r, user, append(line, "-l", "unix:/run/s")...), "run/s")
	id := r.connect("run/s").put("mail", 0, "kept")
	_, check, _ := strings.Cut(only(t, last, "HEALTHCHECK"), " CMD ")
	healthy := words(t, strings.Replace(check, "127.0.0.1:11300", "unix:/run/s", 1))
	output(t, contained(r, user, healthy...))
	s.stop()
	if err := contained(r, user, healthy...).Run(); err == nil {
		t.Error("the health check finds a server that has stopped healthy")
	}
	r.serve(contained(r, user, append(line, "-l", "unix:/run/s")...), "run/s")
	if got := r.connect("run/s").states(id); got[0] != "mail ready 7" {
		t.Errorf("after a restart the job is %v", got)
	}
}

// contained prepares a program in a root that has no shell, as another user, without rights.
func contained(r *root, user string, args ...string) *exec.Cmd {
	uid, gid, _ := strings.Cut(user, ":")
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Path, cmd.Err = args[0], nil
	cmd.Env, cmd.Dir = []string{"PATH=/usr/bin"}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: r.dir, Credential: &syscall.Credential{Uid: decimal(uid), Gid: decimal(gid)}}
	return cmd
}

// decimal reads a number that has been seen to be one.
func decimal(digits string) (n uint32) {
	for _, digit := range []byte(digits) {
		n = n*10 + uint32(digit-'0')
	}
	return n
}

// TestComposeExample reads the example, and finds what it refers to.
func TestComposeExample(t *testing.T) {
	tools(t, "ruby", "dpkg-deb")
	text := output(t, exec.Command("ruby", "-ryaml", "-rjson", "-e", "puts JSON.dump(YAML.load_file(ARGV[0]))", "../deploy/compose.yaml"))
	var example struct {
		Services map[string]struct {
			Build, Image string
			Command      []string
			Ports        []string
			Volumes      []string
		}
		Volumes map[string]any
	}
	if err := json.Unmarshal([]byte(text), &example); err != nil {
		t.Fatal(err)
	}
	haricot := example.Services["haricot"]
	if !fileExists(filepath.Join("../deploy", haricot.Build, "Dockerfile")) {
		t.Errorf("there is no Dockerfile in %s", haricot.Build)
	}
	for name, service := range example.Services {
		for _, port := range service.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s opens %s to other machines", name, port)
			}
		}
		for _, volume := range service.Volumes {
			from, _, _ := strings.Cut(volume, ":")
			if _, named := example.Volumes[from]; !named && !fileExists(filepath.Join("../deploy", from)) {
				t.Errorf("%s wants %s, which is not there", name, from)
			}
		}
	}

	_, last := image(t)
	p := debs(t)
	dir := t.TempDir()
	output(t, exec.Command("dpkg-deb", "--extract", p.haricot, dir))
	// The flags are read from left to right, and the last one ends it with success if all before it are known.
	line := append(slices.Clone(haricot.Command), "--version")
	if said, err := exec.Command(filepath.Join(dir, "usr/bin/haricot"), line...).CombinedOutput(); err != nil {
		t.Errorf("%v: %v\n%s", line, err, said)
	}
	if state := only(t, last, "VOLUME"); !slices.Contains(haricot.Command, state) || !slices.Contains(haricot.Volumes, "jobs:"+state) {
		t.Errorf("the jobs are not kept in the volume: %v", haricot.Command)
	}
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
