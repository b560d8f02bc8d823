package goal_test

import (
	"testing"

	"autopilot/reflector/goal"
)

// TestPathsWithoutAnEnding are words that look like paths and end in a dot.
func TestPathsWithoutAnEnding(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"learn about './-.'", "write a/b.", "make `x/.` and '..'"} {
		goal.Analyse(text)
	}
}
