// Package packaging_test builds what is shipped and tries it: Debian's packages in a small system of their own, archives, the
// container image's steps, systemd's units.
package packaging_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// shared is where the packages are built, once for all tests.
var shared string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "haricot-packaging-")
	if err != nil {
		panic(err)
	}
	shared = dir
	status := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		panic(err)
	}
	os.Exit(status)
}

// tools skips a test that needs programs which are not here, and fails it where scripts/install should have brought them.
func tools(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			missing(t, "%s is not installed; scripts/install brings it", name)
		}
	}
}

// missing skips a test for want of something, or fails it in CI.
func missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("HARICOT_REQUIRE_REFERENCE") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// superuser skips a test that must change users and roots.
func superuser(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		missing(t, "only root can make a root directory for packages to be installed in")
	}
}

// output runs a program to its end, which must be good, and returns both of its streams.
func output(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return string(out)
}

// packages are the two that make deb builds.
type packages struct{ haricot, inPlace string }

// built makes them once.
var built = sync.OnceValues(func() (packages, error) {
	cmd := exec.Command("./deb", filepath.Join(shared, "deb"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return packages{}, &buildError{err, string(out)}
	}
	return found(filepath.Join(shared, "deb"))
})

// buildError is a build that failed, with what it said.
type buildError struct {
	error
	said string
}

func (b *buildError) Error() string { return b.error.Error() + "\n" + b.said }

// found gives the two packages in a directory.
func found(dir string) (packages, error) {
	haricot, err := filepath.Glob(filepath.Join(dir, "haricot_*.deb"))
	if err != nil || len(haricot) != 1 {
		return packages{}, &buildError{os.ErrNotExist, "haricot_*.deb in " + dir}
	}
	inPlace, err := filepath.Glob(filepath.Join(dir, "haricot-beanstalkd_*.deb"))
	if err != nil || len(inPlace) != 1 {
		return packages{}, &buildError{os.ErrNotExist, "haricot-beanstalkd_*.deb in " + dir}
	}
	return packages{haricot[0], inPlace[0]}, nil
}

// debs gives the packages.
func debs(t testing.TB) packages {
	t.Helper()
	tools(t, "dpkg-deb")
	p, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// read reads a text.
func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// write writes one.
func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
