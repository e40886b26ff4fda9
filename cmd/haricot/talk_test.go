package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// talk is a program for the scripts in testdata: "talk SOCKET FILE" waits for a server to answer on a unix socket, sends the lines
// of a file, with the escapes of a Go string, and prints the replies to the last. Unless the lines end with quit it adds that.
func talk() {
	if err := converse(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintf(os.Stderr, "talk: %v\n", err)
		os.Exit(1)
	}
}

func converse(socket, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	conn, err := connect(socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	for line := range strings.Lines(string(text) + "quit\n") {
		line, err := strconv.Unquote(`"` + strings.TrimSuffix(line, "\n") + `"`)
		if err != nil {
			return fmt.Errorf("reading line %q: %w", line, err)
		}
		if _, err := io.WriteString(conn, line+"\r\n"); err != nil {
			return err
		}
	}
	replies, err := io.ReadAll(conn)
	if err != nil {
		return err
	}
	_, err = os.Stdout.WriteString(strings.ReplaceAll(string(replies), "\r\n", "\n"))
	return err
}

// connect tries until a server is there.
func connect(socket string) (net.Conn, error) {
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) { //nolint:forbidigo // nobody tells when another process listens
		conn, err := net.Dial("unix", socket)
		if err == nil || time.Now().After(deadline) {
			return conn, err
		}
	}
}
