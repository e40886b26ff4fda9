package control

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// socketName and checkpointName are names in the directory of the store.
const (
	socketName     = "control"
	checkpointName = "checkpoint-"
)

// Store is what the tools ask for.
type Store interface {
	// Checkpoint makes a store in target, an empty directory, that has all
	// that this one has. It is called by several goroutines.
	Checkpoint(target string) error
}

// Server answers the tools. It works in goroutines of its own and never waits
// for the server's loop.
type Server struct {
	dir      string
	store    Store
	logger   *slog.Logger
	listener *net.UnixListener
	work     sync.WaitGroup

	mutex  sync.Mutex
	conns  map[net.Conn]bool
	closed bool
}

// Serve begins to answer in the directory of a store that the caller has open,
// and removes what an earlier server has left there.
func Serve(dir string, store Store, log *slog.Logger) (*Server, error) {
	s := &Server{dir: dir, store: store, logger: log, conns: make(map[net.Conn]bool)}
	if err := s.sweep(); err != nil {
		return nil, fmt.Errorf("control: removing what an earlier server has left: %w", err)
	}
	ln, err := listen(dir)
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	s.listener = ln
	s.work.Go(s.accept)
	return s, nil
}

// sweep removes the socket and checkpoints that are there. Since this process
// has the store, nobody is behind them.
func (s *Server) sweep() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == socketName || strings.HasPrefix(e.Name(), checkpointName) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(s.dir, e.Name())))
		}
	}
	return err
}

// Close ends all that Serve has started, and returns when it has ended.
// Checkpoints are removed.
func (s *Server) Close() error {
	s.mutex.Lock()
	s.closed = true
	err := s.listener.Close()
	for conn := range s.conns {
		_ = conn.Close() // its goroutine notices
	}
	s.mutex.Unlock()
	s.work.Wait()
	if e := os.Remove(filepath.Join(s.dir, socketName)); !errors.Is(e, fs.ErrNotExist) {
		err = errors.Join(err, e)
	}
	if err != nil {
		return fmt.Errorf("control: closing: %w", err)
	}
	return nil
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				s.logger.Error("the control socket has failed: no backup can be made until the server is started anew", "error", err)
			}
			return
		}
		if s.adopt(conn) {
			s.work.Go(func() { s.serve(conn) })
		}
	}
}

// adopt takes note of a connection, unless the server is closing.
func (s *Server) adopt(conn net.Conn) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closed {
		_ = conn.Close()
		return false
	}
	s.conns[conn] = true
	return true
}

// serve answers one client until it goes.
func (s *Server) serve(conn net.Conn) {
	var made []string
	defer func() {
		for _, path := range made {
			if err := os.RemoveAll(path); err != nil {
				s.logger.Warn("a checkpoint is left behind; the next start removes it", "error", err)
			}
		}
		s.mutex.Lock()
		delete(s.conns, conn)
		s.mutex.Unlock()
		_ = conn.Close()
	}()
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		answer := fmt.Sprintf("error the server does not know %q", lines.Text())
		if lines.Text() == "checkpoint" {
			path, err := s.checkpoint()
			if err != nil {
				s.logger.Error("no checkpoint could be made for a tool", "error", err)
				answer = "error " + oneLine(err)
			} else {
				made = append(made, path)
				answer = "ok " + filepath.Base(path)
			}
		}
		if _, err := fmt.Fprintln(conn, answer); err != nil {
			return // The client has gone.
		}
	}
}

// checkpoint makes one and returns its path.
func (s *Server) checkpoint() (string, error) {
	path, err := os.MkdirTemp(s.dir, checkpointName)
	if err != nil {
		return "", err
	}
	s.logger.Info("making a checkpoint for a tool", "directory", path)
	if err := s.store.Checkpoint(path); err != nil {
		return "", errors.Join(err, os.RemoveAll(path))
	}
	return path, nil
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
