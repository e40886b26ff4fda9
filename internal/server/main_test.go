package server

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails if a test leaves a goroutine behind. A process started for
// its part in a test plays that instead.
func TestMain(m *testing.M) {
	if play, ok := parts[os.Getenv(partVariable)]; ok {
		play()
		return
	}
	goleak.VerifyTestMain(m)
}

// parts are what this program can be started again to do, chosen by an
// environment variable.
var parts = map[string]func(){}

const partVariable = "HARICOT_TEST_PART"
