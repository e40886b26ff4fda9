package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/wire"
)

// tmuxTerminal is a terminal that tmux plays, with a shell in it.
type tmuxTerminal struct {
	t      *testing.T
	tmux   string
	socket string
}

// openTmux opens a terminal. It ends with the test.
func openTmux(t *testing.T) *tmuxTerminal {
	t.Helper()
	path, err := exec.LookPath("tmux")
	if err != nil {
		if os.Getenv("HARICOT_REQUIRE_REFERENCE") != "" {
			t.Fatalf("tmux is not installed, and HARICOT_REQUIRE_REFERENCE is set: %v", err)
		}
		t.Skip("tmux is not installed: apt-get install tmux")
	}
	tty := &tmuxTerminal{t, path, filepath.Join(t.TempDir(), "tmux")}
	t.Cleanup(func() {
		// The server ends with its last session; what runs in it is hung up.
		_ = exec.Command(path, "-S", tty.socket, "kill-server").Run()
	})
	tty.do("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30", "env PS1='$ ' LANG=C.UTF-8 LC_ALL=C.UTF-8 sh")
	tty.until("$")
	return tty
}

// do runs a command of tmux and returns what it prints.
func (tty *tmuxTerminal) do(args ...string) string {
	tty.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, tty.tmux, append([]string{"-u", "-S", tty.socket}, args...)...).CombinedOutput()
	if err != nil {
		tty.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

// keys presses keys, by tmux's names for them.
func (tty *tmuxTerminal) keys(keys ...string) {
	tty.t.Helper()
	tty.do(append([]string{"send-keys"}, keys...)...)
}

// types types a text.
func (tty *tmuxTerminal) types(text string) {
	tty.t.Helper()
	tty.do("send-keys", "-l", text)
}

// until waits for a screen that has some texts, and not those that begin with a !.
func (tty *tmuxTerminal) until(texts ...string) string {
	tty.t.Helper()
	late := time.Now().Add(patience)
	for {
		screen := tty.do("capture-pane", "-p")
		missing := ""
		for _, text := range texts {
			without, not := strings.CutPrefix(text, "!")
			if strings.Contains(screen, without) == not {
				missing = text
			}
		}
		if missing == "" {
			return screen
		}
		if time.Now().After(late) {
			tty.t.Fatalf("%q is not what the screen shows, which is\n%s", missing, screen)
		}
		time.Sleep(20 * time.Millisecond) //nolint:forbidigo // tmux tells nobody that a screen has changed
	}
}

// modes are the modes of the terminal as stty knows them.
func (tty *tmuxTerminal) modes() string {
	tty.t.Helper()
	device := strings.TrimSpace(tty.do("display-message", "-p", "#{pane_tty}"))
	out, err := exec.Command("stty", "-g", "-F", device).CombinedOutput()
	if err != nil {
		tty.t.Fatalf("stty: %v: %s", err, out)
	}
	return string(out)
}

// listen starts a server of some kind on a socket, and gives what ends it.
func listen(t *testing.T, cmd *exec.Cmd, socket string) (end func()) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	end = func() {
		if !ended {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			os.Remove(socket)
		}
		ended = true
	}
	t.Cleanup(end)
	conn, err := connect(socket)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	return end
}

func TestTopHaricot(t *testing.T) {
	watchOnTerminal(t, func(socket string) *exec.Cmd { return command("-l", "unix:"+socket) })
}

func TestTopBeanstalkd(t *testing.T) {
	program := reference(t)
	watchOnTerminal(t, func(socket string) *exec.Cmd { return exec.Command(program, "-l", "unix:"+socket) })
}

// fillTubes puts jobs into some tubes, one of them with a body that would take over a terminal.
func fillTubes(t *testing.T, addr string) talker {
	t.Helper()
	c := connected(t, addr)
	for tube, n := range map[string]int{"mail": 3, "print": 12, "resize": 5} {
		for range n {
			c.put(tube, 0, 0, "a body")
		}
	}
	c.put("evil", 0, 0, "\x1b]0;owned\x07\x1b[2J\u009b31m\r\nsecond line")
	c.put("later", 0, 100, "delayed body")
	return c
}

// watchOnTerminal goes through what one does with top.
func watchOnTerminal(t *testing.T, server func(socket string) *exec.Cmd) {
	tty := openTmux(t)
	modes := tty.modes()
	socket := filepath.Join(t.TempDir(), "s")
	addr := "unix:" + socket
	end := listen(t, server(socket), socket)
	fillTubes(t, addr)

	haricot, err := exec.LookPath("haricot")
	if err != nil {
		t.Fatal(err)
	}
	tty.types("clear; echo before")
	tty.keys("Enter")
	tty.until("before\n$")
	tty.types(fmt.Sprintf("HARICOT_ADDR=%s %s top --interval 200ms; echo status $?", addr, haricot))
	tty.keys("Enter")
	screen := tty.until("mail", "print", "resize", "ready 21", "tubes 6", "F1 Help", "vREADY", "!before")
	ordered(t, screen, "print ", "resize ", "mail ", "default ")

	// Sorting: by name, inverted, and by another column chosen from the list.
	tty.keys("N")
	ordered(t, tty.until("NAME^"), "default ", "evil ", "later ", "mail ")
	tty.keys("I")
	ordered(t, tty.until("NAMEv"), "resize ", "print ", "mail ", "later ")
	tty.keys("F6")
	tty.until("jobs that are not due yet")
	tty.keys("D")
	ordered(t, tty.until("vDELAYED"), "later ", "default ")

	// Filtering; the rest stays as it is.
	tty.keys("F4")
	tty.types("l")
	tty.until("filter l: 4 of 6", "!print ")
	tty.keys("Enter")
	tty.until("F1 Help", "vDELAYED")

	// The size.
	tty.do("resize-window", "-x", "20", "-y", "5")
	tty.until("mail", "F1 Help", "!USING")
	tty.do("resize-window", "-x", "140", "-y", "20")
	tty.until("USING", "tubes 6", "filter l: 4 of 6")

	// A restart, which leaves no jobs.
	end()
	tty.until("disconnected, trying again")
	listen(t, server(socket), socket)
	tty.until("!disconnected", "tubes 1")
	c := fillTubes(t, addr)
	tty.until("later", "filter l: 4 of 6", "vDELAYED")

	// Drilling, pausing, kicking.
	tty.keys("Escape")
	tty.until("!filter")
	tty.keys("/")
	tty.types("evil")
	tty.keys("Enter", "Enter")
	tty.until("Tube evil", `\x1b]0;owned\a\x1b[2J\u009b31m`, "second line")
	tty.keys("p")
	tty.until("paused, left: forever")
	stats := wire.Stats(c.must("OK", "stats-tube evil").Data)
	if left := stats["pause-time-left"]; left == "0" || left == "" {
		t.Errorf("pause-time-left is %q", left)
	}
	tty.keys("p")
	tty.until("resumed", "!paused, left")
	tty.keys("Escape") // With another key at once behind it, it would be Alt.
	tty.until("NAME")
	tty.keys("/", "C-u")
	tty.types("later")
	tty.keys("Enter", "Enter")
	tty.until("Tube later", "Next delayed job", "delayed body")
	tty.keys("k", "Enter")
	tty.until("1 delayed jobs kicked", "Next ready job")

	// Help, and the end: the screen and its modes are as before.
	tty.keys("F1")
	tty.until("this help")
	tty.keys("Escape")
	tty.until("Tube later")
	tty.keys("q")
	tty.until("before", "status 0", "!Tube later")
	if got := tty.modes(); got != modes {
		t.Errorf("the terminal's modes are %s, were %s", got, modes)
	}
}

// ordered checks that texts begin lines of a screen in their order.
func ordered(t *testing.T, screen string, texts ...string) {
	t.Helper()
	from := 0
	for _, text := range texts {
		i := strings.Index(screen[from:], "\n"+text)
		if i < 0 {
			t.Errorf("%q is not where it should be:\n%s", text, screen)
			return
		}
		from += i + 1
	}
}

// colour finds the choice of a colour other than the terminal's own.
var colour = regexp.MustCompile(`\x1b\[([0-9;]*;)?[34][0-8][;m]`)

// TestTopAndTerminal: NO_COLOR keeps colours away, a signal ends it as a key does, and what it cannot do it says.
func TestTopAndTerminal(t *testing.T) {
	tty := openTmux(t)
	modes := tty.modes()
	socket := filepath.Join(t.TempDir(), "s")
	listen(t, command("-l", "unix:"+socket), socket)
	haricot, err := exec.LookPath("haricot")
	if err != nil {
		t.Fatal(err)
	}
	for _, variable := range []string{"COLOURS=1", "NO_COLOR=1"} {
		tty.types(fmt.Sprintf("clear; env %s %s top --addr unix:%s; echo status $?", variable, haricot, socket))
		tty.keys("Enter")
		tty.until("F1 Help", "default")
		coloured := colour.MatchString(tty.do("capture-pane", "-p", "-e"))
		if coloured != (variable == "COLOURS=1") {
			t.Errorf("with %s, colours are shown: %v", variable, coloured)
		}
		tty.keys("C-c")
		tty.until("status 0")
	}

	// A signal ends it as a key does.
	tty.types(fmt.Sprintf("clear; sh -c 'echo $$ >%s.pid; exec %s top --addr unix:%s'; echo status $?", socket, haricot, socket))
	tty.keys("Enter")
	tty.until("F1 Help", "default")
	pid, err := os.ReadFile(socket + ".pid")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("kill", string(bytes.TrimSpace(pid))).CombinedOutput(); err != nil {
		t.Fatalf("kill: %v: %s", err, out)
	}
	tty.until("status 0", "!F1 Help")
	if got := tty.modes(); got != modes {
		t.Errorf("the terminal's modes are %s, were %s", got, modes)
	}

	tty.types(fmt.Sprintf("clear; TERM=dumb %s top --addr unix:%s; echo status $?", haricot, socket))
	tty.keys("Enter")
	tty.until("status 2", `TERM is "dumb"`, "use haricot stats or tubes")
	tty.types(fmt.Sprintf("clear; %s top --addr unix:%s.none; echo status $?", haricot, socket))
	tty.keys("Enter")
	tty.until("status 1", "no server can be reached")
}

// TestTopWithoutTerminal tells a program to use other commands.
func TestTopWithoutTerminal(t *testing.T) {
	o := runs(t, "haricot", "top")
	if o.status != exitUsage || !strings.Contains(o.stderr, "top needs a terminal; use haricot stats or tubes") || o.stdout != "" {
		t.Errorf("%+v", o)
	}
	if o := runs(t, "haricot", "top", "--interval", "0"); o.status != exitUsage || !strings.Contains(o.stderr, "is no interval") {
		t.Errorf("%+v", o)
	}
}
