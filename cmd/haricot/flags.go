package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/service"
)

// word is a value taken as it stands, even if it begins with a dash: so does beanstalkd.
type word string

// Decode takes the next word of the command line.
func (w *word) Decode(ctx *kong.DecodeContext) error {
	token := ctx.Scan.Pop()
	if token.IsEOL() {
		return errors.New("it needs a value, and the command line ends")
	}
	*w = word(token.String())
	return nil
}

// jobSize is the value of -z: bytes, and whether more was asked for than is allowed.
type jobSize struct {
	bytes   uint32
	clamped bool
}

// Decode reads what beanstalkd reads: a whole number in decimal. Whatever is above the limit is clamped to it, and so is a negative
// number, which beanstalkd takes as a huge one.
func (z *jobSize) Decode(ctx *kong.DecodeContext) error {
	var given word
	if err := given.Decode(ctx); err != nil {
		return err
	}
	text := string(given)
	digits, negative := strings.CutPrefix(text, "-")
	if !negative {
		digits = strings.TrimPrefix(text, "+")
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("-z %q is not a size; give a whole number of bytes, such as -z 65535", text)
	}
	*z = jobSize{bytes: protocol.MaxJobSizeLimit, clamped: true}
	if n <= protocol.MaxJobSizeLimit && (!negative || n == 0) {
		*z = jobSize{bytes: uint32(n)}
	}
	return nil
}

// socketMode is the value of --socket-mode.
type socketMode service.Mode

// UnmarshalText reads permission bits in octal, with or without a leading zero.
func (m *socketMode) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(strings.TrimPrefix(string(text), "0o"), 8, 32)
	if err != nil || n > uint64(fs.ModePerm) {
		return fmt.Errorf("%q is not a file mode; give octal permission bits, such as 0770", text)
	}
	*m = socketMode{Bits: fs.FileMode(n), Set: true}
	return nil
}

// bygoneFlags chose in old versions of beanstalkd whether its log was compacted. They do nothing, there and here.
type bygoneFlags struct {
	Compact   bool `short:"c" hidden:"" help:"Ignored, with a warning."`
	NoCompact bool `short:"n" hidden:"" help:"Ignored, with a warning."`
}

// warn says so.
func (f *bygoneFlags) warn(log *slog.Logger) {
	if f.Compact {
		log.Warn("flag ignored: nothing needs compacting", "flag", "-c")
	}
	if f.NoCompact {
		log.Warn("flag ignored: nothing needs compacting", "flag", "-n")
	}
}
