package control

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
)

// ErrRefused says that the server could not do what it was asked for.
var ErrRefused = errors.New("the server refused")

// Checkpoint is a store that stands still, made by the server that has the one
// in a directory open. It lies in the same directory.
type Checkpoint struct {
	// Dir is where it is, until Close.
	Dir  string
	conn net.Conn
}

// TakeCheckpoint has the server make one.
func TakeCheckpoint(dir string) (*Checkpoint, error) {
	conn, err := dial(dir)
	if err != nil {
		return nil, fmt.Errorf("control: reaching the server: %w", err)
	}
	name, err := ask(conn, "checkpoint")
	if err == nil && filepath.Base(name) != name {
		err = fmt.Errorf("%w: it names a directory %q", ErrRefused, name)
	}
	if err != nil {
		return nil, fmt.Errorf("control: asking for a checkpoint: %w", errors.Join(err, conn.Close()))
	}
	return &Checkpoint{filepath.Join(dir, name), conn}, nil
}

// Close gives it back to the server, which removes it.
func (c *Checkpoint) Close() error { return c.conn.Close() }

// ask sends a word and reads the answer.
func ask(conn net.Conn, word string) (string, error) {
	if _, err := fmt.Fprintln(conn, word); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if errors.Is(err, io.EOF) {
		return "", fmt.Errorf("%w: it has ended", ErrRefused)
	}
	if err != nil {
		return "", err
	}
	outcome, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	if outcome != "ok" {
		return "", fmt.Errorf("%w: %s", ErrRefused, rest)
	}
	return rest, nil
}
