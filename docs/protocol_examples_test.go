package docs_test

import (
	"testing"
)

// TestProtocolExamples runs every example of protocol.md as it stands in the text. A block without a mark is true of haricot and of the
// reference server alike and runs against both; "haricot" after the language keeps a block from the reference.
func TestProtocolExamples(t *testing.T) {
	runExamples(t, "protocol.md")
}

// TestDifferencesExamples does the same for differences.md, whose blocks say for each server what the other does not do.
func TestDifferencesExamples(t *testing.T) {
	runExamples(t, "differences.md")
}

func runExamples(t *testing.T, file string) {
	examples := readExamples(t, file)
	if len(examples) == 0 {
		t.Fatalf("%s holds no example", file)
	}
	for _, m := range makers() {
		t.Run(m.name, func(t *testing.T) {
			m.require(t)
			for _, e := range examples {
				if !e.trueOf(m.name) {
					continue
				}
				t.Run(e.name(), func(t *testing.T) {
					t.Parallel()
					newStage(t, e, m.start(t, e.maxJobSize)).play()
				})
			}
		})
	}
}
