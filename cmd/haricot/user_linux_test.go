package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/haricotq/haricot/internal/service"
)

// asRoot gives the user nobody to a test that needs root to become it.
func asRoot(t *testing.T) service.User {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	nobody, err := service.LookupUser("nobody")
	if err != nil {
		t.Skipf("this machine has no user nobody: %v", err)
	}
	return nobody
}

// TestUser gives up every right of root, after the sockets are open.
func TestUser(t *testing.T) {
	nobody := asRoot(t)
	path := filepath.Join(t.TempDir(), "s")
	cmd := command("-l", "127.0.0.1", "-l", "unix:"+path, "-p", "0", "-u", "nobody")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Groups: []uint32{0, 1, 2}}}
	d := serve(t, cmd, 2)
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", d.cmd.Process.Pid))
	if err != nil || len(tasks) == 0 {
		t.Fatalf("no threads found: %v", err)
	}
	for _, task := range tasks {
		for field, want := range map[string]string{
			"Uid": strings.TrimSpace(strings.Repeat(fmt.Sprint(nobody.UID, " "), 4)),
			"Gid": strings.TrimSpace(strings.Repeat(fmt.Sprint(nobody.GID, " "), 4)), "Groups": "", "CapEff": strings.Repeat("0", 16),
		} {
			if got := statusField(t, task, field); got != want {
				t.Errorf("%s: %s is %q, want %q", task, field, got, want)
			}
		}
	}
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if sys := info.Sys().(*syscall.Stat_t); int(sys.Uid) != nobody.UID || int(sys.Gid) != nobody.GID {
		t.Errorf("the socket belongs to %d:%d, want %d:%d", sys.Uid, sys.Gid, nobody.UID, nobody.GID)
	}
	allAnswer(t, d)
}

// TestUserWithoutRights ends with beanstalkd's status where the system says no, and lets a user become itself.
func TestUserWithoutRights(t *testing.T) {
	nobody := asRoot(t)
	haricot, err := exec.LookPath("haricot")
	if err != nil {
		t.Fatal(err)
	}
	// The tests' program lies in a directory that only its owner may enter.
	if err := os.Chmod(filepath.Dir(filepath.Dir(haricot)), 0o755); err != nil {
		t.Fatal(err)
	}
	as := func(user string) *exec.Cmd {
		cmd := command("-l", "127.0.0.1", "-p", "0", "-u", user)
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Credential: &syscall.Credential{Uid: uint32(nobody.UID), Gid: uint32(nobody.GID)},
		}
		return cmd
	}
	if got := start(t, as("root")).status(); got != exitSwitchUser {
		t.Errorf("exit status %d, want %d", got, exitSwitchUser)
	}
	allAnswer(t, serve(t, as("nobody"), 1))
}

// statusField reads a field of a file like /proc/self/status; its values are separated by single spaces.
func statusField(t *testing.T, path, field string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.Join(strings.Fields(value), " ")
		}
	}
	t.Fatalf("%s has no field %s", path, field)
	return ""
}
