package packaging_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLintian has Debian's own checker look at the packages: nothing is left to say, but for what is overridden with a reason.
func TestLintian(t *testing.T) {
	tools(t, "lintian")
	p := debs(t)
	cmd := exec.Command("lintian", "--allow-root", "--fail-on", "error,warning", p.haricot, p.inPlace)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("lintian: %v\n%s", err, out)
	}
}

// TestPackageContents holds the packages to what is promised of them.
func TestPackageContents(t *testing.T) {
	p := debs(t)
	list := output(t, exec.Command("dpkg-deb", "--contents", p.haricot))
	for _, want := range []string{
		"root/root .* ./usr/bin/haricot$", "./usr/lib/systemd/system/haricot.service$", "./usr/lib/systemd/system/haricot.socket$",
		"./etc/default/haricot$", "./usr/share/man/man1/haricot.1.gz$", "./usr/share/bash-completion/completions/haricot$",
		"./usr/share/zsh/vendor-completions/_haricot$", "./usr/share/fish/vendor_completions.d/haricot.fish$",
		"./usr/share/doc/haricot/copyright$", "./usr/share/doc/haricot/changelog.Debian.gz$", "./usr/share/doc/haricot/LICENSES.gz$",
	} {
		if !regexp.MustCompile("(?m)" + want).MatchString(list) {
			t.Errorf("the package has no %s:\n%s", want, list)
		}
	}
	if strings.Contains(list, "./var/") {
		t.Errorf("dpkg would remove the state directory with the package:\n%s", list)
	}
	list = output(t, exec.Command("dpkg-deb", "--contents", p.inPlace))
	for _, want := range []string{"./usr/bin/beanstalkd -> haricot\n", "./usr/lib/systemd/system/beanstalkd.service -> haricot.service\n"} {
		if !strings.Contains(list, want) {
			t.Errorf("the package has no %s:\n%s", want, list)
		}
	}
	for name, want := range map[string]string{"Provides": "beanstalkd", "Conflicts": "beanstalkd", "Replaces": "beanstalkd"} {
		if got := field(t, p.inPlace, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// TestPackageVersion has one version for the program, the package and the protocol.
func TestPackageVersion(t *testing.T) {
	p := debs(t)
	dir := t.TempDir()
	output(t, exec.Command("dpkg-deb", "--extract", p.haricot, dir))
	said := strings.Fields(output(t, exec.Command(filepath.Join(dir, "usr/bin/haricot"), "version")))
	if got, want := field(t, p.haricot, "Version"), said[len(said)-1]+"-"; !strings.HasPrefix(got, want) {
		t.Errorf("the package has version %s, and its program says %q", got, said)
	}
}

// field reads a field of a package's control file.
func field(t testing.TB, deb, name string) string {
	t.Helper()
	return strings.TrimSpace(output(t, exec.Command("dpkg-deb", "--field", deb, name)))
}

// TestPackagesAreReproducible builds them again from a copy of the sources in another folder, in another time zone, language and
// umask, and finds the same bytes.
func TestPackagesAreReproducible(t *testing.T) {
	p := debs(t)
	tree := sources(t)
	out := filepath.Join(t.TempDir(), "out")
	cmd := exec.Command("sh", "-c", `umask 077 && exec packaging/deb "$1"`, "sh", out)
	cmd.Dir = tree
	cmd.Env = append(os.Environ(), "TZ=Asia/Tokyo", "LC_ALL=C.UTF-8", "GOFLAGS=-buildvcs=false")
	output(t, cmd)
	again, err := found(out)
	if err != nil {
		t.Fatal(err)
	}
	same(t, p.haricot, again.haricot)
	same(t, p.inPlace, again.inPlace)
}

// same compares two files byte by byte.
func same(t testing.TB, one, other string) {
	t.Helper()
	a, b := read(t, one), read(t, other)
	if !bytes.Equal([]byte(a), []byte(b)) {
		t.Errorf("%s (%d bytes) and %s (%d bytes) differ", one, len(a), other, len(b))
	}
}

// sources copies the repository, without what is built and without git's own files, to another folder.
func sources(t testing.TB) string {
	t.Helper()
	tools(t, "git", "tar")
	tree := t.TempDir()
	output(t, exec.Command("sh", "-ec", `cd ..
		git -c safe.directory='*' ls-files -z --cached --others --exclude-standard >"$1/.list"
		tar --create --null --verbatim-files-from --files-from "$1/.list" --ignore-failed-read 2>/dev/null | tar --extract --touch --directory "$1"
		rm "$1/.list"`, "sh", tree))
	return tree
}
