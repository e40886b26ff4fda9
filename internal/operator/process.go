package operator

import (
	"fmt"
	"os"
	"strings"
)

// ProcessName is the name of a process of this machine, and empty if it is not
// known. Names are whatever a process calls itself.
func ProcessName(pid int) string {
	if pid <= 0 {
		return ""
	}
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(comm), "?"))
}
