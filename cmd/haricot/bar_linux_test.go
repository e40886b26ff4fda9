package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openTerminal opens a pseudo-terminal: what is written to the one file can be read from the other.
func openTerminal(t *testing.T) (shown, tty *os.File) {
	t.Helper()
	shown, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { shown.Close() })
	if err := unix.IoctlSetPointerInt(int(shown.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(shown.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	return shown, tty
}

func TestBarOnTerminal(t *testing.T) {
	shown, tty := openTerminal(t)
	b := newBar(&process{stderr: tty}, inBytes)
	b.set("copying", 1, 100)
	if b.drawn {
		t.Error("a bar is shown at once")
	}
	b.began = b.began.Add(-time.Hour)
	b.set("copying", 2048, 4096)
	b.set("copying", 2049, 4096) // too soon after
	b.last = time.Time{}
	b.set("reading", 1, 0)
	b.end()
	fmt.Fprintln(tty, "done")
	got, err := bufio.NewReader(shown).ReadString('\n') // It may come in pieces.
	if err != nil {
		t.Fatal(err)
	}
	want := "\r\x1b[Kcopying: [" + strings.Repeat("#", 15) + strings.Repeat(".", 15) + "]  50% of 4.0 KiB" +
		"\r\x1b[Kreading: 1 bytes\r\x1b[Kdone\r\n"
	if got != want {
		t.Errorf("the terminal shows\n%q, want\n%q", got, want)
	}
}

func TestNoBarElsewhere(t *testing.T) {
	var stderr bytes.Buffer
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if newBar(&process{stderr: null}, inJobs).w != nil {
		t.Errorf("%s is taken for a terminal", os.DevNull)
	}
	b := newBar(&process{stderr: &stderr}, inJobs)
	b.began = time.Time{}
	b.set("copying", 1, 2)
	b.end()
	if stderr.Len() > 0 {
		t.Errorf("a bar is written where no terminal is: %q", stderr.String())
	}
}
