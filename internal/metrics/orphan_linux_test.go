package metrics

import (
	"os/exec"
	"syscall"
)

// endWithTest has a process killed when the test ends without a chance to do so,
// as after go test's time limit.
func endWithTest(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
