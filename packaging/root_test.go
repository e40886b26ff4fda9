package packaging_test

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// root is a small Debian system in a directory, made of the packages that are installed on this machine. Packages are installed,
// upgraded and removed in it by its own dpkg, and this machine stays as it is. It has no systemd running, as a container has none.
type root struct {
	t   *testing.T
	dir string
}

// essential is what a package may rely on, and what haricot's packages depend on.
var essential = []string{"adduser", "passwd", "netbase", "init-system-helpers"}

// newRoot makes one with everything essential, and these packages.
func newRoot(t *testing.T, packages ...string) *root {
	t.Helper()
	superuser(t)
	tools(t, "dpkg-query", "tar", "chroot")
	r := &root{t: t, dir: t.TempDir()}
	prepared := filepath.Join(shared, "root-"+strings.Join(packages, "-"))
	if _, err := os.Stat(prepared); err != nil {
		(&root{t, prepared}).prepare(packages)
	}
	output(t, exec.Command("cp", "--archive", "--reflink=auto", prepared+"/.", r.dir))
	return r
}

// prepare makes a root of which others are copies.
func (r *root) prepare(packages []string) {
	t := r.t
	t.Helper()
	names := closure(t, append(slices.Clone(essential), packages...))
	for _, dir := range []string{"bin", "sbin", "lib", "lib64"} {
		r.make("usr/"+dir, 0o755)
		if err := os.Symlink("usr/"+dir, r.path(dir)); err != nil {
			t.Fatal(err)
		}
	}
	for dir, mode := range map[string]fs.FileMode{"tmp": 0o777 | fs.ModeSticky, "run": 0o777, "dev": 0o755, "etc/pam.d": 0o755, "var/lib/dpkg/info": 0o755} {
		r.make(dir, mode)
	}
	r.device("null", 3, nil)
	r.device("urandom", 9, []byte(rand.Text()+rand.Text()))
	r.copyPackages(names)
	r.make("run", 0o777) // The package base-files closes it again.
	// What the scripts of base packages have made: users, and that root may be anybody.
	for _, file := range []string{"passwd", "group"} {
		write(t, r.path("etc", file), read(t, r.path("usr/share/base-passwd", file+".master")))
	}
	for _, kind := range []string{"auth", "account", "password", "session"} {
		write(t, r.path("etc/pam.d/common-"+kind), kind+" required pam_permit.so\n")
	}
	write(t, r.path("usr/sbin/policy-rc.d"), "#!/bin/sh\nexit 101\n") // No service is started by a script of a package.
	if err := os.Chmod(r.path("usr/sbin/policy-rc.d"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range packages {
		r.run("sh", "/var/lib/dpkg/info/"+name+".postinst", "configure")
	}
}

// path is where something of the root is on this machine.
func (r *root) path(names ...string) string {
	return filepath.Join(append([]string{r.dir}, names...)...)
}

func (r *root) make(dir string, mode fs.FileMode) {
	r.t.Helper()
	if err := os.MkdirAll(r.path(dir), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Chmod(r.path(dir), mode); err != nil {
		r.t.Fatal(err)
	}
}

// device makes a character device, or a file with something in it where devices may not be made.
func (r *root) device(name string, minor uint32, instead []byte) {
	r.t.Helper()
	path := r.path("dev", name)
	if err := unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(1, minor))); err != nil {
		write(r.t, path, string(instead))
	}
	if err := os.Chmod(path, 0o666); err != nil {
		r.t.Fatal(err)
	}
}

// copyPackages copies the files of packages, what dpkg knows of them, and links that alternatives have made to them.
func (r *root) copyPackages(names []string) {
	r.t.Helper()
	copying := exec.Command("sh", "-ec", `
		{
			dpkg-query --listfiles "$@" | grep '^/' | grep -v -E '^/usr/share/(doc|man|locale)/.'
			for package in "$@"; do
				ls -d /var/lib/dpkg/info/"$package".* /var/lib/dpkg/info/"$package":* 2>/dev/null || true
			done
			ls -d /var/lib/dpkg/info/format /var/lib/dpkg/arch /var/lib/dpkg/alternatives/* /etc/alternatives/* 2>/dev/null || true
			sed -s -n 2p /var/lib/dpkg/alternatives/awk
		} | sort -u | while read -r file; do
			if [ -e "$file" ] || [ -L "$file" ]; then echo "$file"; fi
		done >"$0/tmp/list"
		tar --create --absolute-names --no-recursion --files-from "$0/tmp/list" |
			tar --extract --absolute-names --keep-directory-symlink --preserve-permissions --transform "s,^/,$0/,S" --directory "$0"
		rm "$0/tmp/list"`)
	copying.Args = append([]string{"sh", "-ec", copying.Args[2], r.dir}, names...)
	output(r.t, copying)

	var status bytes.Buffer
	for paragraph := range strings.SplitSeq(read(r.t, "/var/lib/dpkg/status"), "\n\n") {
		name, _, _ := strings.Cut(strings.TrimPrefix(paragraph, "Package: "), "\n")
		if slices.Contains(names, name) {
			status.WriteString(paragraph + "\n\n")
		}
	}
	write(r.t, r.path("var/lib/dpkg/status"), status.String())
	write(r.t, r.path("var/lib/dpkg/available"), "")
}

// closure gives the essential packages, these, and all that they depend on.
func closure(t *testing.T, names []string) []string {
	t.Helper()
	depends, provides := make(map[string]string), make(map[string]string)
	queue := names
	list := output(t, exec.Command("dpkg-query", "--show", "--showformat",
		`${db:Status-Status}\t${Package}\t${Essential}\t${Pre-Depends}, ${Depends}\t${Provides}\n`))
	lines := bufio.NewScanner(strings.NewReader(list))
	for lines.Scan() {
		column := strings.Split(lines.Text(), "\t")
		if column[0] != "installed" {
			continue
		}
		name := column[1]
		depends[name] = column[3]
		if column[2] == "yes" {
			queue = append(queue, name)
		}
		for virtual := range strings.SplitSeq(column[4], ",") {
			provides[bare(virtual)] = name
		}
	}
	var all []string
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if _, installed := depends[name]; !installed {
			name = provides[name]
		}
		if name == "" || slices.Contains(all, name) {
			continue
		}
		all = append(all, name)
		for clause := range strings.SplitSeq(depends[name], ",") {
			for choice := range strings.SplitSeq(clause, "|") {
				choice = bare(choice)
				if _, installed := depends[choice]; installed || provides[choice] != "" {
					queue = append(queue, choice)
					break
				}
			}
		}
	}
	for _, name := range names {
		if !slices.Contains(all, name) && provides[name] == "" {
			missing(t, "the package %s is not installed; scripts/install brings it", name)
		}
	}
	slices.Sort(all)
	return all
}

// bare is a package's name without its version and architecture.
func bare(relation string) string {
	name, _, _ := strings.Cut(strings.TrimSpace(relation), " ")
	name, _, _ = strings.Cut(name, ":")
	return name
}

// command prepares a program in the root, with nothing of this machine's environment.
func (r *root) command(args ...string) *exec.Cmd {
	cmd := exec.Command("chroot", append([]string{r.dir}, args...)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive"}
	return cmd
}

// run runs one to its end, which must be good.
func (r *root) run(args ...string) string {
	r.t.Helper()
	return output(r.t, r.command(args...))
}

// fails runs one to its end, which must not be good.
func (r *root) fails(args ...string) string {
	r.t.Helper()
	out, err := r.command(args...).CombinedOutput()
	if err == nil {
		r.t.Fatalf("%v succeeds, and should not:\n%s", args, out)
	}
	return string(out)
}

// bring copies packages of this machine into the root, and gives their names there.
func (r *root) bring(debs ...string) []string {
	r.t.Helper()
	var names []string
	for _, deb := range debs {
		name := "/tmp/" + filepath.Base(deb)
		write(r.t, r.path(name), read(r.t, deb))
		names = append(names, name)
	}
	return names
}

// install installs packages, from files of this machine, and returns what was said.
func (r *root) install(debs ...string) string {
	r.t.Helper()
	return r.run(append([]string{"dpkg", "--force-confold", "--install"}, r.bring(debs...)...)...)
}

// status is what dpkg says of a package: installed, config-files, not-installed and so on.
func (r *root) status(name string) string {
	r.t.Helper()
	out, err := r.command("dpkg-query", "--show", "--showformat", "${db:Status-Status}", name).Output()
	if err != nil {
		return "not-installed"
	}
	return string(out)
}

// exists tells whether there is a file.
func (r *root) exists(names ...string) bool {
	_, err := os.Lstat(r.path(names...))
	return err == nil
}
