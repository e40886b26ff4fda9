package main

import (
	"embed"
	"fmt"
)

// shells are the scripts that make a shell ask 'haricot complete'.
//
//go:embed shells
var shells embed.FS

// completionCommand prints such a script.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help is the second part of the help page.
func (*completionCommand) Help() string {
	return "Names of tubes come from the server at the moment, that of --addr or HARICOT_ADDR. For a shell that runs:\n\n" +
		"  bash: source <(haricot completion bash)\n" +
		"  zsh: source <(haricot completion zsh)\n" +
		"  fish: haricot completion fish | source\n\n" +
		"To keep it, write the output to a file named haricot in /usr/share/bash-completion/completions, _haricot in a directory of $fpath, or haricot.fish in ~/.config/fish/completions."
}

// Run prints it.
func (c *completionCommand) Run(p *process) error {
	script, err := shells.ReadFile("shells/haricot." + c.Shell)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "%s", script)
	return err
}
