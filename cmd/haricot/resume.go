package main

// resumeCommand ends pauses.
type resumeCommand struct {
	Tubes []tubeName `arg:"" name:"tube" help:"The tube."`
	serverFlags
}

// Run ends them.
func (c *resumeCommand) Run(p *process) error { return c.pauseAll(p, c.Tubes, 0, "resumed") }
