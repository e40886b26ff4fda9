package service

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// User is a user of the system with its primary group.
type User struct {
	Name string
	UID  int
	GID  int
}

// LookupUser finds a user by name. Errors are ErrNoSuchUser and ErrUserLookup.
func LookupUser(name string) (User, error) {
	u, err := user.Lookup(name)
	if _, unknown := errors.AsType[user.UnknownUserError](err); unknown || name == "" {
		return User{}, fmt.Errorf("user %q: %w", name, ErrNoSuchUser)
	}
	if err != nil {
		return User{}, fmt.Errorf("user %q: %w: %w", name, ErrUserLookup, err)
	}
	uid, uidErr := strconv.Atoi(u.Uid)
	gid, gidErr := strconv.Atoi(u.Gid)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return User{}, fmt.Errorf("user %q: %w: %w", name, ErrUserLookup, err)
	}
	return User{Name: name, UID: uid, GID: gid}, nil
}

// Become makes the whole process, all its threads, run as the user, for good: the primary group and no supplementary ones, then
// the user. A process without privileges may become who it already is, which changes nothing. The error is ErrSwitchUser.
func (u User) Become() error {
	if os.Geteuid() != 0 && os.Getuid() == u.UID && os.Geteuid() == u.UID && os.Getgid() == u.GID && os.Getegid() == u.GID {
		return nil
	}
	// The order matters: once the user is changed, the process may not change its groups any more.
	if err := syscall.Setgroups([]int{}); err != nil {
		return fmt.Errorf("user %q: %w: setgroups: %w", u.Name, ErrSwitchUser, err)
	}
	if err := syscall.Setgid(u.GID); err != nil {
		return fmt.Errorf("user %q: %w: setgid %d: %w", u.Name, ErrSwitchUser, u.GID, err)
	}
	if err := syscall.Setuid(u.UID); err != nil {
		return fmt.Errorf("user %q: %w: setuid %d: %w", u.Name, ErrSwitchUser, u.UID, err)
	}
	return nil
}
