package main

import (
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestStatusAsReference compares exit statuses, and the streams used, with those of beanstalkd for command lines that end by
// themselves.
func TestStatusAsReference(t *testing.T) {
	beanstalkd := reference(t)
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	_, port, _ := net.SplitHostPort(busy.Addr().String())
	dir := t.TempDir()

	lines := []string{
		"-h", "-V -h", "-Vh", "-v", "-vV", "-VVv", "-cn -v", "-z 10 -v", "-p 0 -l 127.0.0.1 -v",
		"-", "foo", "-l 127.0.0.1 -p 0 foo", "-q", "-Vq", "--no-such-flag",
		"-z", "-l", "-p", "-u", "-z 12x", "-z12x", "-z abc", "-z 1.5", "-z 0x10", "-z -", "-z --", "-Vz abc", "-f abc", "-s abc",
		"-p nosuchservice", "-p -1", "-p 11300x", "-l 127.0.0.1 -p " + port, "-l 127.0.0.1 -p" + port,
		"-l nosuchhost.invalid -p 0", "-l unix:" + strings.Repeat("x", 108), "-l unix:" + dir, "-l unix:" + dir + "/no/such/dir",
		"-l 127.0.0.1 -p 0 -u nosuchuser", "-l 127.0.0.1 -p 0 -unosuchuser", "-u nosuchuser -l 127.0.0.1 -p " + port,
	}
	for _, line := range lines {
		t.Run(line, func(t *testing.T) { sameEnd(t, beanstalkd, strings.Fields(line)) })
	}
	for _, args := range [][]string{
		{""},
		{"-z", ""},
		{"-l", "", "-p", "0"},
		{"-l", "127.0.0.1", "-p", "0", "-u", ""},
	} {
		t.Run(strings.Join(args, " ")+" (empty)", func(t *testing.T) { sameEnd(t, beanstalkd, args) })
	}
}

func sameEnd(t *testing.T, beanstalkd string, args []string) {
	want := runs(t, beanstalkd, args...)
	for _, name := range []string{"haricot", "beanstalkd"} {
		if name == "haricot" && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
			args = append([]string{"serve"}, args...)
		}
		got := runs(t, name, args...)
		if got.status != want.status {
			t.Errorf("%s ends with %d, the reference with %d\n%s", name, got.status, want.status, got.stderr)
		}
		if (got.stdout == "") != (want.stdout == "") || want.stdout == "" && got.stderr == "" {
			t.Errorf("%s uses other streams than the reference: %+v, reference %+v", name, got, want)
		}
	}
}

// TestMaxJobSizeAsReference asks both servers which limit they have made of a value of -z.
func TestMaxJobSizeAsReference(t *testing.T) {
	beanstalkd := reference(t)
	for _, size := range []string{"0", "1", "007", "+12", "65535", "1073741824", "1073741825", "-1", "-0", "99999999999999999999999"} {
		t.Run(size, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s")
			background(t, exec.Command(beanstalkd, "-l", "unix:"+path, "-z", size))
			want := dial(t, awaitSocket(t, path)).stat("max-job-size")
			d := serve(t, command("-l", "127.0.0.1", "-p", "0", "-z", size), 1)
			if got := dial(t, d.addrs[0]).stat("max-job-size"); got != want || want == "" {
				t.Errorf("max-job-size is %q, with the reference %q", got, want)
			}
			clamped := len(d.find("maximum job size")) > 0
			if wants := size == "1073741825" || size == "-1" || len(size) > 12; clamped != wants {
				t.Errorf("warned about the size: %v, want %v", clamped, wants)
			}
		})
	}
}

// TestDefaultMaxJobSize keeps the default of the flag at beanstalkd's.
func TestDefaultMaxJobSize(t *testing.T) {
	d := serve(t, command("-l", "127.0.0.1", "-p", "0"), 1)
	if got := dial(t, d.addrs[0]).stat("max-job-size"); got != "65535" {
		t.Errorf("max-job-size is %q, want 65535", got)
	}
}

// background starts a process that is not haricot, until the end of the test.
func background(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // It has ended already, or must.
		_ = cmd.Wait()
	})
}

// awaitSocket waits until somebody listens on a unix socket and gives its address.
func awaitSocket(t *testing.T, path string) string {
	t.Helper()
	eventually(t, "a server on "+path, func() bool {
		conn, err := net.Dial("unix", path)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return "unix:" + path
}

// eventually asks until the answer is yes. It is for what another process does without saying so.
func eventually(t *testing.T, what string, ask func() bool) {
	t.Helper()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	deadline := time.After(patience)
	for !ask() {
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
