package terminal

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Is tells whether a person may be looking: only terminals have a size.
func Is(w io.Writer) bool {
	_, ok := size(w)
	return ok
}

// Width is how many columns a terminal has, and 0 for what is no terminal. A
// terminal that does not know its size is taken to have 80.
func Width(w io.Writer) int {
	n, ok := size(w)
	if ok && n == 0 {
		return 80
	}
	return n
}

func size(w io.Writer) (columns int, ok bool) {
	f, ok := w.(*os.File)
	if !ok {
		return 0, false
	}
	window, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, false
	}
	return int(window.Col), true
}
