package packaging_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// newer makes a package of a higher version of one, with another file changed by hand in it.
func newer(t *testing.T, deb, file, text string) string {
	t.Helper()
	dir := t.TempDir()
	tree := filepath.Join(dir, "tree")
	output(t, exec.Command("dpkg-deb", "--raw-extract", deb, tree))
	control := filepath.Join(tree, "DEBIAN/control")
	version := field(t, deb, "Version")
	write(t, control, strings.Replace(read(t, control), "Version: "+version, "Version: "+version+"+more1", 1))
	write(t, filepath.Join(tree, file), text)
	path := filepath.Join(dir, "newer.deb")
	output(t, exec.Command("dpkg-deb", "--root-owner-group", "-Znone", "--build", tree, path))
	return path
}

// TestLifeOfThePackage installs the package, serves with it, upgrades it, removes it, installs it again and purges it. Jobs and
// changed flags survive all but the last.
func TestLifeOfThePackage(t *testing.T) {
	p := debs(t)
	r := newRoot(t)
	r.install(p.haricot)
	if got := r.status("haricot"); got != "installed" {
		t.Fatalf("the package is %s", got)
	}
	if got := strings.TrimSpace(r.run("stat", "-c", "%U:%G %a", "/var/lib/haricot")); got != "haricot:haricot 750" {
		t.Errorf("the state directory is %s", got)
	}
	if !r.exists("etc/systemd/system/multi-user.target.wants/haricot.service") || r.exists("etc/systemd/system/sockets.target.wants/haricot.socket") {
		t.Error("the service must be enabled, and its socket must not")
	}
	if got := strings.Fields(r.run("getent", "passwd", "haricot"))[0]; !strings.HasSuffix(got, "nologin") && !strings.Contains(got, "haricot") {
		t.Errorf("the user is %s", got)
	}

	flags := `HARICOT_FLAGS="-l unix:/run/haricot.sock -b /var/lib/haricot -z 4711"` + "\n"
	write(t, r.path("etc/default/haricot"), flags)
	s := r.start("haricot", "run/haricot.sock", "haricot.service")
	id := r.connect("run/haricot.sock").put("mail", 0, "survives")
	s.stop()
	survived := func(when string) {
		t.Helper()
		if got := read(t, r.path("etc/default/haricot")); got != flags {
			t.Fatalf("%s the flags are %q", when, got)
		}
		s := r.start("haricot", "run/haricot.sock", "haricot.service")
		c := r.connect("run/haricot.sock")
		if got := c.states(id); got[0] != "mail ready 7" {
			t.Fatalf("%s the job is %v", when, got)
		}
		s.stop()
	}

	changed := "# Another default.\nHARICOT_FLAGS=\"-l 192.0.2.1\"\n"
	r.install(newer(t, p.haricot, "etc/default/haricot", changed))
	survived("after the upgrade")
	if got := read(t, r.path("etc/default/haricot.dpkg-dist")); got != changed {
		t.Errorf("dpkg offers %q as the new default", got)
	}

	r.run("dpkg", "--remove", "haricot")
	if got := r.status("haricot"); got != "config-files" || r.exists("usr/bin/haricot") || r.exists("usr/lib/systemd/system/haricot.service") {
		t.Fatalf("after the removal the package is %s, or files are left", got)
	}
	if !r.exists("var/lib/haricot/FORMAT") {
		t.Fatal("the removal has taken the jobs")
	}
	r.install(p.haricot)
	survived("after the second installation")

	r.run("dpkg", "--purge", "haricot")
	if got := r.status("haricot"); got != "not-installed" {
		t.Errorf("after the purge the package is %s", got)
	}
	left := r.run("find", "/", "-xdev", "-name", "*haricot*", "-not", "-path", "/tmp/*", "-not", "-path", "/proc/*", "-not", "-name", "haricot.sock*")
	for line := range strings.Lines(left) {
		t.Errorf("after the purge there is still %s", line)
	}
}

// TestDisabledStaysDisabled leaves the choice of whether the service is started to the operator.
func TestDisabledStaysDisabled(t *testing.T) {
	p := debs(t)
	r := newRoot(t)
	r.install(p.haricot)
	wanted := "etc/systemd/system/multi-user.target.wants/haricot.service"
	if err := os.Remove(r.path(wanted)); err != nil { // what systemctl disable does
		t.Fatal(err)
	}
	r.install(newer(t, p.haricot, "etc/default/haricot", "HARICOT_FLAGS=\n"))
	if r.exists(wanted) {
		t.Error("the upgrade has enabled the service again")
	}
}

// TestBesideBeanstalkd installs haricot where beanstalkd is: both are there, and haricot does not want the port.
func TestBesideBeanstalkd(t *testing.T) {
	p := debs(t)
	r := newRoot(t, "beanstalkd")
	said := r.install(p.haricot)
	if !strings.Contains(said, "haricot is not started") || !strings.Contains(said, "haricot-beanstalkd") {
		t.Errorf("the operator is not told what to do:\n%s", said)
	}
	if r.exists("etc/systemd/system/multi-user.target.wants/haricot.service") {
		t.Error("haricot would be started at boot, and find its port taken")
	}
	if got := r.status("beanstalkd") + " " + r.status("haricot"); got != "installed installed" {
		t.Errorf("the two packages are %s", got)
	}
	if target, err := os.Readlink(r.path("usr/bin/beanstalkd")); err == nil {
		t.Errorf("/usr/bin/beanstalkd has become a link to %s", target)
	}
	r.install(newer(t, p.haricot, "etc/default/haricot", "HARICOT_FLAGS=\n"))
	if r.exists("etc/systemd/system/multi-user.target.wants/haricot.service") {
		t.Error("an upgrade has enabled the service")
	}
}
