package main

import (
	"fmt"

	"github.com/haricotq/haricot/internal/protocol"
)

// versionCommand prints one line: the program's name and version.
type versionCommand struct{}

// Run prints the line.
func (versionCommand) Run(p *process) error {
	_, err := fmt.Fprintf(p.stdout, "haricot %s\n", protocol.Version)
	return err
}

// versionFlag is the same as a flag, which ends the reading of the command line.
type versionFlag bool

// BeforeReset answers the flag before the other flags are looked at.
func (versionFlag) BeforeReset(p *process) error {
	if err := (versionCommand{}).Run(p); err != nil {
		return err
	}
	return errAnswered
}
