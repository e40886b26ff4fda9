package main

import (
	"io"
	"log/slog"
)

// logger makes the log that the flags ask for.
func (c *serveCommand) logger(w io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		panic(err) // The flag admits only the four names that slog knows.
	}
	if c.Verbose > 0 {
		level = min(level, slog.LevelDebug)
	}
	options := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
