package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// listenUnix creates a unix socket.
//
// Its mode is right from the first moment: the umask is narrowed around bind, which creates the file, and so nobody can connect
// in between. The umask belongs to the whole process, so this must run while nothing else creates files: before serving.
func listenUnix(ctx context.Context, path string, mode Mode) (*Socket, error) {
	if err := clearPath(ctx, path); err != nil {
		return nil, fmt.Errorf("cannot listen on unix:%s: %w", path, err)
	}
	var lc net.ListenConfig
	if mode.Set {
		old := unix.Umask(int(0o777 &^ mode.Bits))
		defer unix.Umask(old)
	}
	ln, err := lc.Listen(ctx, "unix", literal(path))
	if err != nil {
		return nil, fmt.Errorf("cannot listen on unix:%s: %w", path, cause(err))
	}
	// Closing must not delete the file: by then it can be another server's. Remove looks first.
	if ln, ok := ln.(*net.UnixListener); ok {
		ln.SetUnlinkOnClose(false)
	}
	file, err := os.Lstat(path)
	if err != nil {
		ln.Close()
		return nil, fmt.Errorf("cannot listen on unix:%s: %w", path, cause(err))
	}
	return &Socket{Listener: ln, path: path, file: file}, nil
}

// Chown gives the file of a unix socket that this process created to a user, so that the mode's owner and group are those of
// the server and not of the root that started it. It does nothing for all other sockets.
func (s *Socket) Chown(u User) error {
	if s.file == nil {
		return nil
	}
	if err := os.Lchown(s.path, u.UID, u.GID); err != nil {
		return fmt.Errorf("cannot give unix:%s to user %s: %w", s.path, u.Name, cause(err))
	}
	return nil
}

// clearPath makes the path free for a new socket. Only a socket that refuses connections is deleted: a server that is merely
// busy, or that this process may not talk to, is live.
func clearPath(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return cause(err)
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%w; delete it or choose another path", ErrNotSocket)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", literal(path))
	switch {
	case err == nil:
		conn.Close()
		return fmt.Errorf("%w; stop it or choose another path", ErrSocketLive)
	case errors.Is(err, syscall.ENOENT):
		return nil
	case !errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w, or may (%w); stop it or choose another path", ErrSocketLive, cause(err))
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot replace a dead socket: %w", cause(err))
	}
	return nil
}

// literal keeps a leading @ from meaning Linux's abstract namespace, as package net would read it.
func literal(path string) string {
	if strings.HasPrefix(path, "@") {
		return "./" + path
	}
	return path
}
