package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestHostileOutput shows jobs and what a server says on a terminal: no control character of theirs must reach it.
func TestHostileOutput(t *testing.T) {
	d := serve(t, command("-l", "unix:"+filepath.Join(t.TempDir(), "s")), 1)
	const evil = "\x1b]0;owned\x07\x1b[2J\u009b31m\u202e\r\nsecond"
	c := connected(t, d.addrs[0])
	id := c.put("x", 0, 0, evil)
	for _, args := range [][]string{
		{"job", strconv.Itoa(int(id))},
		{"job", "--json", strconv.Itoa(int(id))},
		{"peek", "x"},
		{"peek", "--body", "x"},
		{"tail", "x", "--for", "1"},
		{"tail", "x", "--for", "1", "--json"},
	} {
		shown, tty := openTerminal(t)
		cmd := exec.Command("haricot", append(args, "--addr", d.addrs[0])...)
		cmd.Stdout, cmd.Stderr = tty, tty
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		if _, err := tty.WriteString("\x00"); err != nil { // the end
			t.Fatal(err)
		}
		text := readUntil(t, shown, 0)
		if strings.ContainsAny(strings.ReplaceAll(text, "\r\n", ""), "\x1b\x07\r\u009b\u202e") || !strings.Contains(text, "owned") {
			t.Errorf("%v shows %q", args, text)
		}
	}
	// A program gets the body as it is.
	if o := runs(t, "haricot", "peek", "x", "--body", "--addr", d.addrs[0]); o.stdout != evil {
		t.Errorf("peek --body prints %q, want %q", o.stdout, evil)
	}
}

// readUntil reads up to a byte.
func readUntil(t *testing.T, f *os.File, end byte) string {
	t.Helper()
	var text []byte
	for one := make([]byte, 1); ; text = append(text, one[0]) {
		if _, err := f.Read(one); err != nil {
			t.Fatal(err)
		}
		if one[0] == end {
			return string(text)
		}
	}
}
