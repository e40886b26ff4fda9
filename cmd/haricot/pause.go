package main

import (
	"fmt"
	"time"

	"github.com/haricotq/haricot/internal/remote"
	"github.com/haricotq/haricot/internal/terminal"
)

// pauseCommand pauses tubes.
type pauseCommand struct {
	Tubes []tubeName `arg:"" name:"tube" help:"The tube."`
	For   *span      `placeholder:"TIME" help:"How long: 90s, 5m, 1h30m, 2d, or a number of seconds. Default: until it is resumed."`
	serverFlags
}

// Help is the second part of the help page.
func (*pauseCommand) Help() string {
	return "Workers get no job of the tube meanwhile. Jobs that they have they may go on with, and puts are taken. A pause takes the place of the " +
		"one before. It ends with the tube, which is gone when it has neither jobs nor clients."
}

// Run pauses them.
func (c *pauseCommand) Run(p *process) error {
	length, text := forEver, "until it is resumed"
	if c.For != nil {
		length, text = *c.For, "for "+c.For.String()
		if length == 0 {
			return usage(fmt.Errorf("--for 0 is no pause; 'haricot resume' ends one"))
		}
	}
	return c.pauseAll(p, c.Tubes, time.Duration(length), "paused "+text)
}

// pauseAll pauses tubes and says so.
func (f *serverFlags) pauseAll(p *process, tubes []tubeName, length time.Duration, done string) error {
	return f.with(func(s *remote.Server) error {
		for _, tube := range tubes {
			if err := s.Pause(string(tube), length); err != nil {
				return noTube(tube, err)
			}
			if f.JSON {
				line := pauseLine{string(tube), int64(length / time.Second)}
				if err := terminal.WriteJSON(p.stdout, line); err != nil {
					return err
				}
				continue
			}
			fmt.Fprintf(p.stdout, "%s: %s\n", tube, done)
		}
		return nil
	})
}

// pauseLine says in JSON that a tube was paused.
type pauseLine struct {
	Tube  string `json:"tube"`
	Pause int64  `json:"pause"`
}
