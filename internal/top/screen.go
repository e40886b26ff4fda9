package top

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/gdamore/tcell/v3"
	"github.com/gdamore/tcell/v3/color"
)

// ErrTerminal says that the terminal cannot show a full screen.
var ErrTerminal = errors.New("the terminal cannot show a full screen")

// Config is what a run needs.
type Config struct {
	Address  string             // Address is what the server is called on the screen.
	Conn     io.ReadWriteCloser // Conn is a connection to it, which the run takes over.
	Dial     Dial               // Dial makes another when that has ended.
	Interval time.Duration      // Interval is the time between two looks.
}

// Run shows the server on the terminal that is the process's standard input and output, until somebody quits or the context ends.
func Run(ctx context.Context, c Config) error {
	screen, err := openScreen()
	if err != nil {
		c.Conn.Close()
		return err
	}
	defer screen.Fini()
	return show(ctx, c, screen)
}

// openScreen makes the terminal a screen.
func openScreen() (tcell.Screen, error) {
	if term := os.Getenv("TERM"); term == "" || term == "dumb" {
		return nil, fmt.Errorf("%w: TERM is %q", ErrTerminal, term)
	}
	tty, err := tcell.NewStdIoTty()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTerminal, err)
	}
	screen, err := tcell.NewTerminfoScreenFromTty(tty, tcell.OptSanitizeContent(true))
	if err == nil {
		err = screen.Init()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTerminal, err)
	}
	return screen, nil
}

// show has a model drawn on a screen. It returns when the watcher has ended.
func show(ctx context.Context, c Config, screen tcell.Screen) error {
	ctx, cancel := context.WithCancel(ctx)
	w := newWatcher(c.Dial, c.Interval)
	var watching sync.WaitGroup
	watching.Go(func() { w.run(ctx, c.Conn) })
	defer watching.Wait()
	defer cancel()

	m := NewModel(c.Address, c.Interval)
	m.Update(Resized(sizeOf(screen)))
	for {
		draw(screen, m.Draw())
		var e Event
		select {
		case <-ctx.Done():
			return nil // A signal is one way to quit.
		case e = <-w.events:
		case seen, ok := <-screen.EventQ():
			if !ok {
				return nil
			}
			if gone, ok := seen.(*tcell.EventError); ok {
				return fmt.Errorf("reading the terminal: %w", gone)
			}
			if e = eventOf(screen, seen); e == nil {
				continue
			}
		}
		for _, r := range m.Update(e) {
			switch r.(type) {
			case Quit:
				return nil
			case Redraw:
				screen.Sync()
			default:
				w.ask(r)
			}
		}
	}
}

func sizeOf(screen tcell.Screen) struct{ Width, Height int } {
	width, height := screen.Size()
	return struct{ Width, Height int }{width, height}
}

// eventOf says what an event of the terminal means to a model; nil if it means nothing.
func eventOf(screen tcell.Screen, seen tcell.Event) Event {
	switch seen := seen.(type) {
	case *tcell.EventResize:
		return Resized(sizeOf(screen))
	case *tcell.EventKey:
		if key := keyOf(seen); key != "" {
			return Pressed{key}
		}
	}
	return nil
}

// keysOf are the keys that type no character, by the terminal's names.
var keysOf = map[tcell.Key]Key{
	tcell.KeyUp: KeyUp, tcell.KeyDown: KeyDown, tcell.KeyPgUp: KeyPageUp, tcell.KeyPgDn: KeyPageDown,
	tcell.KeyHome: KeyHome, tcell.KeyEnd: KeyEnd, tcell.KeyEnter: KeyEnter, tcell.KeyEscape: KeyEscape,
	tcell.KeyBackspace: KeyBackspace, tcell.KeyF1: KeyF1, tcell.KeyF4: KeyF4, tcell.KeyF6: KeyF6, tcell.KeyF10: KeyF10,
	tcell.KeyCtrlC: KeyControlC, tcell.KeyCtrlL: KeyControlL, tcell.KeyCtrlU: KeyControlU,
}

func keyOf(seen *tcell.EventKey) Key {
	if seen.Key() != tcell.KeyRune {
		return keysOf[seen.Key()]
	}
	if seen.Modifiers()&(tcell.ModCtrl|tcell.ModAlt|tcell.ModMeta) != 0 {
		return ""
	}
	return Key(seen.Str())
}

// draw puts a frame on the screen. Only what has changed is sent to the terminal.
func draw(screen tcell.Screen, frame Frame) {
	screen.Clear()
	styles := &coloured
	if screen.Colors() == 0 {
		styles = &plain
	}
	for y, line := range frame.Lines {
		x := 0
		for _, span := range line {
			for text := span.Text; text != ""; {
				var n int
				text, n = screen.Put(x, y, text, styles[span.Look])
				x += max(n, 1)
			}
		}
	}
	if frame.CursorY >= 0 {
		screen.ShowCursor(frame.CursorX, frame.CursorY)
	} else {
		screen.HideCursor()
	}
	screen.Show()
}

// The styles, by their looks. Where there are no colours, weight and reversal must do.
var (
	coloured = [...]tcell.Style{
		Plain:   tcell.StyleDefault,
		Strong:  tcell.StyleDefault.Bold(true),
		Faint:   tcell.StyleDefault.Foreground(color.Teal),
		Alert:   tcell.StyleDefault.Foreground(color.Maroon).Bold(true),
		Heading: tcell.StyleDefault.Foreground(color.Black).Background(color.Green),
		Chosen:  tcell.StyleDefault.Foreground(color.Black).Background(color.Teal),
	}
	plain = [...]tcell.Style{
		Plain:   tcell.StyleDefault,
		Strong:  tcell.StyleDefault.Bold(true),
		Faint:   tcell.StyleDefault,
		Alert:   tcell.StyleDefault.Bold(true).Underline(true),
		Heading: tcell.StyleDefault.Bold(true),
		Chosen:  tcell.StyleDefault.Reverse(true),
	}
)
