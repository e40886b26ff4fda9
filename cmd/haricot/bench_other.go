//go:build !linux

package main

// systemCommands are the subcommands that work on this system only: none.
type systemCommands struct{}
