package control

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen. It only ever runs out in a failing test.
const patience = 30 * time.Second

// shelf is a store of one file.
type shelf struct{ err error }

func (s shelf) Checkpoint(target string) error {
	if s.err != nil {
		return s.err
	}
	return os.WriteFile(filepath.Join(target, "job"), []byte("x"), 0o600)
}

// serveIn answers in a directory until the end of the test.
func serveIn(t *testing.T, dir string, store Store) *Server {
	t.Helper()
	s, err := Serve(dir, store, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
		if names := left(t, dir); names != "" {
			t.Errorf("left behind: %s", names)
		}
	})
	return s
}

// left lists a directory.
func left(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestCheckpoint(t *testing.T) {
	dir := t.TempDir()
	serveIn(t, dir, shelf{})
	info, err := os.Lstat(filepath.Join(dir, socketName))
	if err != nil || info.Mode() != fs.ModeSocket|mode {
		t.Fatalf("the socket is %v (%v), want mode %v", info.Mode(), err, fs.ModeSocket|fs.FileMode(mode))
	}
	first, err := TakeCheckpoint(dir)
	if err != nil {
		t.Fatal(err)
	}
	second, err := TakeCheckpoint(dir)
	if err != nil {
		t.Fatal(err)
	}
	if first.Dir == second.Dir || filepath.Dir(first.Dir) != dir {
		t.Errorf("two checkpoints are in %s and %s", first.Dir, second.Dir)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) { //nolint:forbidigo // nobody tells when the server has noticed
		if _, err := os.Stat(first.Dir); errors.Is(err, fs.ErrNotExist) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a checkpoint that was given back stays")
		}
	}
	if text, err := os.ReadFile(filepath.Join(second.Dir, "job")); err != nil || string(text) != "x" {
		t.Errorf("the other checkpoint holds %q (%v)", text, err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCloseWithClient: a tool that is still at work does not hold up the end of the server.
func TestCloseWithClient(t *testing.T) {
	dir := t.TempDir()
	s, err := Serve(dir, shelf{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	checkpoint, err := TakeCheckpoint(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if names := left(t, dir); names != "" {
		t.Errorf("left behind: %s", names)
	}
	if err := checkpoint.Close(); err != nil {
		t.Error(err)
	}
	if _, err := TakeCheckpoint(dir); err == nil {
		t.Error("a server that has ended makes a checkpoint")
	}
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	var log bytes.Buffer
	s, err := Serve(dir, shelf{errors.New("no room\nat all")}, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := TakeCheckpoint(dir); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "no room; at all") {
		t.Errorf("a checkpoint that cannot be made: %v", err)
	}
	conn, err := net.Dial("unix", filepath.Join(dir, socketName))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(conn, "surf"); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), `does not know "surf"`) {
		t.Errorf("an unknown word: %v", err)
	}
	if err := errors.Join(conn.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if names := left(t, dir); names != "" {
		t.Errorf("left behind: %s", names)
	}
	if !strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("the log does not tell of the failure: %s", log.String())
	}
}

// TestSweep: what a server that was killed has left does not keep the next one from working.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, checkpointName+"123", "db"), 0o700); err != nil {
		t.Fatal(err)
	}
	ln, err := listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	if names := left(t, dir); names != "checkpoint-123 control" {
		t.Fatalf("the test has left %s", names)
	}
	serveIn(t, dir, shelf{})
	checkpoint, err := TakeCheckpoint(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.Close(); err != nil {
		t.Error(err)
	}
}

// TestLongPath: a directory may have a longer path than the address of a socket can.
func TestLongPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 120), strings.Repeat("e", 120))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := reach(dir); errors.Is(err, ErrLongPath) {
		t.Skip("this system has no short name for it")
	}
	serveIn(t, dir, shelf{})
	checkpoint, err := TakeCheckpoint(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, filepath.Base(checkpoint.Dir), "job")); err != nil {
		t.Error(err)
	}
	if err := checkpoint.Close(); err != nil {
		t.Error(err)
	}
}
