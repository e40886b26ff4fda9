package packaging_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/haricotq/haricot/internal/protocol"
)

// asBeanstalkd is where beanstalkd listens in these tests; its service is told so in its own file.
const (
	asBeanstalkd      = "run/queue.sock"
	beanstalkdDefault = "BEANSTALKD_LISTEN_ADDR=unix:/run/queue.sock\nBEANSTALKD_LISTEN_PORT=11300\nBEANSTALKD_EXTRA=\"-z 70000 -b /var/lib/beanstalkd\"\n"
)

// backlog has a root's beanstalkd work, with jobs in all states, and ends it. It returns the jobs and how they stand.
func backlog(t *testing.T, r *root) (ids []protocol.JobID, states []string) {
	t.Helper()
	write(t, r.path("etc/default/beanstalkd"), beanstalkdDefault)
	s := r.start("beanstalkd", asBeanstalkd, "beanstalkd.service")
	c := r.connect(asBeanstalkd)
	gone := c.put("mail", 0, "done before")
	ids = append(ids, c.put("mail", 0, "buried"), c.put("mail", 0, strings.Repeat("large", 13_500)), c.put("later", 3600, "delayed"))
	c.must("DELETED", "delete %d", gone)
	c.must("WATCHING", "watch mail")
	c.must("RESERVED", "reserve-with-timeout 0")
	c.must("BURIED", "bury %d 7", ids[0])
	states = c.states(ids...)
	if want := []string{"mail buried 7", "mail ready 7", "later delayed 7"}; !slices.Equal(states, want) {
		t.Fatalf("the reference has %q, want %q", states, want)
	}
	s.stop()
	if err := os.Remove(r.path(asBeanstalkd)); err != nil { // It is the other user's, and nobody else may find out that nobody listens.
		t.Fatal(err)
	}
	return ids, states
}

// TestTakesBeanstalkdsPlace has Debian's beanstalkd keep jobs in its log, installs haricot in its place, and finds the jobs
// at the same address, with the same ids, in the same states, under the same limits. It goes on so after beanstalkd is purged.
func TestTakesBeanstalkdsPlace(t *testing.T) {
	p := debs(t)
	r := newRoot(t, "beanstalkd")
	ids, states := backlog(t, r)

	said := r.install(p.haricot, p.inPlace)
	if got := r.status("beanstalkd") + " " + r.status("haricot") + " " + r.status("haricot-beanstalkd"); got != "config-files installed installed" {
		t.Fatalf("the packages are %s\n%s", got, said)
	}
	if target, err := os.Readlink(r.path("usr/bin/beanstalkd")); err != nil || target != "haricot" {
		t.Errorf("/usr/bin/beanstalkd is %q, %v", target, err)
	}
	if !r.exists("etc/systemd/system/multi-user.target.wants/haricot.service") {
		t.Error("haricot would not be started at boot")
	}
	if !r.exists("var/lib/beanstalkd/binlog.1") {
		t.Error("beanstalkd's log is gone")
	}
	check := func(when string) {
		t.Helper()
		s := r.start("haricot", asBeanstalkd, "haricot.service", "haricot.service.d/beanstalkd.conf")
		c := r.connect(asBeanstalkd)
		if got := c.states(ids...); !slices.Equal(got, states) {
			t.Errorf("%s the jobs are %q, want %q", when, got, states)
		}
		if next := c.put("mail", 0, "new"); next <= slices.Max(ids) {
			t.Errorf("%s job %d was given again", when, next)
		}
		c.must("JOB_TOO_BIG", "put 0 0 60 70001\r\n%s", strings.Repeat("x", 70_001))
		s.stop()
	}
	check("after the installation")

	r.run("dpkg", "--purge", "beanstalkd")
	if r.exists("var/lib/beanstalkd") || r.exists("etc/default/beanstalkd") {
		t.Error("beanstalkd was not purged, and so the test shows nothing")
	}
	check("after beanstalkd's purge")

	r.install(newer(t, p.inPlace, "usr/share/haricot-beanstalkd/default", "# Another default.\n"))
	check("after an upgrade")

	said = r.run("dpkg", "--remove", "haricot-beanstalkd")
	if !strings.Contains(said, "haricot is stopped") || r.exists("usr/bin/beanstalkd") ||
		r.exists("etc/systemd/system/multi-user.target.wants/haricot.service") {
		t.Errorf("the place was not given back:\n%s", said)
	}
	r.run("dpkg", "--purge", "haricot-beanstalkd")
	if r.exists("etc/default/haricot-beanstalkd") || !r.exists("var/lib/haricot/FORMAT") {
		t.Error("the purge has left the flags, or taken the jobs")
	}
}

// TestTakesPlaceOfNothing installs both packages where there was no beanstalkd.
func TestTakesPlaceOfNothing(t *testing.T) {
	p := debs(t)
	r := newRoot(t)
	r.install(p.haricot, p.inPlace)
	if !r.exists("etc/systemd/system/multi-user.target.wants/haricot.service") {
		t.Error("haricot would not be started at boot")
	}
	flags := read(t, r.path("etc/default/haricot-beanstalkd"))
	write(t, r.path("etc/default/haricot-beanstalkd"), strings.Replace(flags, "=127.0.0.1", "=unix:/"+asBeanstalkd, 1))
	r.start("haricot", asBeanstalkd, "haricot.service", "haricot.service.d/beanstalkd.conf")
	r.connect(asBeanstalkd).put("mail", 0, "new")
	if !r.exists("var/lib/haricot/FORMAT") {
		t.Error("the jobs are not kept")
	}
}

// TestDoesNotTakePlaceOverJobs refuses, before anything is changed, where haricot has jobs of its own already.
func TestDoesNotTakePlaceOverJobs(t *testing.T) {
	p := debs(t)
	r := newRoot(t, "beanstalkd")
	backlog(t, r)
	r.install(p.haricot)
	write(t, r.path("etc/default/haricot"), `HARICOT_FLAGS="-l unix:/run/haricot.sock -b /var/lib/haricot"`+"\n")
	s := r.start("haricot", "run/haricot.sock", "haricot.service")
	id := r.connect("run/haricot.sock").put("mail", 0, "haricot's own")
	s.stop()

	said := r.fails(append([]string{"dpkg", "--install"}, r.bring(p.inPlace)...)...)
	if !strings.Contains(said, "haricot migrate") {
		t.Errorf("the operator is not told what to do:\n%s", said)
	}
	if got := r.status("beanstalkd") + " " + r.status("haricot"); got != "installed installed" {
		t.Errorf("the two packages are %s", got)
	}
	r.start("haricot", "run/haricot.sock", "haricot.service")
	if got := r.connect("run/haricot.sock").states(id); got[0] != "mail ready 7" {
		t.Errorf("haricot's own job is %v", got)
	}
}

// TestDamagedLogStopsTheInstallation does not start a server without the jobs: the operator decides.
func TestDamagedLogStopsTheInstallation(t *testing.T) {
	p := debs(t)
	r := newRoot(t, "beanstalkd")
	ids, _ := backlog(t, r)
	log := r.path("var/lib/beanstalkd/binlog.1")
	text := []byte(read(t, log))
	copy(text[len(text)/1000:], "spoilt spoilt spoilt spoilt spoilt spoilt spoilt spoilt")
	place := strings.Index(string(text), "buried")
	if place < 0 {
		t.Fatal("the log does not have the body of the first job")
	}
	copy(text[place+len("buried"):], "xx")
	write(t, log, string(text))

	said := r.fails(append([]string{"dpkg", "--install"}, r.bring(p.haricot, p.inPlace)...)...)
	if !strings.Contains(said, "--force") || r.status("haricot-beanstalkd") != "half-configured" || r.exists("var/lib/haricot/FORMAT") {
		t.Fatalf("the package is %s:\n%s", r.status("haricot-beanstalkd"), said)
	}
	r.run("haricot", "import", "--beanstalkd", "/var/lib/beanstalkd", "--force", "/var/lib/haricot")
	r.run("dpkg", "--configure", "haricot-beanstalkd")
	r.start("haricot", asBeanstalkd, "haricot.service", "haricot.service.d/beanstalkd.conf")
	if got := r.connect(asBeanstalkd).states(ids[1:]...); !slices.Equal(got, []string{"mail ready 7", "later delayed 7"}) {
		t.Errorf("the jobs are %q", got)
	}
}
