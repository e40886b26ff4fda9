package packaging_test

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRelease builds a release twice, from sources in two folders, and finds the same bytes; then it looks into them.
func TestRelease(t *testing.T) {
	tools(t, "tar", "sha256sum", "gzip")
	one, two := t.TempDir(), t.TempDir()
	first := exec.Command("../scripts/release", one)
	first.Env = append(os.Environ(), "TZ=America/Lima", "GOFLAGS=-buildvcs=false")
	output(t, first)
	second := exec.Command("sh", "-c", `umask 077 && exec scripts/release "$1"`, "sh", two)
	second.Dir = sources(t)
	second.Env = append(os.Environ(), "TZ=Asia/Tokyo", "LC_ALL=C.UTF-8", "GOFLAGS=-v")
	output(t, second)

	files, err := os.ReadDir(one)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		same(t, filepath.Join(one, file.Name()), filepath.Join(two, file.Name()))
	}
	sums := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	sums.Dir = two
	if said := output(t, sums); strings.Count(said, ": OK") != len(files)-1 {
		t.Errorf("%d files, and SHA256SUMS has\n%s", len(files), said)
	}
	for _, system := range []string{"linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64"} {
		t.Run(system, func(t *testing.T) { lookInto(t, one, system) })
	}
}

// lookInto holds the archive for a system to what is promised of it.
func lookInto(t *testing.T, dir, system string) {
	archives, err := filepath.Glob(filepath.Join(dir, "haricot-*-"+system+".tar.gz"))
	if err != nil || len(archives) != 1 {
		t.Fatalf("archives: %v, %v", archives, err)
	}
	tree := t.TempDir()
	output(t, exec.Command("tar", "--extract", "--file", archives[0], "--directory", tree))
	name := strings.TrimSuffix(filepath.Base(archives[0]), ".tar.gz")
	for _, want := range []string{
		"haricot", "README.md", "LICENSE", "LICENSES", "CHANGELOG.md", "man/haricot.1",
		"completions/haricot.bash", "completions/haricot.zsh", "completions/haricot.fish",
	} {
		if info, err := os.Stat(filepath.Join(tree, name, want)); err != nil || info.Size() == 0 {
			t.Errorf("the archive has no %s", want)
		}
	}
	built, err := buildinfo.ReadFile(filepath.Join(tree, name, "haricot"))
	if err != nil {
		t.Fatal(err)
	}
	settings := make(map[string]string)
	for _, s := range built.Settings {
		settings[s.Key] = s.Value
	}
	if got := settings["GOOS"] + "-" + settings["GOARCH"]; got != system || settings["CGO_ENABLED"] != "0" || settings["-trimpath"] != "true" {
		t.Errorf("the program was built with %v", settings)
	}
	licences := read(t, filepath.Join(tree, name, "LICENSES"))
	listed := components(t, strings.TrimSuffix(archives[0], ".tar.gz")+".cdx.json")
	for _, module := range built.Deps {
		if !slices.Contains(listed, module.Path+" "+module.Version) {
			t.Errorf("the list of what it is made of lacks %s %s", module.Path, module.Version)
		}
		if !strings.Contains(licences, "======== "+module.Path+" "+module.Version+": ") {
			t.Errorf("the licence of %s %s is not passed on", module.Path, module.Version)
		}
	}
	if !slices.ContainsFunc(listed, func(c string) bool { return strings.HasPrefix(c, "std ") }) {
		t.Error("the list lacks Go's own library")
	}
}

// components reads what a list in CycloneDX's form names.
func components(t *testing.T, path string) []string {
	t.Helper()
	var list struct {
		BomFormat  string
		Components []struct{ Name, Version string }
	}
	if err := json.Unmarshal([]byte(read(t, path)), &list); err != nil || list.BomFormat != "CycloneDX" {
		t.Fatalf("%s: %v, %q", path, err, list.BomFormat)
	}
	var names []string
	for _, c := range list.Components {
		names = append(names, c.Name+" "+c.Version)
	}
	return names
}

// TestProgramIsReproducible builds the program with nothing in the cache, in another folder, and finds what the package has.
func TestProgramIsReproducible(t *testing.T) {
	p := debs(t)
	dir := t.TempDir()
	output(t, exec.Command("dpkg-deb", "--extract", p.haricot, dir))
	again := filepath.Join(dir, "again")
	cmd := exec.Command("packaging/program", again)
	cmd.Dir = sources(t)
	cmd.Env = append(os.Environ(), "GOCACHE="+filepath.Join(dir, "cache"), "GOFLAGS=-buildvcs=true", "CGO_ENABLED=1")
	output(t, cmd)
	same(t, filepath.Join(dir, "usr/bin/haricot"), again)
}
